//! Two modules of one name, without a path that would tell them apart.

use opm_e2e::objects::{config_map, service};
use opm_e2e::{Module, World, scenarios};
use serde_json::Value;

scenarios! {
    another_module_of_the_same_name_is_refused,
    a_rename_of_everything_in_the_same_directory_goes_ahead,
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

/// Writes a module into a directory of this name.
fn write(w: &World, directory: &str, module: &Module) -> String {
    let parent = w.dir().join(directory);
    std::fs::create_dir_all(&parent).unwrap();
    module.write(&parent).display().to_string()
}

async fn another_module_of_the_same_name_is_refused(w: World) {
    let first = web(&[config_map("a", "1"), config_map("b", "1"), service("a")]);
    let second = web(&[config_map("x", "1"), config_map("y", "1"), service("x")]);
    let (first, second) = (write(&w, "one", &first), write(&w, "two", &second));
    w.opm(&["mod", "apply", &first]).await.ok();
    let record = w.record("web").await;
    let module = &record.current()["module"];
    assert_eq!(module["origin"].as_str().map(str::len), Some(8), "{module}");

    let before = ["ConfigMap/a", "ConfigMap/b", "Service/a"];
    for arguments in [
        vec!["mod", "apply", &second],
        vec!["mod", "apply", &second, "--yes"],
        vec!["mod", "apply", &second, "--dry-run"],
        vec!["mod", "diff", &second],
    ] {
        let ran = w.opm(&arguments).await.ends(2);
        let ran = ran.says("another module").says("ConfigMap/b");
        ran.says("--replace-all");
        w.holds_exactly("web", &before).await;
    }
    // Something stays, nothing is rendered, nothing goes: this is not about them.
    let some = web(&[config_map("a", "1"), config_map("y", "1")]);
    let some = write(&w, "three", &some);
    w.opm(&["mod", "diff", &some]).await.ok();
    let nothing = write(&w, "four", &web(&[]));
    w.opm(&["mod", "apply", &nothing])
        .await
        .ends(2)
        .says("--allow-empty");

    w.opm(&["mod", "apply", &second, "--replace-all"])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/x", "ConfigMap/y", "Service/x"])
        .await;
    // Going back is what it says.
    w.opm(&["mod", "rollback", "web", "--yes"]).await.ok();
    w.holds_exactly("web", &before).await;
}

async fn a_rename_of_everything_in_the_same_directory_goes_ahead(w: World) {
    w.apply(&web(&[config_map("a", "1")]), &[]).await.ok();
    w.apply(&web(&[config_map("b", "1")]), &[]).await.ok();
    w.holds_exactly("web", &["ConfigMap/b"]).await;
    // A module that declares a path is told apart by it.
    let shop = |name: &str| {
        let module = Module::new("shop").path("example.com/shop@v0");
        module.component("app", &[config_map(name, "1")])
    };
    let (one, two) = (write(&w, "one", &shop("c")), write(&w, "two", &shop("d")));
    w.opm(&["mod", "apply", &one]).await.ok();
    w.opm(&["mod", "apply", &two]).await.ok();
    w.holds_exactly("shop", &["ConfigMap/d"]).await;
}
