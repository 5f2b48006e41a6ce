//! What can be known about hooks before the first write is told before the first write.

use opm_e2e::objects::{annotated, config_map, custom, custom_kind, job, unacceptable};
use opm_e2e::{Module, Rights, World, scenarios};
use serde_json::Value;

scenarios! {
    a_preflight_tries_hooks_too,
    a_preflight_leaves_out_hooks_whose_kind_comes_along,
    the_least_rules_name_hooks,
    #[real_only("does not apply to the sandbox, which has no access control")]
    a_hook_that_may_not_be_made_is_found_beforehand,
    #[real_only("does not apply to the sandbox, which has no access control")]
    a_hook_that_may_not_be_removed_is_found_beforehand,
    #[real_only("does not apply to the sandbox, which has no access control")]
    the_least_rules_are_enough_for_hooks,
}

fn hook(object: Value, events: &str) -> Value {
    annotated(object, "helm.sh/hook", events)
}

fn goes(object: Value) -> Value {
    annotated(object, "helm.sh/hook-delete-policy", "hook-succeeded")
}

/// A chart with one object and these hooks.
fn shop(value: &str, hooks: &[Value]) -> Module {
    let templates = [&[config_map("web", value)], hooks].concat();
    Module::new("shop").chart("app", &templates)
}

async fn nothing_is_there(w: &World) {
    assert!(w.gone("ConfigMap/web").await);
    assert!(w.find_record("shop").await.is_none());
}

async fn a_preflight_tries_hooks_too(w: World) {
    let Some(w) = w.with_helm() else { return };
    for event in ["pre-install", "post-install"] {
        let module = shop("1", &[hook(unacceptable(job("migrate")), event)]);
        w.apply(&module, &["--preflight"])
            .await
            .ends(2)
            .says("Job/migrate")
            .says("noSuchField");
        nothing_is_there(&w).await;
    }
    let module = shop("1", &[hook(job("migrate"), "pre-install,pre-upgrade")]);
    w.apply(&module, &["--preflight"]).await.ok();
    // The one of the first run is in the place of the next: it is not tried, and replaced.
    let module = shop("2", &[hook(job("migrate"), "pre-install,pre-upgrade")]);
    w.apply(&module, &["--preflight"]).await.ok();
    // Nobody asks about hooks that do not run.
    let broken = hook(unacceptable(job("never")), "post-delete");
    w.apply(&shop("3", &[broken]), &["--preflight"]).await.ok();
    w.delete("shop", &["--no-hooks"]).await.ok();
}

async fn a_preflight_leaves_out_hooks_whose_kind_comes_along(w: World) {
    let Some(w) = w.with_helm() else { return };
    let group = w.group();
    let hook = hook(custom(&group, "Foo", "foo"), "post-install");
    let templates = [custom_kind(&group, "Foo"), hook];
    let module = Module::new("shop").chart("app", &templates);
    w.apply(&module, &["--preflight"])
        .await
        .ok()
        .did("created", "Foo/foo");
    w.delete("shop", &["--prune-crds"]).await.ok();
}

async fn the_least_rules_name_hooks(w: World) {
    let Some(w) = w.with_helm() else { return };
    let hooks = [
        hook(job("before"), "pre-upgrade"),
        hook(job("goodbye"), "pre-delete"),
        hook(job("works"), "test"),
    ];
    let dir = w.write(&shop("1", &hooks));
    for (work, named, verbs) in [
        ("apply", "before", "create,delete,get,patch"),
        ("delete", "goodbye", "create,delete,get,patch"),
        ("delete", "before", "delete,get"),
        ("status", "", ""),
    ] {
        let words = ["mod", "rbac", &dir, "--for", work, "-o", "json"];
        let printed = w.opm(&words).await.ok().json();
        let rules = printed["objects"][0]["rules"].as_array().unwrap().clone();
        let jobs = rules.iter().filter(|rule| rule["resources"][0] == "jobs");
        let found = jobs.clone().find(|rule| {
            let names = rule["resourceNames"].as_array().unwrap();
            names.iter().any(|name| name == named)
        });
        let verbs_of = |rule: &Value| {
            let verbs = rule["verbs"].as_array().unwrap().iter();
            verbs
                .map(|verb| verb.as_str().unwrap())
                .collect::<Vec<_>>()
                .join(",")
        };
        let found = found.map(verbs_of).unwrap_or_default();
        assert_eq!(found, verbs, "{work} {named}: {rules:?}");
        assert_eq!(jobs.count() == 0, work == "status");
    }
}

