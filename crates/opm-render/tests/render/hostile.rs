//! Modules that reach out, never end or eat memory, and a `cue` that is not what it should be: a
//! clear error each, in bounded time and memory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use opm_render::{Inputs, Limits, RenderSettings};

use crate::support::{HANG, TestModule, WEB, cue, cue_module, explain, have_cue};

#[test]
fn nothing_outside_the_module_is_read() {
    if !have_cue() {
        return;
    }
    let outside = TestModule::new(&[("secret.txt", "hunter2")]);
    let embed = |file: &str| {
        let module = cue_module("");
        module.write(
            "module.cue",
            &format!("@extern(embed)\n\npackage web\n\nmetadata: {{name: \"web\", description: string @embed(file={file}, type=text)}}\n"),
        );
        module
    };
    let module = embed("link.txt");
    symlink(
        outside.path().join("secret.txt"),
        module.path().join("link.txt"),
    )
    .unwrap();
    assert_eq!(
        module.error(),
        "link.txt: leads out of the module's directory"
    );
    let module = embed("dir/secret.txt");
    symlink(outside.path(), module.path().join("dir")).unwrap();
    assert_eq!(module.error(), "dir: leads out of the module's directory");
    let module = embed("a/b/link.txt");
    fs::create_dir_all(module.path().join("a/b")).unwrap();
    symlink("/dev/zero", module.path().join("a/b/link.txt")).unwrap();
    assert_eq!(
        module.error(),
        "a/b/link.txt: leads out of the module's directory"
    );
    let module = embed("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, module.path().join("pipe"), 0o600.into()).unwrap();
    assert_eq!(module.error(), "pipe: not a regular file");
    for file in ["../secret.txt", "/etc/hostname"] {
        let error = embed(file).error();
        assert!(
            !error.contains("hunter2") && error.contains("module.cue"),
            "{error}"
        );
    }
    let module = embed("inside.txt");
    module.write("real.txt", "fine");
    symlink("real.txt", module.path().join("inside.txt")).unwrap();
    assert_eq!(
        module
            .load()
            .unwrap()
            .rendered
            .module
            .description
            .as_deref(),
        Some("fine")
    );
}

/// A limit small enough to meet, and a time in which it must be met.
fn small_limits() -> RenderSettings {
    RenderSettings {
        cue: cue().unwrap_or_default(),
        limits: Limits {
            time: Duration::from_secs(3),
            memory: 256 << 20,
            output: 4 << 20,
        },
        ..RenderSettings::default()
    }
}

#[test]
fn modules_that_never_end_eat_memory_or_write_without_end() {
    if !have_cue() {
        return;
    }
    let head = "import \"list\"\nmetadata: name: \"web\"\n";
    let never = "a: [for x in list.Range(0, 100000, 1) for y in list.Range(0, 100000, 1) if x*y < 0 {x}]\n#components: app: resources: x: metadata: name: a[0]\n";
    let memory = "a: [for x in list.Range(0, 100000, 1) {[for y in list.Range(0, 10000, 1) {\"\\(x) \\(y) a longer text to fill memory\"}]}]\n#components: app: resources: x: metadata: name: a[0][0]\n";
    let output = "import \"strings\"\nmetadata: name: \"web\"\n#components: app: resources: {for x in [1, 2, 3, 4, 5, 6] {\"r\\(x)\": {apiVersion: \"v1\", data: strings.Repeat(\"x\", 1000000)}}}\n";
    for (text, expected) in [
        (
            format!("{head}{never}"),
            vec!["did not end within 3 s and was stopped", "memory"],
        ),
        (
            format!("{head}{memory}"),
            vec![
                "needs more than 256 MiB of memory",
                "did not end within 3 s",
            ],
        ),
        (
            output.to_owned(),
            vec!["`cue export` printed more than 4 MiB and was stopped"],
        ),
    ] {
        let module = cue_module(&text);
        let error = module
            .load_by(&Inputs::default(), &small_limits())
            .unwrap_err();
        let error = explain(&error, module.dir.path());
        assert!(
            expected.iter().any(|e| error.contains(e)),
            "{text}\n{error}"
        );
    }
}

/// A program that is not the `cue` it should be.
fn impostor(script: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cue");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (dir, path)
}

#[test]
fn a_cue_that_is_missing_old_or_killed() {
    let module = cue_module(WEB);
    let limits = Limits {
        time: Duration::from_secs(2),
        ..Limits::default()
    };
    let check = |program: PathBuf, expected: &str| {
        let settings = RenderSettings {
            cue: program,
            limits,
            ..RenderSettings::default()
        };
        let error = module.load_by(&Inputs::default(), &settings).unwrap_err();
        let error = explain(&error, module.dir.path());
        assert!(
            error.contains(expected),
            "{expected:?} is missing in\n{error}"
        );
        error
    };
    let error = check(
        "/nowhere/cue".into(),
        "the program `/nowhere/cue` was not found",
    );
    assert!(
        error.contains("https://cuelang.org") && error.contains("OPM_CUE"),
        "{error}"
    );
    check(
        "no-such-cue-anywhere".into(),
        "the program `no-such-cue-anywhere` was not found",
    );
    let good = "[ $1 = version ] && echo 'cue version v0.17.1' && exit 0";
    for (script, expected) in [
        (
            "echo 'cue version v0.14.2'".to_owned(),
            "cue 0.14.2 is too old: opm needs 0.15.0 or later\n  hint: install a current version: https://cuelang.org",
        ),
        ("echo hello".to_owned(), "`cue version` printed \"hello\""),
        (
            "kill -9 $$".to_owned(),
            "`cue version` was killed by signal 9",
        ),
        (
            format!("{good}\nkill -9 $$"),
            "`cue export` was killed by signal 9",
        ),
        (
            format!("{good}\necho 'fatal error: runtime: out of memory' >&2; exit 2"),
            "`cue export` needs more than 1024 MiB of memory",
        ),
        (
            format!("{good}\necho 'panic: oh no' >&2; echo 'goroutine 1' >&2; exit 2"),
            "`cue export` crashed: panic: oh no",
        ),
        (
            format!("{good}\necho 'not json'"),
            "failed to read the output of `cue`",
        ),
        (
            format!("{good}\nsleep 60"),
            "`cue export` did not end within 2 s and was stopped",
        ),
        // Closes its output and goes on.
        (
            format!("{good}\nexec >&- 2>&-; sleep 60"),
            "`cue export` did not end within 2 s and was stopped",
        ),
    ] {
        let (_dir, program) = impostor(&script);
        check(program, expected);
    }
    let (dir, program) = impostor("echo");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    check(program, "is not an executable file");
    drop(dir);
}

#[test]
fn what_a_stopped_program_started_is_stopped_too() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let (_dir, program) = impostor(&format!("sleep 60 & echo $! > {}; wait", pid.display()));
    let limits = Limits {
        time: Duration::from_secs(1),
        ..Limits::default()
    };
    let settings = RenderSettings {
        cue: program,
        limits,
        ..RenderSettings::default()
    };
    let error = cue_module(WEB)
        .load_by(&Inputs::default(), &settings)
        .unwrap_err();
    assert!(
        error.to_string().contains("did not end within 1 s"),
        "{error}"
    );
    let pid: u32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let gone = || {
        // Killed, and perhaps not yet reaped by whoever inherits it.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    let deadline = Instant::now() + HANG;
    while !gone() {
        assert!(Instant::now() < deadline, "{pid} still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_users_environment_does_not_reach_an_evaluation() {
    let dir = tempfile::tempdir().unwrap();
    let seen = dir.path().join("seen");
    let script = format!(
        "[ $1 = version ] && echo 'cue version v0.17.1' && exit 0\nenv > {}; exit 1",
        seen.display()
    );
    let (_dir, program) = impostor(&script);
    let settings = RenderSettings {
        cue: program,
        ..RenderSettings::default()
    };
    let _ = cue_module(WEB).load_by(&Inputs::default(), &settings);
    let seen = fs::read_to_string(seen).unwrap();
    let mut names: Vec<&str> = seen.lines().filter_map(|l| l.split('=').next()).collect();
    // The shell's own.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "CUE_CACHE_DIR",
            "CUE_CONFIG_DIR",
            "CUE_REGISTRY",
            "GOMAXPROCS",
            "GOMEMLIMIT",
            "HOME"
        ]
    );
    assert!(seen.contains("CUE_REGISTRY=none"), "{seen}");
}
