//! The scenarios K to P of RFC-0001: those that it leaves open, and how they are solved here.

use opm_e2e::objects::{
    config_map, custom, custom_kind, in_namespace, namespace, secret, service, stateful_set,
    volume_claim,
};
use opm_e2e::{Module, RequestFilter, Rights, World, scenarios, set};

scenarios! {
    scenario_k_untracked_objects_are_refused,
    scenario_k_adopt_takes_them_over,
    scenario_l_terminating_objects_are_refused,
    scenario_l_wait_for_deletion,
    #[real_only("does not apply to the sandbox, which has no access control")]
    scenario_m_prune_without_rights_stays_pending,
    scenario_n_definition_and_its_object_in_one_apply,
    scenario_o_namespaces_are_guarded,
    scenario_o_namespace_with_strangers_is_refused,
    scenario_p_empty_render_is_refused,
}

/// The RFC's module, with its objects called `name`.
fn minecraft(name: &str) -> Module {
    Module::minecraft("0.1.0").component(
        "app",
        &[stateful_set(name), service(name), volume_claim("config")],
    )
}

async fn scenario_k_untracked_objects_are_refused(w: World) {
    w.api.create(&w.ns, &volume_claim("config")).await;
    let ran = w
        .apply(&minecraft("minecraft"), &[])
        .await
        .ends(2)
        .says("PersistentVolumeClaim/config")
        .says("already exists")
        .says("--adopt");
    assert_eq!(
        ran.json()["error"]["objects"].as_array().map(Vec::len),
        Some(1),
        "{ran}"
    );
    assert!(
        !w.exists("StatefulSet/minecraft").await,
        "nothing was touched"
    );
    assert!(w.find_record("minecraft").await.is_none());
}

async fn scenario_k_adopt_takes_them_over(w: World) {
    w.api.create(&w.ns, &volume_claim("config")).await;
    w.api.create(&w.ns, &service("minecraft")).await;
    let uid = w.uid("PersistentVolumeClaim/config").await;
    w.apply(
        &minecraft("minecraft"),
        &["--adopt=PersistentVolumeClaim/config"],
    )
    .await
    .ends(2)
    .says("Service/minecraft");
    let ran = w.apply(&minecraft("minecraft"), &["--adopt"]).await.ok();
    assert_eq!(
        ran.action("PersistentVolumeClaim/config").as_deref(),
        Some("adopted")
    );
    assert_eq!(w.uid("PersistentVolumeClaim/config").await, uid);
    assert!(
        w.record("minecraft")
            .await
            .inventory()
            .contains("PersistentVolumeClaim/config")
    );
}

async fn scenario_l_terminating_objects_are_refused(w: World) {
    w.terminating(&config_map("settings", "old")).await;
    let module =
        Module::new("web").component("app", &[config_map("settings", "new"), service("web")]);
    w.apply(&module, &[])
        .await
        .ends(2)
        .says("ConfigMap/settings")
        .says("being deleted");
    assert!(!w.exists("Service/web").await, "nothing was touched");
    // Neither adoption nor force touches a terminating object.
    w.apply(&module, &["--adopt", "--force"]).await.ends(2);
    w.let_go("ConfigMap/settings").await;
    w.apply(&module, &[]).await.ok();
}

async fn scenario_l_wait_for_deletion(w: World) {
    w.terminating(&config_map("settings", "old")).await;
    let module = Module::new("web").component("app", &[config_map("settings", "new")]);
    let dir = w.write(&module);
    let arguments = ["mod", "apply", &dir, "-o", "json", "--wait-for-deletion"];
    let arguments = [&arguments[..], &["--timeout", "10m"]].concat();
    let patient = w.start_relayed(&[], &arguments).await;
    // It has seen that the object is being deleted, and waits for its end.
    let watching = RequestFilter::verb("watch").and_path("/configmaps");
    patient.until_it_sends(1, &watching).await;
    w.let_go("ConfigMap/settings").await;
    assert_eq!(
        patient
            .end()
            .await
            .ok()
            .action("ConfigMap/settings")
            .as_deref(),
        Some("created")
    );
    w.terminating(&config_map("other", "old")).await;
    let module = Module::new("web").component("app", &[config_map("other", "new")]);
    w.apply(&module, &["--wait-for-deletion", "--timeout", "1s"])
        .await
        .ends(2)
        .says("ConfigMap/other");
}

