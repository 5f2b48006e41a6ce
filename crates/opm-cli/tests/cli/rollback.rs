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
    assert_eq!(history(), before);
}
