//! Help: the examples in it run, options stand where they belong, and words of other tools are
//! answered with ours.

use std::process::{Command, Stdio};

use crate::runner::World;

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\ncomponents:\n  - {name: app, manifests: [objects]}\n";

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n---\n")
}

/// A sandbox with a release of two changes that has kept an object, and a module beside it.
fn prepared() -> World {
    let world = World::new()
        .with("OPM_SANDBOX", "true")
        .with("OPM_SANDBOX_DIR", "box")
        .with("PATH", "/usr/bin:/bin")
        .file("web/module.yaml", MODULE)
        .file(
            "web/objects/all.yaml",
            &[config_map("settings"), config_map("old")].concat(),
        );
    let first = world.opm("apply ./web");
    assert_eq!(first.code, 0, "{first}");
    let world = world.file("web/objects/all.yaml", &config_map("settings"));
    let second = world.opm("apply ./web --no-prune");
    assert_eq!(second.code, 0, "{second}");
    world
}

/// Every command, by its words.
pub(crate) fn commands(world: &World, path: &str, all: &mut Vec<String>) {
    let help = world.opm(&format!("{path} -h")).stdout;
    let mut inside = false;
    for line in help.lines() {
        match line {
            "Commands:" => inside = true,
            "" => inside = false,
            _ if inside => {
                let word = line.split_whitespace().next().unwrap();
                if word != "help" {
                    commands(world, format!("{path} {word}").trim(), all);
                }
            }
            _ => {}
        }
    }
    if !help.contains("\nCommands:") {
        all.push(path.to_owned());
    }
}

#[test]
fn every_example_of_the_help_runs() {
    let world = World::new();
    let mut all = Vec::new();
    commands(&world, "", &mut all);
    assert!(all.len() > 20, "{all:?}");
    let opm = std::path::Path::new(env!("CARGO_BIN_EXE_opm"));
    let bin = opm.parent().unwrap().display().to_string();
    let mut run = 0;
    for command in all {
        let help = world.opm(&format!("{command} --help")).stdout;
        for line in help
            .lines()
            .filter_map(|line| line.trim().strip_prefix("$ "))
        {
            // These run until they are stopped, or need a chart with tests.
            let elsewhere = [
                "opm sandbox serve",
                "opm ui --sandbox",
                "opm controller run --sandbox",
                "opm mod test web",
            ];
            if elsewhere.contains(&line) {
                continue;
            }
            let world = prepared();
            let ran = Command::new("sh")
                .args(["-c", line])
                .current_dir(world.path("."))
                .env_clear()
                .env("PATH", format!("{bin}:/usr/bin:/bin"))
                .env("HOME", world.path("../home"))
                .env("OPM_SANDBOX", "true")
                .env("OPM_SANDBOX_DIR", "box")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            let fine = [Some(0), Some(6)].contains(&ran.status.code());
            assert!(fine, "$ {line}\n{said}");
            run += 1;
        }
    }
    assert!(run > 25, "{run} examples ran");
}

#[test]
fn options_stand_under_the_heading_that_they_belong_to() {
    let help = World::new().opm("mod apply -h").stdout;
    let heading_of = |flag: &str| {
        let mut heading = "";
        for line in help.lines() {
            if !line.starts_with(' ') && line.ends_with(':') {
                heading = line;
            }
            if line.contains(flag) && line.trim_start().starts_with('-') {
                return heading.to_owned();
            }
        }
        panic!("{flag} is not in\n{help}");
    };
    for (flag, heading) in [
        ("--wait ", "Waiting:"),
        ("--wait[", "Waiting:"),
        ("--timeout", "Waiting:"),
        ("--lock-timeout", "Waiting:"),
        ("--prune-namespaces", "Guards:"),
        ("--yes", "Options:"),
        ("--message", "Options:"),
        ("--adopt", "What is in the way:"),
        ("--set ", "Values:"),
        ("--kubeconfig", "Global options:"),
    ] {
        if flag == "--wait " && !help.contains("--wait ") {
            continue;
        }
        assert_eq!(heading_of(flag), heading, "{flag}");
    }
}

#[test]
fn the_help_of_opm_names_exit_codes_and_features() {
    let world = World::new();
    for flag in ["-h", "--help"] {
        let help = world.opm(flag).stdout;
        assert!(help.contains("Features:"), "{flag}: {help}");
    }
    let help = world.opm("--help").stdout;
    assert!(help.contains("Exit codes:"), "{help}");
    assert!(help.contains("130  interrupted"), "{help}");
    let listed = help
        .lines()
        .filter(|line| line.trim_start().starts_with("apply"));
    assert_eq!(listed.count(), 0, "the short ways are not listed twice");
}

#[test]
fn the_commands_of_mod_have_short_ways() {
    let world = prepared();
    for line in [
        "ls",
        "mod ls",
        "status web",
        "history web",
        "diff ./web",
        "show web manifests",
        "apply ./web --wait=false --dry-run=client",
        "apply ./web --dry-run=server",
        "forget web cm/settings --yes",
        "rm web --yes --wait=false",
    ] {
        let ran = world.opm(line);
        assert_eq!(ran.code, 0, "{line}: {ran}");
    }
}

#[test]
fn without_a_name_it_is_the_module_in_this_directory() {
    let world = World::new()
        .with("OPM_SANDBOX", "true")
        .with("OPM_SANDBOX_DIR", "box")
        .file("module.yaml", MODULE)
        .file("objects/all.yaml", &config_map("settings"));
    for line in ["apply", "status", "history", "delete --yes"] {
        let ran = world.opm(line);
        assert_eq!(ran.code, 0, "{line}: {ran}");
    }
    let elsewhere = World::new().with("OPM_SANDBOX", "true").opm("status");
    assert_eq!(elsewhere.code, 2, "{elsewhere}");
}

#[test]
fn words_of_other_tools_are_answered_with_ours() {
    let world = World::new();
    for (line, ours) in [
        ("template ./web", "opm mod build"),
        ("mod render ./web", "opm mod build"),
        ("install web", "opm mod apply"),
        ("upgrade web", "opm mod apply"),
        ("uninstall web", "opm mod delete"),
        ("get all", "opm mod show"),
    ] {
        let ran = world.opm(line);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains(ours), "{line}: {ran}");
    }
    let json = world.opm("install web -o json").json();
    let hints = json["error"]["hints"].to_string();
    assert!(hints.contains("opm mod apply"), "{hints}");
}

#[test]
fn called_by_kubectl_it_says_so() {
    let world = World::new();
    let plugin = world.path("kubectl-opm");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_opm"), &plugin).unwrap();
    let output = Command::new(&plugin)
        .arg("version")
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success());
    let output = Command::new(&plugin)
        .args(["apply", "--nonsense"])
        .env_clear()
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Usage: kubectl opm apply"), "{said}");
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let world = World::new();
    let ran = world.opm("man pages");
    assert_eq!(ran.code, 0, "{ran}");
    for page in ["opm.1", "opm-mod-apply.1", "opm-sandbox-serve.1"] {
        assert!(
            world.read(&format!("pages/{page}")).contains(".TH"),
            "{page}"
        );
    }
    assert!(world.read("pages/opm-mod-apply.1").contains("atomic"));
    assert!(world.opm("man").stdout.contains(".TH opm"));
}
