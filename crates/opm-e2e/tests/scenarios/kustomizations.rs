//! Kustomizations as they are: bases, patches and generators, through a release's whole life; and
//! one YAML module with values for several releases.

use std::fs;
use std::path::Path;

use opm_e2e::objects::{config_map, deployment};
use opm_e2e::{World, scenarios, set};
use opm_testkit::programs::{self, Program};
use serde_json::{Value, json};

scenarios! {
    an_overlay_lives_from_apply_to_delete,
    a_kustomization_and_manifests_are_one_release,
    two_overlays_of_a_base_live_side_by_side,
    what_would_be_fetched_touches_nothing,
    nothing_of_this_machine_is_fetched,
    a_kustomization_that_does_not_build_is_told_with_its_directory,
    two_releases_of_a_yaml_module_live_side_by_side,
}

/// The same world, if there is what builds kustomizations.
fn with_kubectl(w: World) -> Option<World> {
    match programs::ensure(&[Program::Kubectl]) {
        Ok(()) => Some(w),
        Err(error) if opm_testkit::cluster_required() => panic!("{error}"),
        Err(_) => {
            opm_testkit::skip_without("kubectl to build kustomizations with");
            None
        }
    }
}

fn write(dir: &Path, path: &str, content: &Value) {
    let file = dir.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content.to_string()).unwrap();
}

/// A base of a Deployment that mounts a generated ConfigMap, and an overlay of this name that
/// patches and prefixes it.
fn shop(w: &World, overlay: &str, greeting: &str, replicas: u64) -> String {
    let dir = w.dir().join("shop");
    fs::create_dir_all(&dir).unwrap();
    // Directories of one repository may name each other.
    fs::create_dir_all(dir.join(".git")).unwrap();
    let mut web = deployment("web");
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] =
        json!([{"configMapRef": {"name": "settings"}}]);
    write(&dir, "base/web.yaml", &web);
    write(
        &dir,
        "base/kustomization.yaml",
        &json!({"resources": ["web.yaml"]}),
    );
    let patch = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web"}, "spec": {"replicas": replicas}});
    let place = format!("overlays/{overlay}");
    write(&dir, &format!("{place}/patch.yaml"), &patch);
    let kustomization = json!({
        "resources": ["../../base"],
        "namePrefix": format!("{overlay}-"),
        "patches": [{"path": "patch.yaml"}],
        "configMapGenerator":
            [{"name": "settings", "literals": [format!("GREETING={greeting}")]}],
    });
    write(&dir, &format!("{place}/kustomization.yaml"), &kustomization);
    dir.join(place).display().to_string()
}

/// The name of the ConfigMap that the Deployment names, and what it says.
async fn settings(w: &World, overlay: &str) -> (String, Value) {
    let web = w.get(&format!("Deployment/{overlay}-web")).await.unwrap();
    let containers = &web["spec"]["template"]["spec"]["containers"];
    let name = containers[0]["envFrom"][0]["configMapRef"]["name"].as_str();
    let name = format!("ConfigMap/{}", name.unwrap());
    let settings = w.get(&name).await.expect("the generated ConfigMap");
    (name, settings["data"]["GREETING"].clone())
}

async fn an_overlay_lives_from_apply_to_delete(w: World) {
    let Some(w) = with_kubectl(w) else { return };
    let dir = shop(&w, "prod", "hello", 2);
    w.opm(&["mod", "vet", &dir]).await.ok();
    let built = w.opm(&["mod", "build", &dir]).await.ok();
    assert!(built.stdout().contains("name: prod-web"), "{built}");
    let apply = ["mod", "apply", &dir, "-o", "json"];
    w.opm(&apply)
        .await
        .ok()
        .did("created", "Deployment/prod-web");
    let web = w.get("Deployment/prod-web").await.unwrap();
    assert_eq!(web["spec"]["replicas"], 2, "it is patched");
    let (first, said) = settings(&w, "prod").await;
    assert_eq!(said, "hello");
    w.opm(&apply)
        .await
        .ok()
        .did("unchanged", "Deployment/prod-web");

    // Another generated name: the new one comes, and the old one goes.
    shop(&w, "prod", "goodbye", 3);
    w.opm(&["mod", "diff", &dir]).await.ok().says(&first);
    w.opm(&apply).await.ok().did("pruned", &first);
    let (second, said) = settings(&w, "prod").await;
    assert_ne!(first, second);
    assert_eq!(said, "goodbye");
    w.holds_exactly("prod", &["Deployment/prod-web", &second])
        .await;

    w.opm(&["mod", "rollback", "prod", "--yes"]).await.ok();
    assert_eq!(settings(&w, "prod").await, (first.clone(), json!("hello")));
    w.holds_exactly("prod", &["Deployment/prod-web", &first])
        .await;
    w.opm(&["mod", "delete", &dir, "--yes"]).await.ok();
    assert_eq!(w.settled_live("prod").await, Vec::<String>::new());
}

async fn a_kustomization_and_manifests_are_one_release(w: World) {
    let Some(w) = with_kubectl(w) else { return };
    shop(&w, "prod", "hello", 1);
    let dir = w.dir().join("shop");
    write(&dir, "extra.yaml", &config_map("extra", "1"));
    let module = |components: Value| {
        let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
            "metadata": {"name": "shop"}, "components": components});
        write(&dir, "module.yaml", &module);
    };
    let web = json!({"name": "web", "kustomize": "overlays/prod"});
    let extra = json!({"name": "extra", "manifests": ["extra.yaml"], "after": ["web"]});
    module(json!([web, extra]));
    let dir = dir.display().to_string();
    let apply = ["mod", "apply", &dir, "-o", "json"];
    w.opm(&apply).await.ok();
    let (generated, _) = settings(&w, "prod").await;
    let all = ["ConfigMap/extra", "Deployment/prod-web", &generated];
    w.holds_exactly("shop", &all).await;
    // A component that is dropped goes with everything that was built for it.
    module(json!([{"name": "extra", "manifests": ["extra.yaml"]}]));
    w.opm(&apply)
        .await
        .ok()
        .did("pruned", "Deployment/prod-web");
    w.holds_exactly("shop", &["ConfigMap/extra"]).await;
}

