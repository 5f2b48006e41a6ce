//! `opm mod diff`: what an apply would do, object by object and field by field, writing nothing.

use opm_e2e::objects::{
    config_map, custom, custom_kind, deployment, in_namespace, namespace, service, stateful_set,
    unacceptable, volume_claim,
};
use opm_e2e::{Module, World, scenarios};
use serde_json::{Value, json};

scenarios! {
    differences_are_told_field_by_field_and_nothing_is_written,
    what_the_server_makes_of_it_is_no_difference,
    what_does_not_exist_yet_is_new,
    every_refusal_is_named_and_the_rest_is_shown,
    recreations_are_foreseen,
    a_failed_dry_run_is_a_failure_of_that_object,
    kept_and_transferred_objects_are_told,
    people_see_signs_and_a_summary,
}

pub(crate) fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

/// What there is, in every byte that may change.
async fn everything(w: &World) -> Vec<Value> {
    let mut all = Vec::new();
    for kind in [
        "ConfigMap",
        "Secret",
        "Service",
        "Deployment",
        "StatefulSet",
    ] {
        let path = opm_e2e::api::collection(kind, Some(&w.ns));
        let list = w.api.get(&path).await.unwrap();
        all.extend(list["items"].as_array().unwrap().clone());
    }
    // Controllers write statuses when they like.
    for object in &mut all {
        if !object["status"].is_null() {
            object["status"] = Value::Null;
            object["metadata"]["resourceVersion"] = Value::Null;
            object["metadata"]["managedFields"] = Value::Null;
            object["metadata"]["annotations"] = Value::Null;
        }
    }
    all
}

async fn differences_are_told_field_by_field_and_nothing_is_written(w: World) {
    let first = web(&[
        config_map("a", "1"),
        config_map("b", "1"),
        config_map("c", "1"),
        deployment("web"),
    ]);
    let before = w.diff(&first, &["--exit-code"]).await.ends(6);
    assert_eq!(before.action("Deployment/web").as_deref(), Some("created"));
    assert!(
        w.find_record("web").await.is_none(),
        "not even a record was made"
    );
    w.apply(&first, &[]).await.ok();
    let same = w.diff(&first, &["--exit-code"]).await.ok();
    assert_eq!(same.json()["differences"], false, "{same}");

    let mut scaled = deployment("web");
    scaled["spec"]["replicas"] = json!(3);
    scaled["spec"]["template"]["spec"]["containers"][0]["image"] = json!("example.com/main:2");
    let second = web(&[
        config_map("a", "2"),
        config_map("b", "1"),
        config_map("d", "1"),
        scaled,
    ]);
    let was = everything(&w).await;
    let diff = w.diff(&second, &["--exit-code"]).await.ends(6);
    assert_eq!(everything(&w).await, was, "nothing was written");

    for (object, action) in [
        ("ConfigMap/a", "configured"),
        ("ConfigMap/b", "unchanged"),
        ("ConfigMap/c", "pruned"),
        ("ConfigMap/d", "created"),
        ("Deployment/web", "configured"),
    ] {
        assert_eq!(
            diff.action(object).as_deref(),
            Some(action),
            "{object}: {diff}"
        );
    }
    assert_eq!(
        diff.changes("ConfigMap/a"),
        [("data.k".to_owned(), json!("1"), json!("2"))]
    );
    assert_eq!(
        diff.changes("Deployment/web"),
        [
            ("spec.replicas".to_owned(), json!(1), json!(3)),
            (
                "spec.template.spec.containers[name=\"main\"].image".to_owned(),
                json!("example.com/main:1"),
                json!("example.com/main:2")
            ),
        ]
    );
    // Without the flag, differences are no failure.
    w.diff(&second, &[]).await.ok();
    let document = diff.json();
    let applied = w.apply(&second, &[]).await.ok().json();
    assert_eq!(document["changeId"], applied["changeId"]);
    assert_eq!(document["release"], applied["release"]);
}

async fn what_the_server_makes_of_it_is_no_difference(w: World) {
    let with = |cpu: &str, memory: &str| {
        let mut object = deployment("web");
        object["spec"]["template"]["spec"]["containers"][0]["resources"] =
            json!({"requests": {"cpu": cpu, "memory": memory}});
        web(&[object, service("web"), volume_claim("data")])
    };
    w.apply(&with("1000m", "1024Mi"), &[]).await.ok();
    w.diff(&with("1000m", "1024Mi"), &["--exit-code"])
        .await
        .ok();
    let other = w.diff(&with("1", "1Gi"), &["--exit-code"]).await;
    assert_eq!(other.changes("Deployment/web"), [], "{other}");
    let more = w
        .diff(&with("1500m", "1Gi"), &["--exit-code"])
        .await
        .ends(6);
    let [(path, before, after)] = &more.changes("Deployment/web")[..] else {
        panic!("one change: {more}")
    };
    assert!(path.ends_with("resources.requests.cpu"), "{path}");
    assert_eq!((before, after), (&json!("1"), &json!("1500m")));
}