async fn scenario_m_prune_without_rights_stays_pending(w: World) {
    let (games, production) = (
        w.other_namespace("games").await,
        w.other_namespace("production").await,
    );
    let module = |namespace: &str| {
        Module::minecraft("0.1.0")
            .component("app", &[in_namespace(config_map("world", "1"), namespace)])
    };
    let writes = ["get", "list", "create", "patch", "update"];
    let rights = Rights::none()
        .allow("*", &["*"], &["*"])
        .allow_in(&production, "*", &["*"], &["*"])
        .allow_in(&games, "*", &["*"], &writes);
    let user = w.user(&rights).await;
    w.apply(&module(&games), &[]).await.ok();
    let ran = w
        .apply_as(user.kubeconfig(), &module(&production), &[])
        .await
        .ends(8)
        .says("ConfigMap/world");
    assert_eq!(
        ran.json()["pending"].as_array().map(Vec::len),
        Some(1),
        "{ran}"
    );
    assert!(w.exists(&format!("{games}:ConfigMap/world")).await);
    assert!(w.exists(&format!("{production}:ConfigMap/world")).await);
    let record = w.record("minecraft").await;
    assert_eq!(record.index().len(), 2, "recorded all the same");
    assert_eq!(record.pending(), set(["ConfigMap/world"]));

    // Somebody with the rights applies the same again: cleaned up.
    w.apply(&module(&production), &[]).await.ok();
    assert!(!w.exists(&format!("{games}:ConfigMap/world")).await);
    assert!(w.record("minecraft").await.pending().is_empty());
}

async fn scenario_n_definition_and_its_object_in_one_apply(w: World) {
    let group = w.group();
    let module = Module::new("foos").component(
        "app",
        &[custom_kind(&group, "Foo"), custom(&group, "Foo", "my-foo")],
    );
    let ran = w.apply(&module, &[]).await.ok();
    assert_eq!(ran.action("Foo/my-foo").as_deref(), Some("created"));
    let path = format!("/apis/{group}/v1/namespaces/{}/foos/my-foo", w.ns);
    assert!(w.api.get(&path).await.is_some());
    assert!(w.record("foos").await.inventory().contains("Foo/my-foo"));
    w.delete("foos", &["--prune-crds"]).await.ok();
    assert!(
        w.gone(&format!("CustomResourceDefinition/foos.{group}"))
            .await
    );
}

async fn scenario_o_namespaces_are_guarded(w: World) {
    let games = w.name("games");
    let world = in_namespace(config_map("world", "1"), &games);
    let with = |objects: &[serde_json::Value]| Module::minecraft("0.1.0").component("app", objects);
    w.apply(
        &with(&[namespace(&games), world.clone(), config_map("a", "1")]),
        &[],
    )
    .await
    .ok();
    let ran = w.apply(&with(&[config_map("a", "1")]), &[]).await.ok();
    assert_eq!(
        ran.action(&format!("Namespace/{games}")).as_deref(),
        Some("kept")
    );
    assert_eq!(ran.action("ConfigMap/world").as_deref(), Some("pruned"));
    assert!(w.exists(&format!("Namespace/{games}")).await);
    assert!(
        w.record("minecraft")
            .await
            .kept()
            .contains(&format!("Namespace/{games}"))
    );

    // A flag given later, for something else, does not reach back.
    w.apply(&with(&[config_map("b", "1")]), &["--prune-namespaces"])
        .await
        .ok();
    assert!(w.exists(&format!("Namespace/{games}")).await);
    w.opm(&[
        "mod",
        "prune",
        "minecraft",
        &format!("Namespace/{games}"),
        "--yes",
        "-o",
        "json",
    ])
    .await
    .ok();
    assert!(w.gone(&format!("Namespace/{games}")).await);
    assert!(w.record("minecraft").await.kept().is_empty());
}

async fn scenario_o_namespace_with_strangers_is_refused(w: World) {
    let games = w.name("games");
    let with = |objects: &[serde_json::Value]| Module::minecraft("0.1.0").component("app", objects);
    w.apply(&with(&[namespace(&games), config_map("a", "1")]), &[])
        .await
        .ok();
    w.api.create(&games, &config_map("strangers", "1")).await;
    let without = with(&[config_map("a", "1")]);
    let ran = loop {
        let ran = w.apply(&without, &["--prune-namespaces"]).await;
        // A kind of a neighbour went while its objects were listed: then nobody can tell.
        if !ran.to_string().contains("the server answered 404") {
            break ran;
        }
    };
    let ran = ran.says("ConfigMap/strangers");
    assert!(matches!(ran.code(), 0 | 2), "{ran}");
    assert!(w.exists(&format!("Namespace/{games}")).await);
    assert!(w.exists(&format!("{games}:ConfigMap/strangers")).await);
    w.api.delete(&format!("/api/v1/namespaces/{games}")).await;
}

async fn scenario_p_empty_render_is_refused(w: World) {
    let five = [
        stateful_set("minecraft"),
        service("minecraft"),
        volume_claim("config"),
        config_map("settings", "1"),
        secret("creds", "hunter2"),
    ];
    w.apply(&Module::minecraft("0.1.0").component("app", &five), &[])
        .await
        .ok();
    let empty = Module::minecraft("0.1.0").component("app", &[]);
    w.apply(&empty, &["--yes"])
        .await
        .ends(2)
        .says("--allow-empty");
    assert_eq!(w.live("minecraft").await.len(), 5);
    let ran = w.apply(&empty, &["--allow-empty"]).await.ok();
    assert_eq!(
        ran.action("PersistentVolumeClaim/config").as_deref(),
        Some("kept")
    );
    assert_eq!(w.live("minecraft").await, ["PersistentVolumeClaim/config"]);
}
