//! What a CUE module, its values, or `cue` itself must not get away with: a clear error each, in
//! bounded time and memory.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail loudly")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use opm_render::{CueSettings, Inputs, Limits, ValueFlags, Values};
use support::{TestModule, cue, cue_module, explain, have_cue, owned};

const WEB: &str = "metadata: name: \"web\"\n#config: {\n\thost!: string\n\tport: *80 | int\n\treplicas: int & >0 & <10 | *1\n\tpassword?: string\n}\n";

fn error_of(module: &TestModule, flags: &ValueFlags) -> String {
    match module.load_flags(flags) {
        Ok(loaded) => panic!("{flags:?} rendered to {loaded:#?}"),
        Err(error) => explain(&error, module.dir.path()),
    }
}

fn set(assignments: &[&str]) -> ValueFlags {
    ValueFlags {
        set: owned(assignments),
        ..ValueFlags::default()
    }
}

#[test]
fn errors_point_at_the_users_own_files() {
    if !have_cue() {
        return;
    }
    let module = cue_module(WEB);
    let values = TestModule::new(&[]);
    values.write("prod.yaml", "# prod\nhost: h\nport: many\n");
    values.write("prod.json", "{\"host\": \"h\",\n \"prot\": 1}\n");
    values.write("prod.cue", "package web\n\nvalues: {\n\thost: 5\n}\n");
    values.write("bare.cue", "host: 5\n");
    values.write("broken.cue", "host: \"h\nport: 1\n");
    let file = |name: &str| ValueFlags {
        files: vec![values.path().join(name).display().to_string()],
        ..ValueFlags::default()
    };
    for (flags, expected) in [
        (
            file("prod.yaml"),
            &[
                "values.port: conflicting values",
                "\n    module.cue:6:9",
                "\n    prod.yaml:3:7",
            ][..],
        ),
        (
            file("prod.json"),
            &[
                "values.prot: field not allowed\n    prod.json:2:3",
                "hint: #config says which values there are",
            ],
        ),
        (
            file("prod.cue"),
            &[
                "values.host: conflicting values string and 5 (mismatched types string and int)",
                "module.cue:5:9",
                "prod.cue:4:8",
            ],
        ),
        (
            file("bare.cue"),
            &["values.host: conflicting values", "bare.cue:1:7"],
        ),
        (
            file("broken.cue"),
            &["string literal not terminated", "broken.cue:1:7"],
        ),
        (
            set(&[]),
            &[
                "values.host: field is required but not present",
                "module.cue:5:2",
                "hint: give it a value with -f FILE or --set KEY=VALUE",
            ],
        ),
        (
            set(&["host=h", "replicas=0"]),
            &[
                "values.replicas: invalid value 0 (out of bound >0)",
                "module.cue:7:18",
                "--set replicas",
            ],
        ),
        (
            set(&["host=h", "prot=1"]),
            &["values.prot: field not allowed\n    --set prot"],
        ),
        (
            set(&["host=h", "port=x"]),
            &["values.port: conflicting values \"x\" and", "--set port"],
        ),
    ] {
        let error = error_of(&module, &flags);
        let error = error.replace(&format!("{}/", values.path().display()), "");
        for part in expected {
            assert!(
                error.contains(part),
                "{flags:?}: {part:?} is missing in\n{error}"
            );
        }
        for ours in ["opm_", "_inst", "_in.", "_f0", "render.cue", "disjunction"] {
            assert!(
                !error.contains(ours),
                "{flags:?}: {ours:?} stands in\n{error}"
            );
        }
    }
}

#[test]
fn unification_is_not_override() {
    if !have_cue() {
        return;
    }
    let module = cue_module(WEB);
    module.write("values.cue", "package web\n\nvalues: host: \"a\"\n");
    let error = error_of(&module, &set(&["host=b"]));
    assert!(error.contains("values.host: conflicting values"), "{error}");
    assert!(
        error.contains("values.cue:3:15") && error.contains("--set host"),
        "{error}"
    );
    assert!(
        error.contains("hint: values are unified, not overridden"),
        "{error}"
    );
}

