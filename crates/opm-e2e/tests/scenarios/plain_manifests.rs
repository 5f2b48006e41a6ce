//! Manifests that nobody wrote a module file for: a directory of them, files, standard input.

use std::path::{Path, PathBuf};

use opm_e2e::objects::{config_map, service};
use opm_e2e::{World, scenarios};
use serde_json::Value;

scenarios! {
    a_directory_of_manifests_lives_the_life_of_a_module,
    a_module_file_that_says_the_same_changes_nothing,
    files_and_standard_input_are_applied,
    what_comes_from_elsewhere_removes_nothing,
}

/// Writes objects, a file for each.
fn manifests(parent: &Path, directory: &str, files: &[(&str, Value)]) -> PathBuf {
    let path = parent.join(directory);
    if path.exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    std::fs::create_dir_all(&path).unwrap();
    for (name, object) in files {
        std::fs::write(path.join(name), object.to_string()).unwrap();
    }
    path
}

async fn a_directory_of_manifests_lives_the_life_of_a_module(w: World) {
    let one = [("a.yaml", config_map("a", "1")), ("b.yaml", service("b"))];
    let dir = manifests(w.dir(), "shop", &one);
    let shown = dir.display().to_string();
    w.opm(&["mod", "vet", &shown]).await.ok();
    let built = w.opm(&["mod", "build", &shown, "-o", "json"]).await.ok();
    assert_eq!(built.json()["module"]["path"], "local/shop");
    w.opm(&["mod", "apply", &shown]).await.ok();
    w.holds_exactly("shop", &["ConfigMap/a", "Service/b"]).await;
    w.opm(&["mod", "apply", &shown, "-o", "json"])
        .await
        .ok()
        .did("unchanged", "ConfigMap/a")
        .did("unchanged", "Service/b");
    // What is in the directory no more goes; by name, by directory, and from inside it.
    let two = [("a.yaml", config_map("a", "2"))];
    manifests(w.dir(), "shop", &two);
    let differs = ["mod", "diff", &shown, "--exit-code"];
    w.opm(&differs).await.ends(6).says("Service/b");
    w.opm_in(&dir, &["mod", "apply"]).await.ok();
    w.holds_exactly("shop", &["ConfigMap/a"]).await;
    for release in ["shop", &shown, "."] {
        w.opm_in(&dir, &["mod", "status", release]).await.ok();
    }
    w.opm(&["mod", "rollback", "shop", "--yes"]).await.ok();
    w.holds_exactly("shop", &["ConfigMap/a", "Service/b"]).await;
    w.opm_in(&dir, &["mod", "delete", "--yes"]).await.ok();
    assert!(w.gone("ConfigMap/a").await && w.gone("Service/b").await);
}

async fn a_module_file_that_says_the_same_changes_nothing(w: World) {
    let objects = [("a.yaml", config_map("a", "1")), ("b.yml", service("b"))];
    let dir = manifests(w.dir(), "shop", &objects);
    w.opm_in(&dir, &["mod", "apply"]).await.ok();
    let before = w.record("shop").await.current().clone();
    let wrote = w.opm_in(&dir, &["mod", "init", "."]).await.ok();
    wrote.says("module.yaml").says("a.yaml, b.yml");
    w.opm_in(&dir, &["mod", "apply", "-o", "json"])
        .await
        .ok()
        .did("unchanged", "ConfigMap/a")
        .did("unchanged", "Service/b");
    let after = w.record("shop").await.current().clone();
    assert_eq!(after["id"], before["id"]);
}

async fn files_and_standard_input_are_applied(w: World) {
    let files = [
        ("web.yaml", config_map("a", "1")),
        ("b.yaml", config_map("b", "1")),
    ];
    let dir = manifests(w.dir(), "files", &files);
    let at = |name: &str| dir.join(name).display().to_string();
    let (web, b) = (at("web.yaml"), at("b.yaml"));
    w.opm(&["mod", "apply", &web]).await.ok();
    w.holds_exactly("web", &["ConfigMap/a"]).await;
    w.opm(&["mod", "status", &web]).await.ok();
    w.opm(&["mod", "delete", &web, "--yes"]).await.ok();

    w.opm(&["mod", "apply", &web, &b])
        .await
        .ends(2)
        .says("--name");
    w.opm(&["mod", "apply", &web, &b, "--name", "shop"])
        .await
        .ok();
    w.holds_exactly("shop", &["ConfigMap/a", "ConfigMap/b"])
        .await;
    // Some of the files would remove what the others brought.
    w.opm(&["mod", "apply", &b, "--name", "shop"])
        .await
        .ends(2)
        .says("another module")
        .says("ConfigMap/a")
        .says("--replace-all");
    w.holds_exactly("shop", &["ConfigMap/a", "ConfigMap/b"])
        .await;

    let input = dir.join("web.yaml");
    w.opm_reading(&input, &["mod", "apply", "-"])
        .await
        .ends(2)
        .says("standard input")
        .says("--name");
    let named = ["mod", "apply", "-", "--name", "piped", "--take-ownership"];
    w.opm_reading(&input, &named).await.ok();
    w.holds_exactly("piped", &["ConfigMap/a"]).await;
    let twice = ["mod", "apply", "-", "-f", "-", "--name", "piped"];
    w.opm_reading(&input, &twice)
        .await
        .ends(2)
        .says("only once");
}

async fn what_comes_from_elsewhere_removes_nothing(w: World) {
    let both = [
        ("a.yaml", config_map("a", "1")),
        ("b.yaml", config_map("b", "1")),
    ];
    let here = manifests(w.dir(), "one/web", &both);
    w.opm_in(&here, &["mod", "apply"]).await.ok();
    let fewer = [
        ("a.yaml", config_map("a", "2")),
        ("c.yaml", config_map("c", "1")),
    ];
    let there = manifests(w.dir(), "two/web", &fewer);
    for command in ["apply", "diff"] {
        w.opm_in(&there, &["mod", command])
            .await
            .ends(2)
            .says("another module")
            .says("ConfigMap/b");
    }
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/b"])
        .await;
    // Nothing would go: that is not refused, and neither is what is meant.
    let more = [both.as_slice(), &[("c.yaml", config_map("c", "1"))]].concat();
    let more = manifests(w.dir(), "three/web", &more);
    w.opm_in(&more, &["mod", "apply"]).await.ok();
    w.opm_in(&there, &["mod", "apply", "--replace-all"])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/c"])
        .await;
}
