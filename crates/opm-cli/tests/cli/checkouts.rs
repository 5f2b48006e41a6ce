//! A file that came with a checkout is not the user's word.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::runner::{Ran, World};

/// A kubeconfig whose credential plugin leaves a file where it ran.
fn with_plugin(world: World) -> World {
    let plugin = world.path("plugin.sh");
    let started = world.path("started");
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         clusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
         users:\n- name: a\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      \
         command: {}\n      interactiveMode: Never\n",
        plugin.display()
    );
    let script = format!("#!/bin/sh\necho started > {}\nexit 1\n", started.display());
    let world = world
        .file("plugin.sh", &script)
        .file("kube.yaml", &kubeconfig);
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    world
}

#[test]
fn a_checkout_runs_no_plugin_until_it_is_trusted() {
    let world = with_plugin(World::new()).file("opm-config.yaml", "kubeconfig: kube.yaml\n");
    let ran_plugin = |world: &World| std::fs::remove_file(world.path("started")).is_ok();
    let refused = |world: &World| {
        let ran = world.opm("mod list");
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains("not trusted"), "{ran}");
        assert!(!ran_plugin(world));
    };
    assert_snapshot!(world.opm("mod list"), @r"
    exit 2
    --- stderr
    error: the key `kubeconfig` in opm-config.yaml would choose a cluster, credentials, a path or what is kept, and this file is not trusted: it may have come with a checkout
    hint: read the file; `opm config trust` accepts it as it is now
    hint: or say it yourself: --kubeconfig, or in your own configuration file (`opm config init --user`)
    ");
    refused(&world);

    assert_snapshot!(world.opm("config trust"), @r"
    exit 0
    --- stderr
    trusted TEMP/work/opm-config.yaml: from now on it may set kubeconfig
    ");
    world.opm("mod list");
    assert!(ran_plugin(&world), "what is trusted holds");
    let words = world.opm("config trust --list").words();
    assert!(
        words.contains("TEMP/work/opm-config.yaml trusted"),
        "{words}"
    );

    // Whoever changes the file, or the kubeconfig that it names, has to be trusted anew.
    let world = world.file("opm-config.yaml", "kubeconfig: kube.yaml\ncontext: a\n");
    refused(&world);
    let words = world.opm("config trust --list").words();
    assert!(words.contains("opm-config.yaml changed"), "{words}");
    assert_eq!(world.opm("config trust opm-config.yaml").code, 0);
    let kubeconfig = world.read("kube.yaml");
    let world = world.file("kube.yaml", &format!("{kubeconfig}# changed\n"));
    refused(&world);

    assert_eq!(world.opm("config trust").code, 0);
    assert_snapshot!(world.opm("config untrust"), @r"
    exit 0
    --- stderr
    TEMP/work/opm-config.yaml is no longer trusted
    ");
    refused(&world);
    assert_eq!(
        world.opm("config trust --list -o json").json()["trusted"],
        serde_json::json!([])
    );
}

/// What was copied elsewhere is another file, and so is one behind a link of its name.
#[test]
fn trust_is_for_one_place() {
    let world = World::new()
        .file("opm-config.yaml", "context: a\n")
        .file("other/opm-config.yaml", "context: a\n");
    assert_eq!(world.opm("config trust").code, 0);
    let mut command = world.command(&["mod", "list"]);
    command.current_dir(world.path("other"));
    let ran = world.ran(&command.output().unwrap());
    assert!(ran.stderr.contains("not trusted"), "{ran}");
    std::fs::create_dir(world.path("third")).unwrap();
    symlink(
        world.path("opm-config.yaml"),
        world.path("third/opm-config.yaml"),
    )
    .unwrap();
    let mut command = world.command(&["mod", "list"]);
    command.current_dir(world.path("third"));
    let ran = world.ran(&command.output().unwrap());
    assert!(ran.stderr.contains("not trusted"), "{ran}");
}

#[test]
fn what_is_harmless_holds_and_the_rest_is_refused() {
    for line in [
        "kubeconfig: k",
        "context: c",
        "as: admin",
        "sandbox: true",
        "sandbox-dir: box",
        "log-entries: 1",
    ] {
        let key = line.split(':').next().unwrap();
        let world = World::new().file("opm-config.yaml", &format!("{line}\n"));
        for command in ["mod list", "mod build .", "sandbox status"] {
            let ran = world.opm(command);
            assert_eq!(ran.code, 2, "{line}, {command}: {ran}");
            assert!(
                ran.stderr.contains(&format!("`{key}` in opm-config.yaml")),
                "{ran}"
            );
        }
        // What tells about opm works, says so, and goes without it.
        let ran = world.opm("config view");
        assert_eq!(ran.code, 0, "{ran}");
        assert!(ran.stderr.contains("not trusted"), "{ran}");
        assert!(
            !ran.words().contains("opm-config.yaml\n")
                || ran.words().contains("config opm-config.yaml default\n"),
            "{ran}"
        );
        assert_eq!(world.opm("version").code, 0);
        // The same file is the user's word where the user names it, or keeps it.
        let named = world.opm("--config opm-config.yaml config view");
        assert!(!named.stderr.contains("not trusted"), "{named}");
        let text = format!("{line}\n");
        let own = World::new().file("../home/.config/opm/opm-config.yaml", &text);
        assert!(!own.opm("config view").stderr.contains("not trusted"));
    }
    let harmless = "namespace: games\noutput: json\nquiet: true\nevents: true\ncolor: never\n\
                    features: {disable: [sandbox]}\n";
    let world = World::new().file("opm-config.yaml", harmless);
    let ran = world.opm("config view -o table");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran}");
    assert!(
        ran.words().contains("namespace games opm-config.yaml"),
        "{ran}"
    );
}

/// What the user says anyway needs no trust.
#[test]
fn a_flag_or_a_variable_overrules_what_is_not_trusted() {
    let world = World::new().file("opm-config.yaml", "sandbox: false\nsandbox-dir: evil\n");
    let ran = world.opm("mod list --sandbox --sandbox-dir box");
    assert_eq!(ran.code, 0, "{ran}");
    let world = world
        .with("OPM_SANDBOX", "true")
        .with("OPM_SANDBOX_DIR", "box");
    let ran = world.opm("mod list");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!world.path("evil").exists());
}