#[test]
fn values_that_are_none() {
    let module = cue_module(WEB);
    for (name, text, expected) in [
        (
            "a.yaml",
            "- a\n",
            "a.yaml: values must be a mapping, not a list",
        ),
        (
            "a.yaml",
            "5\n",
            "a.yaml: values must be a mapping, not a number",
        ),
        (
            "a.json",
            "\"x\"",
            "a.json: values must be a mapping, not a string",
        ),
        (
            "a.yaml",
            "a: 1\n---\nb: 2\n",
            "a.yaml: values must be a single document",
        ),
        (
            "a.yaml",
            "a: 1\na: 2\n",
            "a.yaml:2:1: the key `a` stands twice in one mapping",
        ),
        ("a.yaml", "a: [\n", "a.yaml:1:4: unclosed bracket '['"),
        (
            "a.toml",
            "a = 1\n",
            "a.toml: a values file must end in .cue, .yaml, .yml or .json",
        ),
    ] {
        module.write(name, text);
        let files = vec![module.path().join(name).display().to_string()];
        let error = error_of(
            &module,
            &ValueFlags {
                files,
                ..ValueFlags::default()
            },
        );
        assert_eq!(error, expected);
    }
    let missing = ValueFlags {
        files: owned(&["nowhere.yaml"]),
        ..ValueFlags::default()
    };
    assert_eq!(
        error_of(&module, &missing),
        "nowhere.yaml: no such file or directory"
    );
    let directory = ValueFlags {
        files: vec![module.path().display().to_string()],
        ..ValueFlags::default()
    };
    assert!(
        error_of(&module, &directory).contains("not a regular file")
            || error_of(&module, &directory).contains("must end in")
    );
    let twice = ValueFlags {
        files: owned(&["-", "-"]),
        ..ValueFlags::default()
    };
    assert_eq!(
        error_of(&module, &twice),
        "standard input (`-f -`) can be read only once"
    );
    for (assignment, expected) in [
        ("a", "--set \"a\": expected KEY=VALUE"),
        ("=1", "--set \"\": a part of the path is empty"),
        (
            "a[999999999]=1",
            "--set \"a[999999999]\": the list index 999999999 is above 999",
        ),
        ("a[x]=1", "--set \"a[x]\": [x] is not a list index"),
    ] {
        assert_eq!(error_of(&module, &set(&[assignment])), expected);
    }
    assert_eq!(
        error_of(&module, &set(&["a=1", "a.b=2"])),
        "--set a and --set a.b contradict each other"
    );
    let secret = ValueFlags {
        set: owned(&["password=hunter2"]),
        set_string: owned(&["password=hunter3"]),
        ..ValueFlags::default()
    };
    let error = error_of(&module, &secret);
    assert_eq!(
        error,
        "--set password and --set-string password contradict each other"
    );
}

#[test]
fn a_yaml_module_takes_no_values() {
    let module = TestModule::yaml("");
    let error = error_of(&module, &set(&["a=1"]));
    assert_eq!(
        error,
        "DIR: a YAML module takes no values\n  hint: -f and --set are for CUE modules, which say in #config what can be set"
    );
}

#[test]
fn conflicting_files_are_an_error_and_files_outside_the_module_are_not() {
    if !have_cue() {
        return;
    }
    let module = cue_module(WEB);
    let elsewhere = TestModule::new(&[("a.yaml", "host: a\n"), ("b.yaml", "host: b\n")]);
    let at = |name: &str| elsewhere.path().join(name).display().to_string();
    let both = ValueFlags {
        files: vec![at("a.yaml"), at("b.yaml")],
        ..ValueFlags::default()
    };
    let error = error_of(&module, &both).replace(&elsewhere.path().display().to_string(), "ELSE");
    assert!(error.contains("values.host: conflicting values"), "{error}");
    assert!(
        error.contains("ELSE/a.yaml:1:7") && error.contains("ELSE/b.yaml:1:7"),
        "{error}"
    );
    symlink(at("a.yaml"), elsewhere.path().join("link.yaml")).unwrap();
    let link = ValueFlags {
        files: vec![at("link.yaml")],
        ..ValueFlags::default()
    };
    assert!(module.load_flags(&link).is_ok());
}

