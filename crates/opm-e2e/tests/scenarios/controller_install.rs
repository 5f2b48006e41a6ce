//! What is installed, with which rights, and how a release of the command line becomes a resource.

use opm_e2e::objects::{config_map, secret, service};
use opm_e2e::{Module, Rights, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    #[real_only("does not apply to the sandbox, which has no access control")]
    the_printed_rights_are_enough,
    a_printed_resource_is_the_same_release,
}

fn texts(value: &Value) -> Vec<&str> {
    let all = value.as_array().unwrap().iter();
    all.map(|one| one.as_str().unwrap()).collect()
}

async fn the_printed_rights_are_enough(w: World) {
    w.define_resource().await;
    let printed = w
        .opm(&["controller", "install", "--print", "-o", "json"])
        .await
        .ok()
        .json();
    let mut rights = Rights::none();
    for object in printed["items"].as_array().unwrap() {
        let rules = object["rules"].as_array().cloned().unwrap_or_default();
        let everywhere = object["kind"] == "ClusterRole";
        for rule in &rules {
            for group in texts(&rule["apiGroups"]) {
                let (resources, verbs) = (texts(&rule["resources"]), texts(&rule["verbs"]));
                rights = match everywhere {
                    true => rights.allow_everywhere(group, &resources, &verbs),
                    false => rights.allow(group, &resources, &verbs),
                };
            }
        }
    }
    let controller = w.user(&rights).await;
    let rbac = "rbac.authorization.k8s.io";
    w.api.create(&w.ns, &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}})).await;
    w.api.create(&w.ns, &json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": {"name": "deployer"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": ["*"]}]})).await;
    w.api.create(&w.ns, &json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "deployer"}, "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": w.ns}]})).await;
    let files =
        json!({"a.yaml": config_map("a", "1").to_string(), "b.yaml": service("web").to_string()});
    w.put_files("source", files).await;
    w.put_release("web", json!({"module": {"configMap": {"name": "source"}}}))
        .await;
    let _running = w.start_controller_as(
        controller.kubeconfig(),
        &[
            "--default-service-account",
            "deployer",
            "--shards",
            "2",
            "--lease-namespace",
            &w.ns,
        ],
    );
    w.until_ready("web").await;
    w.until("an event tells of it", || async {
        !w.events_of("web").await.is_empty()
    })
    .await;
    let path = opm_e2e::api::object("ConfigMap/a", &w.ns);
    w.api.merge(&path, json!({"data": {"k": "2"}})).await;
    w.until_value("ConfigMap/a", "/data/k", json!("1")).await;
    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
}

async fn a_printed_resource_is_the_same_release(w: World) {
    w.define_resource().await;
    let module =
        Module::new("web").component("app", &[config_map("a", "1"), secret("key", "hidden")]);
    w.apply(&module, &[]).await.ok();
    let change = w.record("web").await.index();
    let directory = w.write(&module);
    // Whoever asks for the files is shown them: the module's own Secret is in them.
    let arguments = [
        "mod",
        "apply",
        directory.as_str(),
        "--to-resource",
        "-o",
        "json",
    ];
    let printed = w.opm_showing_secrets(&arguments).await.ok().json();
    let [source, resource] = printed["items"].as_array().unwrap().as_slice() else {
        panic!("two objects: {printed}");
    };
    assert_eq!(source["kind"], "Secret");
    w.api.create(&w.ns, source).await;
    w.put_release("web", resource["spec"].clone()).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    assert_eq!(
        w.record("web").await.index(),
        change,
        "it is the same change"
    );
    let nested = w.dir().join("nested");
    std::fs::create_dir_all(nested.join("more")).unwrap();
    std::fs::write(
        nested.join("module.yaml"),
        std::fs::read(format!("{directory}/module.yaml")).unwrap(),
    )
    .unwrap();
    std::fs::write(nested.join("app.yaml"), config_map("a", "1").to_string()).unwrap();
    let nested = nested.display().to_string();
    w.opm(&["mod", "apply", &nested, "--to-resource"])
        .await
        .ends(2)
        .says("directory");
}

/// On a cluster of its own: what is installed is there for all.
#[tokio::test]
async fn the_controller_is_a_release_of_opm() {
    opm_e2e::on_sandbox(|w: World| async move {
        let install = [
            "controller",
            "install",
            "--image",
            "example.com/opm:1",
            "-o",
            "json",
            "-n",
            "opm-system",
        ];
        let first = w.opm(&install).await.ok();
        assert_eq!(first.json()["firstApply"], true);
        first.did(
            "created",
            "CustomResourceDefinition/modulereleases.core.opmodel.dev",
        );
        let deployed = w.get("opm-system:Deployment/opm-controller").await.unwrap();
        let container = &deployed["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "example.com/opm:1");
        w.opm(&install)
            .await
            .ok()
            .did("unchanged", "Deployment/opm-controller");
        w.opm(&[
            "mod",
            "delete",
            "opm-controller",
            "-n",
            "opm-system",
            "--yes",
        ])
        .await
        .ok();
        let definition = "CustomResourceDefinition/modulereleases.core.opmodel.dev";
        assert!(
            w.exists(definition).await,
            "with it, all resources would go"
        );
    })
    .await;
}