#[test]
fn the_variable_of_kubernetes_beats_the_file() {
    let world = World::new()
        .file("../home/.config/opm/opm-config.yaml", "kubeconfig: own\n")
        .with("KUBECONFIG", "/from/variable");
    let words = world.opm("config view").words();
    assert!(
        words.contains("kubeconfig /from/variable KUBECONFIG"),
        "{words}"
    );
    let ran = world.opm("mod list");
    assert!(ran.stderr.contains("/from/variable"), "{ran}");
    let words = world.opm("--kubeconfig mine config view").words();
    assert!(words.contains("kubeconfig mine --kubeconfig"), "{words}");
}

/// Runs `opm`, and fails if it does not end.
fn ends(world: &World, line: &str) -> Ran {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = world.command(&words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("`opm {line}` hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    world.ran(&child.wait_with_output().unwrap())
}

/// Makes something that is no regular file.
type Make = fn(&std::path::Path);

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let module = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: a}\n\
                  components: [{name: a, manifests: [m.yaml]}]\n";
    let makers: [(&str, Make); 4] = [
        ("fifo", |path| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        }),
        ("device", |path| symlink("/dev/zero", path).unwrap()),
        ("terminal", |path| symlink("/dev/tty", path).unwrap()),
        ("directory", |path| std::fs::create_dir(path).unwrap()),
    ];
    for (what, make) in makers {
        for name in ["opm-config.yaml", "opm-config.toml"] {
            let world = World::new();
            make(&world.path(name));
            for line in ["version", "mod vet a", "--help", "config trust", "nonsense"] {
                let ran = ends(&world, line);
                let fine = matches!(line, "--help") && ran.code == 0;
                assert!(fine || ran.code == 2, "{what}, {line}: {ran}");
            }
        }
        let world = World::new();
        make(&world.path("c.yaml"));
        assert_eq!(ends(&world, "--config c.yaml version").code, 2, "{what}");
        make(&world.path("kube"));
        let ran = ends(&world, "--kubeconfig kube mod list");
        assert_eq!(ran.code, 2, "{what}: {ran}");
        for file in ["module.yaml", "m.yaml"] {
            let world = World::new().file("module.yaml", module).file("m.yaml", "");
            std::fs::remove_file(world.path(file)).unwrap();
            make(&world.path(file));
            let ran = ends(&world, "mod vet . -n a");
            assert!(
                ran.code == 2 || (what == "directory" && file == "m.yaml"),
                "{what}: {ran}"
            );
        }
    }
}

#[test]
fn json_configuration_is_json() {
    let world = World::new().file("c.json", "{\n\t\"namespace\": \"games\"\n}\n");
    let words = world.opm("--config c.json config view").words();
    assert!(words.contains("namespace games c.json"), "{words}");
    for (text, message) in [
        (
            "{namespace: games}",
            "c.json: line 1, column 2: key must be a string",
        ),
        ("namespace: games", "c.json: line 1, column"),
        (
            "{\"namespace\":\"a\",\"namespace\":\"b\"}",
            "the key `namespace` occurs twice",
        ),
        ("{} {}", "it holds more than one value"),
    ] {
        let world = World::new().file("c.json", text);
        let ran = world.opm("--config c.json config view");
        assert_eq!(ran.code, 2, "{text}");
        assert!(ran.stderr.contains(message), "{text}: {ran}");
    }
    let ran = World::new().opm("--config new.json config init");
    assert_eq!(ran.code, 2, "{ran}");
}