#[test]
fn values_over_a_mebibyte_are_no_problem() {
    if !have_cue() {
        return;
    }
    let module = cue_module("metadata: name: \"web\"\n#config: {[string]: string}\n");
    let text: String = (0..2000)
        .map(|n| format!("k{n}: {}\n", "v".repeat(1000)))
        .collect();
    module.write("big.yaml", &text);
    let files = vec![module.path().join("big.yaml").display().to_string()];
    let loaded = module
        .load_flags(&ValueFlags {
            files,
            ..ValueFlags::default()
        })
        .unwrap();
    assert!(loaded.rendered.values.len() > 2_000_000);
}

#[test]
fn modules_that_are_not_valid() {
    if !have_cue() {
        return;
    }
    let cm = "{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\"}";
    for (text, expected) in [
        ("a: 1\n".to_owned(), "metadata"),
        ("metadata: name: \"..\"\n".to_owned(), "module name \"..\" is not valid"),
        ("metadata: name: \"\"\n".to_owned(), "module name \"\" is not valid"),
        (format!("metadata: name: \"{}\"\n", "a".repeat(300)), "at most 63 characters"),
        ("metadata: name: \"Web\"\n".to_owned(), "module name \"Web\" is not valid"),
        ("metadata: name: \"a/b\"\n".to_owned(), "module name \"a/b\" is not valid"),
        ("metadata: name: 5\n".to_owned(), "metadata.name: conflicting values"),
        ("metadata: {name: \"a\", version: \"1.0\"}\n".to_owned(), "metadata.version: `version` \"1.0\" is not a semantic version"),
        ("metadata: {name: \"a\", version: 1.0}\n".to_owned(), "metadata.version: conflicting values"),
        ("metadata: {name: \"a\", defaultNamespace: \"A\"}\n".to_owned(), "namespace \"A\" is not valid"),
        (format!("metadata: name: \"a\"\n#components: \"..\": resources: a: {cm}\n"), "component name \"..\" is not valid"),
        (format!("metadata: name: \"a\"\n#components: \"A\": resources: a: {cm}\n"), "component name \"A\" is not valid"),
        ("metadata: name: \"a\"\n#components: app: {}\n".to_owned(), "#components.app: missing required field in for comprehension: resources"),
        ("metadata: name: \"a\"\n#components: app: resource: {}\n".to_owned(), "#components.app: missing required field in for comprehension: resources"),
        ("metadata: name: \"a\"\n#components: app: resources: x: {kind: \"A\"}\n".to_owned(), "#components.app.resources.x: "),
        ("metadata: name: \"a\"\n#components: app: resources: x: 5\n".to_owned(), "#components.app.resources.x: conflicting values"),
        (format!("metadata: name: \"a\"\n#components: app: {{after: \"db\", resources: a: {cm}}}\n"), "#components.app.after: conflicting values"),
        (format!("metadata: name: \"a\"\n#components: app: {{after: [\"db\"], resources: a: {cm}}}\n"), "comes `after` `db`, which is no component"),
        (format!("metadata: name: \"a\"\n#components: app: {{after: [\"app\"], resources: a: {cm}}}\n"), "components come `after` each other: app → app"),
        ("metadata: name: \"a\"\n#components: app: resources: x: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: string}\n".to_owned(), "#components.app.resources.x.metadata.name: incomplete value string\n    module.cue:4:"),
        ("metadata: name: \"a\"\nx: #nowhere\n#components: app: resources: x: #nowhere\n".to_owned(), "reference \"#nowhere\" not found"),
        ("metadata: name: \"a\n".to_owned(), "string literal not terminated\n    module.cue:3:17"),
        ("import \"example.com/nowhere\"\nmetadata: name: nowhere.x\n".to_owned(), "nowhere"),
        ("metadata: name: \"a\"\n#components: app: resources: x: {apiVersion: \"v1\", kind: \"Secret\", metadata: name: \"s\", stringData: password: \"hunter2\" & 5}\n".to_owned(), "stringData.password: conflicting values"),
    ] {
        let error = cue_module(&text).error();
        assert!(error.contains(expected), "{text}\n{expected:?} is missing in\n{error}");
        assert!(!error.contains("hunter2"), "{error}");
        assert!(!error.contains("opm_") && !error.contains("_inst"), "{text}\n{error}");
    }
}

