//! Going back to a change whose manifests are not kept: its module comes from a registry again,
//! and has to come to the same.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::modules::cue;
use crate::runner::World;

const DEFINITION: &str =
    "module: \"example.com/app@v0\"\nlanguage: version: \"v0.15.0\"\nsource: kind: \"self\"\n";

fn module(version: &str) -> String {
    format!(
        "package app\n\nmetadata: name: \"app\"\n#config: greeting: *\"x\" | string\n\
         #components: app: resources: a: {{apiVersion: \"v1\", kind: \"ConfigMap\", \
         metadata: name: \"app\", data: {{v: \"{version}\", g: #config.greeting}}}}\n"
    )
}

#[test]
fn a_published_module_is_rendered_again() {
    let Some(cue) = cue() else { return };
    let mut registry = Command::new(&cue)
        .args(["mod", "registry", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Held open: the server would end when nobody reads what it prints.
    let mut stdout = BufReader::new(registry.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap();

    let world = World::new()
        .with("OPM_CUE", &cue)
        .with("CUE_REGISTRY", &format!("{address}+insecure"))
        .file("app/cue.mod/module.cue", DEFINITION);
    let cache = world.path("cache");
    let mut world = world.with("CUE_CACHE_DIR", cache.to_str().unwrap());
    for version in ["v0.1.0", "v0.2.0"] {
        world = world.file("app/module.cue", &module(version));
        let published = Command::new(&cue)
            .args(["mod", "publish", version])
            .current_dir(world.path("app"))
            .env("CUE_REGISTRY", format!("{address}+insecure"))
            .env("CUE_CACHE_DIR", &cache)
            .output()
            .unwrap();
        assert!(published.status.success(), "{published:?}");
    }
    std::fs::remove_dir_all(world.path("app")).unwrap();

    let opm = |line: &str| world.opm(&format!("{line} --sandbox --sandbox-dir box -o json"));
    let first = opm("mod apply example.com/app@v0.1.0 --no-record --set greeting=hello");
    assert_eq!(first.code, 0, "{first}");
    let second = opm("mod apply example.com/app@v0.2.0 --no-record");
    assert_eq!(second.code, 0, "{second}");
    let back = opm("mod rollback app");
    assert_eq!(back.code, 0, "{back}");
    assert_eq!(back.json()["changeId"], first.json()["changeId"]);

    // Without the registry and what was fetched from it, it is refused, and nothing is touched.
    let _ = registry.kill();
    let _ = registry.wait();
    std::fs::remove_dir_all(&cache).unwrap_or_default();
    let history = || {
        opm("mod history app").json()["log"]
            .as_array()
            .unwrap()
            .len()
    };
    let before = history();
    let refused = opm("mod rollback app");
    assert_eq!(refused.code, 2, "{refused}");
    assert!(
        refused.stderr.contains("cannot be rendered again"),
        "{refused}"
    );
    assert_eq!(history(), before + 1, "the refusal is in the log");
}

const SANDBOX: &str = "--sandbox --sandbox-dir box -o json";

/// A YAML module that renders one object with this text in it.
fn yaml_module(world: World, metadata: &str, text: &str) -> World {
    let module = format!(
        "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {{{metadata}}}\n\
         components:\n  - {{name: app, manifests: [app.yaml]}}\n"
    );
    let object =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{text: {text}}}\n");
    world
        .file("web/module.yaml", &module)
        .file("web/app.yaml", &object)
}

/// Two changes whose manifests are not kept; the module is as it was for the first one again.
fn two_changes(world: World, metadata: &str, flags: &str) -> World {
    let mut world = world;
    for text in ["one", "two"] {
        world = yaml_module(world, metadata, text);
        let applied = world.opm(&format!("mod apply ./web --no-record {flags} {SANDBOX}"));
        assert_eq!(applied.code, 0, "{applied}");
    }
    yaml_module(world, metadata, "one")
}

#[test]
fn a_directory_names_a_release_of_another_name() {
    let world = two_changes(World::new(), "name: web", "--name shop");
    let opm = |line: &str| world.opm(&format!("{line} {SANDBOX}"));
    let back = opm("mod rollback ./web --name shop");
    assert_eq!(back.code, 0, "{back}");
    assert_eq!(back.json()["release"]["name"], "shop");
    for line in [
        "mod status ./web --name shop",
        "mod history ./web --name=shop",
        "mod show ./web values --name shop",
        "mod repair ./web --name shop --dry-run",
    ] {
        let ran = opm(line);
        assert_eq!(ran.code, 0, "{line}: {ran}");
        assert_eq!(ran.json()["release"]["name"], "shop", "{line}");
    }
    for line in [
        "mod status ./web",
        "mod prune ./web --name other --all --yes",
        "mod forget ./web --name other ConfigMap/a",
        "mod unlock ./web --name other --yes",
    ] {
        let ran = opm(line);
        assert_eq!(ran.code, 5, "{line}: {ran}");
    }
    let twice = opm("mod status web --name shop");
    assert_eq!(twice.code, 2, "{twice}");
    assert!(
        twice.stderr.contains("--name goes with the directory"),
        "{twice}"
    );
    let deleted = opm("mod delete ./web --name shop --yes");
    assert_eq!(deleted.code, 0, "{deleted}");
}

/// What no registry can have is not looked for there: `cue` is not even started.
#[test]
fn a_module_without_a_path_is_in_no_registry() {
    use std::os::unix::fs::PermissionsExt;
    let spy = "#!/bin/sh\necho started > \"$(/usr/bin/dirname \"$0\")/started\"\nexit 1\n";
    let world = World::new().file("bin/cue", spy);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path("bin/cue"), mode).unwrap();
    let bin = world.path("bin").display().to_string();
    let world = two_changes(world.with("PATH", &bin), "name: web, version: 1.0.0", "");
    let refused = world.opm(&format!("mod rollback web {SANDBOX}"));
    assert_eq!(refused.code, 2, "{refused}");
    for words in [
        "the module local/web was applied from a directory and is in no registry",
        "hint: if the module's directory is at hand, name that instead of the release, with --name",
    ] {
        assert!(refused.stderr.contains(words), "{words}\n{refused}");
    }
    assert!(!world.path("bin/started").exists());
    let back = world.opm(&format!("mod rollback ./web {SANDBOX}"));
    assert_eq!(back.code, 0, "{back}");
}

/// A YAML module may have a path and a version, and nothing recorded tells it from a CUE module.
#[test]
fn a_yaml_module_that_no_registry_has() {
    let Some(cue) = cue() else { return };
    let world = World::new().file("bin/README", "");
    std::os::unix::fs::symlink(cue, world.path("bin/cue")).unwrap();
    let bin = world.path("bin").display().to_string();
    let world = world.with("PATH", &bin).with("CUE_REGISTRY", "none");
    let metadata = "name: web, path: example.com/web, version: 1.0.0";
    let world = two_changes(world, metadata, "");
    let refused = world.opm(&format!("mod rollback web {SANDBOX}"));
    assert_eq!(refused.code, 2, "{refused}");
    for words in [
        "no registry has example.com/web@v1.0.0",
        "hint: CUE_REGISTRY names the registries; a YAML module is in none",
        "hint: if the module's directory is at hand",
    ] {
        assert!(refused.stderr.contains(words), "{words}\n{refused}");
    }
    let back = world.opm(&format!("mod rollback ./web {SANDBOX}"));
    assert_eq!(back.code, 0, "{back}");
}
