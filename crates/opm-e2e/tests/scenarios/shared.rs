//! Objects that several releases bring along: they belong to all of them, and go with the last.

use opm_e2e::api;
use opm_e2e::objects::{
    cluster_role, config_map, custom, custom_kind, in_namespace, namespace, shared,
};
use opm_e2e::{Module, World, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    a_shared_object_goes_with_the_last_release_in_every_order,
    unequal_content_is_a_conflict_that_names_the_other_release,
    a_shared_definition_outlives_the_release_that_upgraded_it,
    an_object_becomes_shared_and_ceases_to_be,
    a_shared_object_changes_hands,
    without_a_record_shared_objects_are_found_by_their_labels,
    a_release_whose_namespace_is_gone_can_be_deleted,
    a_shared_namespace_goes_with_the_last_release,
}

pub(crate) const UUID: &str = "module-release.opmodel.dev/uuid";

pub(crate) fn release(name: &str, objects: &[Value]) -> Module {
    Module::new(name).component("app", objects)
}

/// The ids of the releases that share an object, by the names on their labels.
pub(crate) fn sharing(object: &Value) -> std::collections::BTreeSet<String> {
    let labels = object["metadata"]["labels"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let names = labels
        .iter()
        .filter(|(key, _)| key.starts_with("shared.opmodel.dev/"));
    names
        .map(|(_, name)| name.as_str().unwrap().to_owned())
        .collect()
}

/// How many releases' field managers an object has.
fn managers(object: &Value) -> usize {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let of_releases = entries.iter().filter(|entry| {
        let name = entry["manager"].as_str().unwrap();
        entry["operation"] == "Apply" && name.starts_with("opm-")
    });
    of_releases.count()
}

async fn drop_it(w: &World, name: &str, how: &str) {
    match how {
        "delete" => w.delete(name, &[]).await.ok(),
        _ => w
            .apply(&release(name, &[config_map(name, "1")]), &[])
            .await
            .ok(),
    };
}

async fn a_shared_object_goes_with_the_last_release_in_every_order(w: World) {
    let role = w.name("shared");
    let spelled = format!("ClusterRole/{role}");
    let orders = [
        ("a", "b", "prune", "delete"),
        ("a", "b", "delete", "prune"),
        ("b", "a", "prune", "prune"),
        ("b", "a", "delete", "delete"),
    ];
    for (first, last, how, how_last) in orders {
        for name in ["a", "b"] {
            let module = release(name, &[config_map(name, "1"), shared(cluster_role(&role))]);
            w.apply(&module, &[]).await.ok();
        }
        let both = w.get(&spelled).await.unwrap();
        assert_eq!(sharing(&both), set(["a", "b"]));
        assert!(both["metadata"]["labels"][UUID].is_null());
        assert_eq!(managers(&both), 2);
        drop_it(&w, first, how).await;
        let one = w
            .get(&spelled)
            .await
            .unwrap_or_else(|| panic!("gone with {first} by {how}"));
        assert_eq!(one["metadata"]["uid"], both["metadata"]["uid"]);
        assert_eq!(one["rules"], both["rules"]);
        assert_eq!(sharing(&one), set([last]));
        assert_eq!(managers(&one), 1);
        let module = release(last, &[config_map(last, "1"), shared(cluster_role(&role))]);
        w.apply(&module, &[]).await.ok().did("unchanged", &spelled);
        drop_it(&w, last, how_last).await;
        assert!(
            !w.exists(&spelled).await,
            "left over by {last} ({how_last})"
        );
        for name in ["a", "b"] {
            w.delete(name, &["--ignore-not-found"]).await.ok();
        }
    }
}

fn role_that(name: &str, verb: &str) -> Value {
    let mut role = cluster_role(name);
    role["rules"][0]["verbs"] = json!([verb]);
    shared(role)
}

async fn unequal_content_is_a_conflict_that_names_the_other_release(w: World) {
    let role = w.name("shared");
    let spelled = format!("ClusterRole/{role}");
    let verbs = |object: &Value| object["rules"][0]["verbs"].clone();
    w.apply(&release("a", &[role_that(&role, "get")]), &[])
        .await
        .ok();
    let unequal = release("b", &[role_that(&role, "list"), config_map("b", "1")]);
    w.apply(&unequal, &[])
        .await
        .ends(2)
        .says(".rules belongs to release a (id ")
        .says("--force-conflicts");
    assert!(!w.exists("ConfigMap/b").await, "nothing was touched");
    assert!(w.find_record("b").await.is_none());
    // Alone, a release changes it as it likes.
    w.apply(&release("a", &[role_that(&role, "watch")]), &[])
        .await
        .ok()
        .did("configured", &spelled);
    // With force, all of them get it.
    w.apply(&unequal, &["--force-conflicts"]).await.ok();
    assert_eq!(verbs(&w.get(&spelled).await.unwrap()), json!(["list"]));
    w.apply(&release("a", &[role_that(&role, "watch")]), &[])
        .await
        .ends(2)
        .says("release b");
    // What the one who upgraded it held alone stays for the others.
    w.delete("b", &[]).await.ok();
    let left = w.get(&spelled).await.unwrap();
    assert_eq!(
        verbs(&left),
        json!(["list"]),
        "the content is not b's to take along"
    );
    assert_eq!(sharing(&left), set(["a"]));
    w.apply(&release("a", &[role_that(&role, "watch")]), &[])
        .await
        .ok();
    assert_eq!(verbs(&w.get(&spelled).await.unwrap()), json!(["watch"]));
    w.delete("a", &[]).await.ok();
    assert!(!w.exists(&spelled).await);
}

async fn a_shared_definition_outlives_the_release_that_upgraded_it(w: World) {
    let group = w.group();
    let definition = |more: bool| {
        let mut definition = shared(custom_kind(&group, "Widget"));
        if more {
            let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            schema["properties"]["spec"]["properties"]["colour"] = json!({"type": "string"});
        }
        definition
    };
    let spelled = format!("CustomResourceDefinition/widgets.{group}");
    let widget = |name: &str| format!("/apis/{group}/v1/namespaces/{}/widgets/{name}", w.ns);
    let module =
        |name: &str, more: bool| release(name, &[definition(more), custom(&group, "Widget", name)]);
    w.apply(&module("a", false), &[]).await.ok();
    w.apply(&module("b", false), &[]).await.ok();
    w.apply(&module("b", true), &[])
        .await
        .ends(2)
        .says("release a");
    w.apply(&module("b", true), &["--force-conflicts"])
        .await
        .ok()
        .did("configured", &spelled);
    // The one who upgraded it goes: its own object with it, the definition stays as it is.
    w.delete("b", &["--prune-crds"]).await.ok();
    let left = w.get(&spelled).await.unwrap();
    assert!(left.to_string().contains("colour"));
    assert!(left["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(sharing(&left), set(["a"]));
    assert!(w.api.get(&widget("a")).await.is_some());
    w.until("b's widget is gone", || async {
        w.api.get(&widget("b")).await.is_none()
    })
    .await;
    // The last one is held by the guard, and with its flag by other people's objects.
    let (status, body) = w
        .api
        .send(
            http::Method::POST,
            &format!("/apis/{group}/v1/namespaces/{}/widgets", w.ns),
            "application/json",
            Some(&custom(&group, "Widget", "stranger")),
        )
        .await;
    assert_eq!(status, 201, "{body}");
    w.delete("a", &["--prune-crds"])
        .await
        .ends(2)
        .says("Widget/stranger");
    assert!(
        w.api.get(&widget("a")).await.is_some(),
        "nothing was touched"
    );
    let ran = w
        .apply(&release("a", &[custom(&group, "Widget", "a")]), &[])
        .await
        .ok();
    ran.did("kept", &spelled);
    assert_eq!(w.record("a").await.kept(), set([spelled.as_str()]));
    w.api.delete(&widget("stranger")).await;
    w.delete("a", &["--prune-crds"]).await.ok();
    assert!(w.gone(&spelled).await);
}

async fn an_object_becomes_shared_and_ceases_to_be(w: World) {
    let role = w.name("shared");
    let spelled = format!("ClusterRole/{role}");
    let own = |verb: &str| {
        let mut role = role_that(&role, verb);
        role["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
        role
    };
    w.apply(&release("a", &[own("get")]), &[]).await.ok();
    let uid = w.uid(&spelled).await;
    w.apply(&release("b", &[role_that(&role, "get")]), &[])
        .await
        .ends(2)
        .says("release a");
    // It becomes shared and changes at once.
    w.apply(&release("a", &[role_that(&role, "list")]), &[])
        .await
        .ok();
    let live = w.get(&spelled).await.unwrap();
    assert_eq!(sharing(&live), set(["a"]));
    assert!(live["metadata"]["labels"][UUID].is_null(), "{live}");
    w.apply(&release("b", &[role_that(&role, "list")]), &[])
        .await
        .ok();
    // Nobody has it for himself as long as others have it.
    w.apply(&release("a", &[own("list")]), &[])
        .await
        .ends(2)
        .says("shared by release b");
    w.delete("b", &[]).await.ok();
    w.apply(&release("a", &[own("watch")]), &[]).await.ok();
    let live = w.get(&spelled).await.unwrap();
    assert!(sharing(&live).is_empty(), "{live}");
    assert!(live["metadata"]["labels"][UUID].is_string());
    assert_eq!(
        (managers(&live), &live["rules"][0]["verbs"]),
        (0, &json!(["watch"]))
    );
    assert_eq!(w.uid(&spelled).await, uid);
    w.delete("a", &[]).await.ok();
    assert!(!w.exists(&spelled).await);
}

async fn a_shared_object_changes_hands(w: World) {
    let role = w.name("shared");
    let spelled = format!("ClusterRole/{role}");
    w.apply(
        &release("a", &[cluster_role(&role), config_map("a", "1")]),
        &[],
    )
    .await
    .ok();
    // Taken over from a release that had it for itself.
    let taking = release("b", &[shared(cluster_role(&role))]);
    w.apply(&taking, &[]).await.ends(2).says("--take-ownership");
    w.apply(&taking, &["--take-ownership"]).await.ok();
    let live = w.get(&spelled).await.unwrap();
    assert_eq!(sharing(&live), set(["b"]));
    assert!(live["metadata"]["labels"][UUID].is_null());
    w.apply(&release("a", &[config_map("a", "1")]), &[])
        .await
        .ok()
        .says("release b");
    w.holds_exactly("a", &["ConfigMap/a"]).await;
    // The former owner may join again, and no more than that.
    w.apply(&release("a", &[cluster_role(&role)]), &["--take-ownership"])
        .await
        .ends(2)
        .says("release b");
    w.apply(
        &release("a", &[config_map("a", "1"), shared(cluster_role(&role))]),
        &[],
    )
    .await
    .ok();
    assert_eq!(sharing(&w.get(&spelled).await.unwrap()), set(["a", "b"]));
    // Forgotten, it stays with the others.
    w.opm(&["mod", "forget", "a", &spelled]).await.ok();
    assert_eq!(sharing(&w.get(&spelled).await.unwrap()), set(["b"]));
    w.delete("a", &[]).await.ok();
    assert!(w.exists(&spelled).await);
    w.delete("b", &[]).await.ok();
    assert!(!w.exists(&spelled).await);
}

async fn without_a_record_shared_objects_are_found_by_their_labels(w: World) {
    let role = w.name("shared");
    let spelled = format!("ClusterRole/{role}");
    let with = |name: &str| release(name, &[shared(cluster_role(&role)), config_map(name, "1")]);
    w.apply(&with("a"), &[]).await.ok();
    w.apply(&with("b"), &[]).await.ok();
    w.delete_record("a").await;
    let ran = w.delete("a", &[]).await.ok().says("label");
    ran.did("deleted", "ConfigMap/a").did("kept", &spelled);
    assert_eq!(sharing(&w.get(&spelled).await.unwrap()), set(["b"]));
    // The feature that prunes orphans by label sees it, too.
    w.apply(&with("a"), &[]).await.ok();
    w.delete_record("a").await;
    let flags = ["--feature-enable", "label-orphan-pruning"];
    w.apply(&release("a", &[config_map("a", "1")]), &flags)
        .await
        .ok();
    assert_eq!(sharing(&w.get(&spelled).await.unwrap()), set(["b"]));
    // A release of nothing but shared objects: its name is on them, and not its namespace.
    let only = release("b", &[shared(cluster_role(&role))]);
    w.apply(&only, &[]).await.ok();
    let id = w.record("b").await.data["metadata"]["releaseId"]
        .as_str()
        .unwrap()
        .to_owned();
    // Named in the wrong namespace, a release that has a record elsewhere is left alone.
    let elsewhere = w.other_namespace("elsewhere").await;
    let there = ["mod", "delete", &id, "-n", &elsewhere, "--yes"];
    w.opm(&there).await.ends(5);
    assert_eq!(sharing(&w.get(&spelled).await.unwrap()), set(["b"]));
    w.delete_record("b").await;
    w.delete("b", &[]).await.ends(5).says(&id);
    w.delete(&id, &[]).await.ok().did("deleted", &spelled);
    assert!(!w.exists(&spelled).await);
}

async fn a_release_whose_namespace_is_gone_can_be_deleted(w: World) {
    let (role, home) = (w.name("left-over"), w.other_namespace("short-lived").await);
    let dir = w.write(&release(
        "web",
        &[cluster_role(&role), config_map("a", "1")],
    ));
    w.opm(&["mod", "apply", &dir, "-n", &home, "-o", "json"])
        .await
        .ok();
    w.api
        .delete(&api::object(&format!("Namespace/{home}"), ""))
        .await;
    w.until("the namespace is gone", || async {
        !w.exists(&format!("Namespace/{home}")).await
    })
    .await;
    let delete = ["mod", "delete", "web", "-n", &home, "--yes", "-o", "json"];
    let ran = w.opm(&delete).await.ok().says("is gone");
    ran.did("deleted", &format!("ClusterRole/{role}"));
    assert!(!w.exists(&format!("ClusterRole/{role}")).await);
    w.opm(&delete).await.ends(5);
}

async fn a_shared_namespace_goes_with_the_last_release(w: World) {
    let common = w.name("common");
    let spelled = format!("Namespace/{common}");
    let with = |name: &str| {
        let inside = in_namespace(config_map(name, "1"), &common);
        release(name, &[shared(namespace(&common)), inside])
    };
    w.apply(&with("a"), &[]).await.ok();
    w.apply(&with("b"), &[]).await.ok();
    w.delete("a", &["--prune-namespaces"]).await.ok();
    let left = w.get(&spelled).await.unwrap();
    assert!(left["metadata"]["deletionTimestamp"].is_null());
    assert!(!w.exists(&format!("{common}:ConfigMap/a")).await);
    assert!(w.exists(&format!("{common}:ConfigMap/b")).await);
    // Without its flag the last one keeps it, and what carries its label is found again.
    w.delete("b", &[]).await.ok().did("kept", &spelled);
    assert_eq!(sharing(&w.get(&spelled).await.unwrap()), set(["b"]));
    w.apply(&with("b"), &[]).await.ok();
    w.delete("b", &["--prune-namespaces"]).await.ok();
    assert!(w.gone(&spelled).await);
}
