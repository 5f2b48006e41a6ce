//! Random sequences of applies, updates and patches by several managers, on both servers: after
//! each the answers must agree, managedFields included. Tables find what one thinks of.

use proptest::prelude::{Strategy, any};
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use crate::check;
use crate::request::Step;
use crate::side::Side;

const SEQUENCES: usize = 40;
const LENGTH: usize = 12;

fn entries(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let value = select(vec!["1", "2"]);
    proptest::collection::btree_map(select(keys.to_vec()), value, 0..=3).prop_map(|map| json!(map))
}

fn container() -> impl Strategy<Value = Value> {
    let env =
        proptest::collection::btree_map(select(vec!["A", "B", "C"]), select(vec!["1", "2"]), 0..3);
    let ports = proptest::collection::btree_set(
        (
            select(vec![80, 81]),
            select(vec![None, Some("TCP"), Some("UDP")]),
        ),
        0..3,
    );
    let parts = (
        select(vec!["c", "d", "e"]),
        select(vec!["i:1", "i:2"]),
        env,
        ports,
        any::<(bool, bool)>(),
    );
    parts.prop_map(|(name, image, env, ports, (args, limits))| {
        let mut out = json!({"name": name, "image": image});
        if !env.is_empty() {
            let all: Vec<_> = env
                .iter()
                .rev()
                .map(|(k, v)| json!({"name": k, "value": v}))
                .collect();
            out["env"] = json!(all);
        }
        if !ports.is_empty() {
            let mut seen = std::collections::BTreeSet::new();
            let all: Vec<_> = ports
                .iter()
                .filter(|(n, p)| seen.insert((*n, p.unwrap_or("TCP"))))
                .map(|(n, p)| match p {
                    Some(p) => json!({"containerPort": n, "protocol": p}),
                    None => json!({"containerPort": n}),
                })
                .collect();
            out["ports"] = json!(all);
        }
        if args {
            out["args"] = json!(["x", "y"]);
        }
        if limits {
            out["resources"] = json!({"limits": {"cpu": "1000m"}});
        }
        out
    })
}

fn containers() -> impl Strategy<Value = Value> {
    proptest::collection::vec(container(), 1..4).prop_map(|all| {
        let mut seen = std::collections::BTreeSet::new();
        let all: Vec<_> = all
            .into_iter()
            .filter(|c| seen.insert(c["name"].to_string()))
            .collect();
        json!(all)
    })
}

/// The part of a pod template that one manager cares about. No controller touches PodTemplates.
fn pod_template() -> impl Strategy<Value = Value> {
    let parts = (
        entries(&["a", "b", "c"]),
        entries(&["x", "y"]),
        containers(),
        select(vec![None, Some(10), Some(30)]),
        any::<(bool, bool)>(),
    );
    parts.prop_map(
        |(labels, annotations, containers, grace, (selects, host))| {
            let mut pod = json!({"containers": containers});
            if let Some(grace) = grace {
                pod["terminationGracePeriodSeconds"] = json!(grace);
            }
            if host {
                pod["hostNetwork"] = json!(false);
            }
            if selects {
                pod["nodeSelector"] = annotations.clone();
            }
            json!({
                "metadata": {"labels": labels, "annotations": annotations},
                "template": {"metadata": {"labels": labels}, "spec": pod}
            })
        },
    )
}

fn config_map() -> impl Strategy<Value = Value> {
    let parts = (
        entries(&["x", "y", "z"]),
        entries(&["a", "b"]),
        proptest::collection::vec(select(vec!["e.com/a", "e.com/b", "e.com/c"]), 0..3),
        any::<bool>(),
    );
    parts.prop_map(|(data, labels, mut finalizers, whole)| {
        let mut seen = std::collections::BTreeSet::new();
        finalizers.retain(|f| seen.insert(*f));
        let mut out = Map::new();
        if whole {
            out.insert("data".into(), data);
        }
        out.insert(
            "metadata".into(),
            json!({"labels": labels, "finalizers": finalizers}),
        );
        Value::Object(out)
    })
}

fn step(resource: &'static str, body: Value, how: (usize, usize, bool)) -> Step {
    let (verb, manager, force) = how;
    let manager = ["one", "two", "three"][manager];
    let forced = if force { "&force=true" } else { "" };
    let run = match verb {
        0..=5 => format!("APPLY {resource} a?fieldManager={manager}{forced}"),
        6 => format!("PUT {resource} a?fieldManager={manager}"),
        _ => format!("MERGE {resource} a?fieldManager={manager}"),
    };
    Step {
        run,
        body: Some(body),
        ..Step::default()
    }
}

fn sequence(resource: &'static str, runner: &mut TestRunner) -> Vec<Step> {
    let how = (0usize..8, 0usize..3, any::<bool>());
    let body = match resource {
        "pt" => pod_template().boxed(),
        _ => config_map().boxed(),
    };
    let steps = proptest::collection::vec((body, how), LENGTH);
    let steps = steps.new_tree(runner).unwrap().current();
    steps
        .into_iter()
        .map(|(body, how)| step(resource, body, how))
        .collect()
}

/// The same sequences every time; `OPM_CONFORMANCE_SEED` tries others.
fn runner() -> TestRunner {
    let seed: u8 = std::env::var("OPM_CONFORMANCE_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(7);
    TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn random_writes_leave_the_same_objects_and_owners() {
    let Some(plane) = opm_testkit::ControlPlane::for_test().await else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut runner = runner();
    for number in 0..SEQUENCES {
        let resource = if number % 2 == 0 { "pt" } else { "cm" };
        let steps = sequence(resource, &mut runner);
        let mut real = Side::real(plane).await;
        let mut sandbox = Side::sandbox(dir.path()).await;
        let mut so_far = Vec::new();
        for step in &steps {
            so_far.push(format!("{} {}", step.run, step.body.as_ref().unwrap()));
            let differences = check(&mut real, &mut sandbox, step).await;
            assert!(
                differences.is_empty(),
                "sequence {number}:\n{}\n\n{}",
                so_far.join("\n"),
                differences.join("\n")
            );
        }
        real.clean_up().await;
        sandbox.clean_up().await;
    }
}