async fn what_does_not_exist_yet_is_new(w: World) {
    let (group, elsewhere) = (w.group(), w.name("later"));
    let module = web(&[
        custom_kind(&group, "Widget"),
        custom(&group, "Widget", "first"),
        namespace(&elsewhere),
        in_namespace(config_map("there", "1"), &elsewhere),
    ]);
    let diff = w.diff(&module, &["--exit-code"]).await.ends(6);
    for object in ["Widget/first", "ConfigMap/there"] {
        assert_eq!(diff.action(object).as_deref(), Some("created"), "{diff}");
    }
    // A namespace that nothing brings along is refused by an apply; the rest is shown.
    let nowhere = w.name("nowhere");
    let module = web(&[
        config_map("here", "1"),
        in_namespace(config_map("there", "1"), &nowhere),
    ]);
    let diff = w.diff(&module, &[]).await.ends(2).says(&nowhere);
    for object in ["ConfigMap/here", "ConfigMap/there"] {
        assert_eq!(diff.action(object).as_deref(), Some("created"), "{diff}");
    }
    assert_eq!(diff.json()["error"]["kind"], "refused");
}

async fn every_refusal_is_named_and_the_rest_is_shown(w: World) {
    w.apply(
        &web(&[config_map("mine", "1"), config_map("old", "1")]),
        &[],
    )
    .await
    .ok();
    w.api.create(&w.ns, &config_map("theirs", "1")).await;
    w.apply(
        &Module::new("other").component("app", &[config_map("others", "1")]),
        &[],
    )
    .await
    .ok();
    w.terminating(&config_map("going", "1")).await;
    let module = web(&[
        config_map("mine", "2"),
        config_map("theirs", "2"),
        config_map("others", "2"),
        config_map("going", "2"),
        config_map("new", "2"),
    ]);
    let diff = w.diff(&module, &["--exit-code"]).await.ends(2);
    for (object, action) in [
        ("ConfigMap/mine", "configured"),
        ("ConfigMap/theirs", "refused"),
        ("ConfigMap/others", "refused"),
        ("ConfigMap/going", "refused"),
        ("ConfigMap/new", "created"),
        ("ConfigMap/old", "pruned"),
    ] {
        assert_eq!(
            diff.action(object).as_deref(),
            Some(action),
            "{object}: {diff}"
        );
    }
    let error = &diff.json()["error"];
    assert_eq!(error["objects"].as_array().unwrap().len(), 3, "{diff}");
    // What an apply refuses with is the same.
    let applied = w.apply(&module, &[]).await.ends(2).json();
    assert_eq!(error["message"], applied["error"]["message"]);
    // The flags that help an apply help here.
    let diff = w
        .diff(
            &module,
            &[
                "--adopt",
                "--take-ownership",
                "--wait-for-deletion",
                "--force-conflicts",
            ],
        )
        .await
        .ok();
    for (object, action) in [
        ("ConfigMap/theirs", "adopted"),
        ("ConfigMap/others", "adopted"),
        ("ConfigMap/going", "created"),
    ] {
        assert_eq!(
            diff.action(object).as_deref(),
            Some(action),
            "{object}: {diff}"
        );
    }
    w.let_go("ConfigMap/going").await;
}

async fn recreations_are_foreseen(w: World) {
    let with = |label: &str| {
        let mut object = deployment("web");
        object["spec"]["selector"]["matchLabels"] = json!({"app": label});
        object["spec"]["template"]["metadata"]["labels"] = json!({"app": label});
        let mut set = stateful_set("db");
        set["spec"]["serviceName"] = json!(label);
        web(&[object, set, config_map("beside", label)])
    };
    w.apply(&with("one"), &[]).await.ok();
    let diff = w.diff(&with("two"), &[]).await.ends(2);
    let refused = diff.resource("Deployment/web").unwrap();
    assert_eq!(refused["action"], "refused");
    let reason = refused["reason"].as_str().unwrap();
    let hints = diff.json()["error"]["hints"].to_string();
    assert!(
        reason.contains("spec.selector") && hints.contains("--recreate"),
        "{diff}"
    );
    assert!(
        diff.changes("Deployment/web")
            .iter()
            .any(
                |(path, before, after)| path == "spec.selector.matchLabels.app"
                    && (before, after) == (&json!("one"), &json!("two"))
            ),
        "{diff}"
    );
    assert_eq!(
        diff.action("ConfigMap/beside").as_deref(),
        Some("configured")
    );

    let uid = w.uid("Deployment/web").await;
    let diff = w
        .diff(&with("two"), &["--recreate", "--exit-code"])
        .await
        .ends(6);
    assert_eq!(w.uid("Deployment/web").await, uid, "nothing was recreated");
    for object in ["Deployment/web", "StatefulSet/db"] {
        assert_eq!(diff.action(object).as_deref(), Some("recreated"), "{diff}");
    }
    let applied = w.apply(&with("two"), &["--recreate"]).await.ok();
    for object in ["Deployment/web", "StatefulSet/db"] {
        assert_eq!(
            applied.action(object).as_deref(),
            Some("recreated"),
            "{applied}"
        );
    }
    w.diff(&with("two"), &["--exit-code"]).await.ok();
}

