//! What holds for every command: streams, formats of failure, exit codes of bad usage.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::runner::World;

#[test]
fn version() {
    let version = env!("CARGO_PKG_VERSION");
    let world = World::new();
    assert_eq!(world.opm("version").stdout, format!("opm {version}\n"));
    assert_eq!(world.opm("--version").stdout, format!("opm {version}\n"));
    assert_eq!(world.opm("version -o json").json()["version"], version);
}

#[test]
fn bad_usage_exits_with_2_and_goes_to_standard_error() {
    assert_snapshot!(World::new().opm("version --bogus"), @r"
    exit 2
    --- stderr
    error: unexpected argument '--bogus' found

    Usage: opm version [OPTIONS]

    For more information, try '--help'.
    ");
    assert_snapshot!(World::new().opm("config vew"), @r"
    exit 2
    --- stderr
    error: unrecognized subcommand 'vew'

      tip: a similar subcommand exists: 'view'

    Usage: opm config [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn no_command_is_bad_usage_and_shows_help_on_standard_error() {
    let ran = World::new().opm("");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("Usage: opm"), "{}", ran.stderr);
}

#[test]
fn bad_usage_with_json_is_one_document() {
    assert_snapshot!(World::new().opm("-o json version --bogus").stdout, @r#"
    {
      "error": {
        "hints": [
          "Usage: opm version [OPTIONS]",
          "For more information, try '--help'."
        ],
        "kind": "usage",
        "message": "unexpected argument '--bogus' found",
        "objects": []
      }
    }
    "#);
    for line in [
        "-o json",
        "-ojson nonsense",
        "completion --output=json",
        "-n -o json version",
    ] {
        let ran = World::new().opm(line);
        assert_eq!(ran.code, 2, "{line}");
        assert_eq!(ran.json()["error"]["kind"], "usage", "{line}");
    }
    let by_variable = World::new().with("OPM_OUTPUT", "json").opm("nonsense");
    assert_eq!(by_variable.json()["error"]["kind"], "usage");
    let by_file = World::new()
        .file("opm-config.yaml", "output: json")
        .opm("nonsense");
    assert_eq!(by_file.json()["error"]["kind"], "usage");
}

#[test]
fn bad_usage_with_yaml_is_one_document() {
    let ran = World::new().opm("-o yaml nonsense");
    assert!(ran.stdout.starts_with("error:\n  "), "{}", ran.stdout);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = World::new();
    let mut child = world
        .command(&["completion", "bash"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let world = World::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = world
        .command(&["version"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("failed to write to standard output"),
        "{stderr}"
    );
}

#[test]
fn color_is_for_terminals_unless_asked_for() {
    let world = World::new();
    assert!(!world.opm("nonsense").stderr.contains('\x1b'));
    assert!(world.opm("nonsense --color always").stderr.contains('\x1b'));
    assert!(!world.opm("nonsense --color=never").stderr.contains('\x1b'));
}

#[test]
fn every_shell_gets_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = World::new().opm(&format!("completion {shell}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{shell}");
        assert!(ran.stdout.contains("OPM_COMPLETE"), "{shell}");
    }
}

#[test]
fn completion_works_beside_a_broken_configuration() {
    let world = World::new().file("opm-config.yaml", "{");
    assert_eq!(world.opm("completion bash").code, 0);
    assert_eq!(world.opm("version").code, 2);
}
