//! The rules that `opm mod rbac` prints: with exactly these the work is done, and without any one
//! of them it is not, and that rule is named. Only what a change's manifests are kept in may be
//! missing: then they are not kept, and that is said.

use futures::StreamExt as _;
use opm_e2e::objects::{cluster_role, config_map, deployment, service};
use opm_e2e::{Module, OpmOutput, Rights, World, note, scenarios};
use serde_json::{Value, json};

scenarios! {
    #[real_only("does not apply to the sandbox, which has no access control")]
    the_least_rules_are_enough,
    #[real_only("does not apply to the sandbox, which has no access control")]
    each_of_the_least_rules_is_needed_and_named,
}

/// How many users are tried at the same time, each with a release of its own.
const AT_ONCE: usize = 4;

/// A module of several kinds, some of which hand out rights themselves.
fn module(w: &World, release: &str, with_service: bool) -> Module {
    let named = |stem: &str| format!("{release}-{stem}");
    let rbac = "rbac.authorization.k8s.io";
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]);
    let role = json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role",
        "metadata": {"name": named("reader")}, "rules": rules});
    let binding = json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": {"name": named("reads")},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": named("reader")},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "nobody"}]});
    let mut objects = vec![
        config_map(&named("a"), "1"),
        config_map(&named("b"), "1"),
        deployment(&named("web")),
        role,
        binding,
        cluster_role(&format!("{}-{release}", w.ns)),
    ];
    if with_service {
        objects.push(service(&named("web")));
    }
    Module::new(release).component("app", &objects)
}

/// The rules for some work, each with whether it is about the whole cluster.
async fn rules(w: &World, dir: &str, work: &str) -> Vec<(bool, Value)> {
    let words = ["mod", "rbac", dir, "--for", work, "-n", &w.ns, "-o", "json"];
    let printed = w.opm(&words).await.ok().json();
    let roles = printed["objects"].as_array().unwrap().iter();
    let rules = roles.flat_map(|role| {
        let everywhere = role["kind"] == "ClusterRole";
        let rules = role["rules"].as_array().unwrap().clone();
        rules.into_iter().map(move |rule| (everywhere, rule))
    });
    rules.collect()
}

pub(crate) fn rights<'a>(rules: impl IntoIterator<Item = &'a (bool, Value)>) -> Rights {
    let texts = |value: &'a Value| -> Vec<&'a str> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(Value::as_str).collect()
    };
    rules
        .into_iter()
        .fold(Rights::none(), |rights, (everywhere, rule)| {
            let group = rule["apiGroups"][0].as_str().unwrap();
            let [resources, names, verbs] =
                ["resources", "resourceNames", "verbs"].map(|key| texts(&rule[key]));
            match everywhere {
                true => rights.allow_everywhere_named(group, &resources, &names, &verbs),
                false => rights.allow_named(group, &resources, &names, &verbs),
            }
        })
}

/// Runs a command as somebody with these rules.
async fn run(w: &World, rules: &[(bool, Value)], words: &[&str]) -> OpmOutput {
    let user = w.user(&rights(rules)).await;
    let words = [words, &["-n", &w.ns]].concat();
    w.opm_as(user.kubeconfig(), &words).await
}

async fn the_least_rules_are_enough(w: World) {
    let dir = w.write(&module(&w, "enough", true));
    let to_apply = rules(&w, &dir, "apply").await;
    run(&w, &to_apply, &["mod", "apply", &dir]).await.ok();
    run(&w, &to_apply, &["mod", "apply", &dir]).await.ok();
    let to_see = rules(&w, &dir, "status").await;
    run(&w, &to_see, &["mod", "status", &dir]).await.ok();
    // What a later version leaves out is pruned with the rules of the one before.
    let dir = w.write(&module(&w, "enough", false));
    run(&w, &to_apply, &["mod", "apply", &dir])
        .await
        .ok()
        .says("pruned");
    let to_delete = rules(&w, &dir, "delete").await;
    run(&w, &to_delete, &["mod", "delete", &dir, "--yes"])
        .await
        .ok();
    assert!(w.find_record("enough").await.is_none());
}

async fn each_of_the_least_rules_is_needed_and_named(w: World) {
    let count = rules(&w, &w.write(&module(&w, "count", true)), "apply")
        .await
        .len();
    assert!(count > 6, "a rule for each resource");
    let tries = (0..count).map(|without| {
        let w = &w;
        async move {
            let release = format!("without{without}");
            let dir = w.write(&module(w, &release, true));
            let mut left = rules(w, &dir, "apply").await;
            let (_, removed) = left.remove(without);
            let ran = run(w, &left, &["mod", "apply", &dir]).await;
            let resource = format!("resources: [{}]", removed["resources"][0]);
            let told = ran.to_string();
            // What only keeps a change's manifests is no reason to stop.
            let is_kept_for_later = removed["resourceNames"][0]
                .as_str()
                .is_some_and(|name| name.ends_with(".00"));
            let lost = "warning: the manifests of this change could not be kept: secrets";
            let is_told = match is_kept_for_later {
                true => told.contains(lost),
                false => ran.code() != 0 && told.contains(&resource),
            };
            match is_told {
                true => None,
                false => Some(format!("without {removed}: {ran}")),
            }
        }
    });
    let unnoticed: Vec<String> = futures::stream::iter(tries)
        .buffer_unordered(AT_ONCE)
        .filter_map(|missed| async { missed })
        .collect()
        .await;
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
    note(&format!("rbac: {count} rules, each of them needed"));
}