async fn a_failed_dry_run_is_a_failure_of_that_object(w: World) {
    w.apply(&web(&[service("web"), config_map("a", "1")]), &[])
        .await
        .ok();
    let module = web(&[
        unacceptable(service("web")),
        config_map("a", "2"),
        config_map("b", "1"),
    ]);
    let diff = w.diff(&module, &["--exit-code"]).await.ends(1);
    for (object, action) in [
        ("Service/web", "failed"),
        ("ConfigMap/a", "configured"),
        ("ConfigMap/b", "created"),
    ] {
        assert_eq!(
            diff.action(object).as_deref(),
            Some(action),
            "{object}: {diff}"
        );
    }
    // The dry run of apply is the same path.
    let dry = w.apply(&module, &["--dry-run"]).await.ends(1);
    assert_eq!(dry.action("Service/web").as_deref(), Some("failed"));
    assert_eq!(dry.json()["dryRun"], true);
}

async fn kept_and_transferred_objects_are_told(w: World) {
    w.apply(
        &web(&[
            volume_claim("data"),
            config_map("a", "1"),
            config_map("b", "1"),
        ]),
        &[],
    )
    .await
    .ok();
    // Somebody hands an object over to another release, by its labels.
    let path = opm_e2e::api::object("ConfigMap/b", &w.ns);
    let other = "11111111-2222-5333-8444-555555555555";
    let labels = json!({"metadata": {"labels": {"module-release.opmodel.dev/uuid": other,
        "module-release.opmodel.dev/name": "heir"}}});
    w.api.merge(&path, labels).await;
    let module = web(&[config_map("a", "1")]);
    let diff = w.diff(&module, &["--exit-code"]).await.ends(6);
    let document = diff.json();
    assert_eq!(
        diff.action("PersistentVolumeClaim/data").as_deref(),
        Some("kept")
    );
    assert_eq!(document["kept"][0]["name"], "data");
    assert_eq!(document["kept"][0]["why"], "guard");
    assert_eq!(document["transferred"][0]["name"], "b");
    assert_eq!(document["transferred"][0]["to"]["name"], "heir");
    let applied = w.apply(&module, &[]).await.ok().json();
    let identities = |kept: &Value| {
        let kept = kept.as_array().unwrap().iter();
        kept.map(|k| (k["kind"].clone(), k["name"].clone(), k["why"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(identities(&document["kept"]), identities(&applied["kept"]));
    // What was kept then is no difference now, and still told.
    let again = w.diff(&module, &["--exit-code"]).await.ok();
    assert_eq!(again.json()["kept"][0]["name"], "data");
    let gone = w.diff(&web(&[]), &[]).await.ends(2);
    gone.says("--allow-empty");
    w.diff(&web(&[]), &["--allow-empty"]).await.ok();
}

async fn people_see_signs_and_a_summary(w: World) {
    let long = "first line\nsecond line\nthird line\n";
    w.apply(&web(&[config_map("a", long), config_map("b", "1")]), &[])
        .await
        .ok();
    let dir = w.write(&web(&[
        config_map("a", &long.replace("second", "another")),
        config_map("c", "1"),
    ]));
    let ran = w.opm(&["mod", "diff", &dir, "--color", "never"]).await.ok();
    let expected = format!(
        "~ ConfigMap/a in namespace {ns} configured\n    \
             ~ data.k:\n    \
             \u{20}   first line\n    \
             -   second line\n    \
             +   another line\n    \
             \u{20}   third line\n\
         + ConfigMap/c in namespace {ns} created\n    \
             + data:\n    \
             +   k: \"1\"\n\
         - ConfigMap/b in namespace {ns} pruned\n\n\
         web in namespace {ns}: if applied, 1 created, 1 configured, 1 pruned\n",
        ns = w.ns
    );
    assert_eq!(ran.stdout(), expected);
    let coloured = w
        .opm(&["mod", "diff", &dir, "--color", "always"])
        .await
        .ok();
    assert!(
        coloured.stdout().contains("\u{1b}[32m+ ConfigMap/c"),
        "{coloured}"
    );
}