async fn two_overlays_of_a_base_live_side_by_side(w: World) {
    let Some(w) = with_kubectl(w) else { return };
    for first in ["blue", "green"] {
        for overlay in ["blue", "green"] {
            let dir = shop(&w, overlay, overlay, 1);
            w.opm(&["mod", "apply", &dir]).await.ok();
        }
        let second = if first == "blue" { "green" } else { "blue" };
        w.delete(first, &[]).await.ok();
        let (generated, said) = settings(&w, second).await;
        assert_eq!(said, second);
        let left = [format!("Deployment/{second}-web"), generated];
        w.holds_exactly(second, &left.each_ref().map(String::as_str))
            .await;
        w.delete(second, &[]).await.ok();
    }
}

async fn what_would_be_fetched_touches_nothing(w: World) {
    let Some(w) = with_kubectl(w) else { return };
    let dir = shop(&w, "prod", "hello", 1);
    w.opm(&["mod", "apply", &dir]).await.ok();
    let before = w.record_without_log("prod").await;
    for remote in [
        "https://127.0.0.1:1/base.yaml",
        "github.com/example/repo//base?ref=v1",
        "git@127.0.0.1:example/repo.git",
    ] {
        // Also where only a base names it.
        let base = json!({"resources": ["web.yaml", remote]});
        write(&w.dir().join("shop"), "base/kustomization.yaml", &base);
        for command in ["vet", "build", "diff", "apply"] {
            w.opm(&["mod", command, &dir])
                .await
                .ends(2)
                .says("would be fetched")
                .says(remote)
                .says("remote: true");
        }
    }
    assert_eq!(w.record_without_log("prod").await, before);
}

async fn nothing_of_this_machine_is_fetched(w: World) {
    let Some(w) = with_kubectl(w) else { return };
    shop(&w, "prod", "hello", 1);
    let dir = w.dir().join("shop");
    let component = json!({"name": "web", "kustomize": "base", "remote": true});
    let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
        "metadata": {"name": "shop"}, "components": [component]});
    write(&dir, "module.yaml", &module);
    for entry in [
        "file:///home/me/private",
        "git::file:///home/me/private",
        "http://example.com/base",
    ] {
        write(
            &dir,
            "base/kustomization.yaml",
            &json!({"resources": [entry]}),
        );
        w.opm(&["mod", "build", dir.to_str().unwrap()])
            .await
            .ends(2)
            .says(entry)
            .says("is not fetched");
    }
}

async fn a_kustomization_that_does_not_build_is_told_with_its_directory(w: World) {
    let Some(w) = with_kubectl(w) else { return };
    let dir = shop(&w, "prod", "hello", 1);
    let patch =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "none"}});
    write(Path::new(&dir), "patch.yaml", &patch);
    w.opm(&["mod", "apply", &dir])
        .await
        .ends(2)
        .says("shop/overlays/prod: ")
        .says("no matches for Id");
    w.opm_with(&[("PATH", "/nowhere")], &["mod", "apply", &dir])
        .await
        .ends(2)
        .says("neither `kustomize` nor `kubectl` was found")
        .says("5.0.0 or later");
    fs::write(Path::new(&dir).join("kustomization.yaml"), "resources: [\n").unwrap();
    w.opm(&["mod", "apply", &dir])
        .await
        .ends(2)
        .says("kustomization.yaml");
    assert!(w.find_record("prod").await.is_none());
}

async fn two_releases_of_a_yaml_module_live_side_by_side(w: World) {
    let dir = w.dir().join("pages");
    let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
        "metadata": {"name": "pages", "version": "1.0.0"},
        "values": {"greeting": "hello"},
        "schema": {"properties": {"greeting": {"type": "string", "minLength": 1}}},
        "components": [{"name": "app", "manifests": ["page.yaml"]}]});
    write(&dir, "module.yaml", &module);
    let mut page = config_map("${release.name}-page", "${values.greeting}");
    page["data"]["script"] = json!("echo $${HOME}");
    write(&dir, "page.yaml", &page);
    let dir = dir.display().to_string();
    for first in ["blue", "green"] {
        w.opm(&["mod", "apply", &dir, "--name", "blue"]).await.ok();
        let other = [
            "mod",
            "apply",
            &dir,
            "--name",
            "green",
            "--set",
            "greeting=hi",
        ];
        w.opm(&other).await.ok();
        for (release, greeting) in [("blue", "hello"), ("green", "hi")] {
            let page = w.get(&format!("ConfigMap/{release}-page")).await.unwrap();
            assert_eq!(page["data"]["k"], greeting);
            assert_eq!(page["data"]["script"], "echo ${HOME}");
        }
        let second = if first == "blue" { "green" } else { "blue" };
        w.delete(first, &[]).await.ok();
        let left = format!("ConfigMap/{second}-page");
        assert_eq!(w.record(second).await.inventory(), set([&left]));
        w.holds_exactly(second, &[&left]).await;
        w.delete(second, &[]).await.ok();
    }
    w.opm(&["mod", "apply", &dir, "--set", "greeting="])
        .await
        .ends(2)
        .says("greeting");
}