#[test]
fn directories_that_are_not_quite_modules() {
    let files = |files: &[(&str, &str)]| TestModule::new(files).error();
    let path = (
        "cue.mod/module.cue",
        "module: \"example.com/a@v0\"\nlanguage: version: \"v0.15.0\"\n",
    );
    assert_eq!(
        files(&[("cue.mod/module.cue", "language: {}\n")]),
        "cue.mod/module.cue: no `module: \"…\"` is there"
    );
    assert_eq!(
        files(&[("cue.mod/x", "")]),
        "cue.mod/module.cue: no such file or directory"
    );
    assert_eq!(
        files(&[path]),
        "DIR: no CUE file with a package clause is there"
    );
    assert_eq!(
        files(&[path, ("a.cue", "package a\n"), ("b.cue", "package b\n")]),
        "DIR: its files belong to the packages a, b; opm renders that of module.cue"
    );
    assert_eq!(
        files(&[path, ("module.cue", "package a\n"), ("opm_gen.cue", "")]),
        "opm_gen.cue: the name is reserved for opm"
    );
    assert_eq!(
        files(&[
            path,
            ("module.cue", "package a\n"),
            ("cue.mod/local-module.cue", "")
        ]),
        "cue.mod/local-module.cue: local replacements are not supported, they lead out of the module's directory"
    );
}

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
fn small_limits() -> CueSettings {
    CueSettings {
        program: cue().unwrap_or_default(),
        limits: Limits {
            time: Duration::from_secs(3),
            memory: 256 << 20,
            output: 4 << 20,
        },
        ..CueSettings::default()
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
        let start = Instant::now();
        let error = module
            .load_by(&Inputs::default(), &small_limits())
            .unwrap_err();
        let error = explain(&error, module.dir.path());
        assert!(
            expected.iter().any(|e| error.contains(e)),
            "{text}\n{error}"
        );
        assert!(
            start.elapsed() < Duration::from_secs(8),
            "took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn bombs_in_values_are_refused() {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..30 {
        text.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{}", level - 1); 10].join(",")
        ));
    }
    let module = TestModule::new(&[("a.yaml", &text), ("b.yaml", &"[".repeat(10_000))]);
    for (file, expected) in [
        ("a.yaml", "its aliases expand"),
        ("b.yaml", "recursion limit"),
    ] {
        let files = vec![module.path().join(file).display().to_string()];
        let error = Values::read(&ValueFlags {
            files,
            ..ValueFlags::default()
        })
        .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
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
        let settings = CueSettings {
            program,
            limits,
            cache: None,
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
            "cue 0.14.2 is too old: opm needs 0.15.0 or later\n  hint: a current one: https://cuelang.org",
        ),
        ("echo hello".to_owned(), "`cue version` says \"hello\""),
        (
            "kill -9 $$".to_owned(),
            "`cue version` was ended by signal 9",
        ),
        (
            format!("{good}\nkill -9 $$"),
            "`cue export` was ended by signal 9",
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
            "failed to understand what `cue` printed",
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
    check(program, "failed to start");
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
    let settings = CueSettings {
        program,
        limits,
        cache: None,
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
    let deadline = Instant::now() + Duration::from_secs(5);
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
    let settings = CueSettings {
        program,
        ..CueSettings::default()
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