/// Whoever may write ConfigMaps and records, and this of Jobs.
fn with_jobs(verbs: &[&str]) -> Rights {
    let all = [
        "create", "delete", "get", "list", "patch", "update", "watch",
    ];
    let rights = Rights::none()
        .allow("", &["configmaps", "secrets"], &all)
        .allow_everywhere("", &["namespaces"], &["get"]);
    match verbs.is_empty() {
        true => rights,
        false => rights.allow("batch", &["jobs"], verbs),
    }
}

async fn a_hook_that_may_not_be_made_is_found_beforehand(w: World) {
    let Some(w) = w.with_helm() else { return };
    let dir = w.write(&shop("1", &[hook(job("migrate"), "post-install")]));
    let user = w.user(&with_jobs(&["get"])).await;
    let words = ["mod", "apply", &dir, "-n", &w.ns];
    w.opm_as(user.kubeconfig(), &words)
        .await
        .ends(4)
        .says("create jobs.batch")
        .says("Job/migrate");
    nothing_is_there(&w).await;
    let without = [&words[..], &["--no-hooks"]].concat();
    w.opm_as(user.kubeconfig(), &without).await.ok();
}

async fn a_hook_that_may_not_be_removed_is_found_beforehand(w: World) {
    let Some(w) = w.with_helm() else { return };
    let user = w.user(&with_jobs(&["create", "get", "patch"])).await;
    let words = ["-n", &w.ns];
    let apply = |dir: &str| {
        let user = user.kubeconfig().to_owned();
        let words = [&["mod", "apply", dir], &words[..]].concat();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let w = &w;
        async move {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            w.opm_as(&user, &words).await
        }
    };
    let dir = w.write(&shop("1", &[goes(hook(job("migrate"), "post-install"))]));
    apply(&dir).await.ends(4).says("delete jobs.batch");
    nothing_is_there(&w).await;
    // One that stays need not be removed, until the next one takes its place.
    let stays = |value: &str| {
        let hook = hook(job("migrate"), "post-install,post-upgrade");
        w.write(&shop(value, &[hook]))
    };
    apply(&stays("1")).await.ok();
    apply(&stays("2")).await.ends(4).says("delete jobs.batch");
    assert_eq!(w.get("ConfigMap/web").await.unwrap()["data"]["k"], "1");
}

async fn the_least_rules_are_enough_for_hooks(w: World) {
    let Some(w) = w.with_helm() else { return };
    let hooks = [
        goes(hook(job("before"), "pre-install")),
        hook(job("after"), "post-install"),
        hook(job("goodbye"), "pre-delete"),
    ];
    let dir = w.write(&shop("1", &hooks));
    for (work, command) in [
        ("apply", &["mod", "apply", &dir][..]),
        ("delete", &["mod", "delete", &dir, "--yes"]),
    ] {
        let words = [
            "mod", "rbac", &dir, "--for", work, "-n", &w.ns, "-o", "json",
        ];
        let printed = w.opm(&words).await.ok().json();
        let roles = printed["objects"].as_array().unwrap();
        let rules = roles.iter().flat_map(|role| {
            let rules = role["rules"].as_array().unwrap();
            rules
                .iter()
                .map(|rule| (role["kind"] == "ClusterRole", rule.clone()))
        });
        let rules: Vec<(bool, Value)> = rules.collect();
        let user = w.user(&crate::least_rights::rights(&rules)).await;
        let command = [command, &["-n", &w.ns]].concat();
        w.opm_as(user.kubeconfig(), &command).await.ok();
    }
    assert_eq!(w.settled_live("shop").await, Vec::<String>::new());
}
