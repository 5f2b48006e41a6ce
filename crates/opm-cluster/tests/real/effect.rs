//! What `opm` calls unchanged, the server calls so too: generated objects, edits of others and edits
//! of what is sent, each decision held against a dry run of the real server.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use opm_core::digest::ObjectHash;
use opm_core::drift::{AppliedNote, ApplyEffect, ObjectToApply};
use opm_core::ids::ReleaseId;
use opm_core::labels::FIELD_MANAGER;
use opm_engine::ports::Cluster as _;
use opm_testkit::Writes;
use serde_json::{Value, json};

use crate::effect_objects::{Dice, definition, edited, foreign, templates};
use crate::{Object, Setup, on_a_server};

/// How many cases an ordinary run tries, and a full one.
const CASES: (usize, usize) = (150, 2_400);

/// How many at a time.
const AT_ONCE: usize = 8;

fn release() -> ReleaseId {
    "0b5a0c1e-1111-5222-8333-444455556666"
        .parse()
        .expect("an id")
}

/// What one case came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Case {
    Unchanged,
    Changed,
    /// In doubt, and the server would have changed it.
    Doubt,
    /// Sent although the server would not have changed it.
    NeedlessDoubt,
    /// The server does not take it, so there is nothing to hold it against.
    Refused,
}

struct Server<'a> {
    setup: &'a Setup,
    schemas: &'a BTreeMap<String, String>,
}

impl Server<'_> {
    fn api(&self, object: &Value, plural: &str) -> Api<DynamicObject> {
        let api_version = object["apiVersion"].as_str().expect("a version").to_owned();
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: object["kind"].as_str().expect("a kind").to_owned(),
            plural: plural.to_owned(),
            api_version: api_version.clone(),
        };
        Api::namespaced_with(self.setup.namespace.client(), self.setup.ns(), &resource)
    }

    async fn send(&self, object: &Value, plural: &str, dry_run: bool) -> Option<Value> {
        let mut how = PatchParams::apply(FIELD_MANAGER).force();
        how.dry_run = dry_run;
        let name = object["metadata"]["name"].as_str().expect("a name");
        let api = self.api(object, plural);
        let sent = api.patch(name, &how, &Patch::Apply(object)).await;
        Some(serde_json::to_value(sent.ok()?).expect("an object"))
    }

    async fn live(&self, object: &Value, plural: &str) -> Value {
        let name = object["metadata"]["name"].as_str().expect("a name");
        let live = self
            .api(object, plural)
            .get(name)
            .await
            .expect("it is there");
        serde_json::to_value(live).expect("an object")
    }

    fn ask<T>(
        &self,
        desired: &Value,
        note: Option<&AppliedNote>,
        ask: impl FnOnce(ObjectToApply<'_>) -> T,
    ) -> T {
        let desired = map(desired);
        let version = desired["apiVersion"].as_str().expect("a version");
        ask(ObjectToApply {
            desired: &desired,
            sent: &ObjectHash::of(&desired),
            manager: FIELD_MANAGER,
            schema: self.schemas.get(version).map(String::as_str),
            note,
            release: &release(),
        })
    }

    /// Applies something, lets others write, and holds the decision about what comes next against
    /// what the server says of it.
    async fn case(&self, number: usize, seed: u64) -> Case {
        let mut dice = Dice::new(seed, number);
        let templates = templates();
        let (plural, template) = &templates[number % templates.len()];
        let mut first = template.clone();
        first["metadata"]["name"] = json!(format!("case-{number}"));
        first["metadata"]["namespace"] = json!(self.setup.ns());
        let varied = edited(&first, &mut dice, 2);
        let answered = match self.send(&varied, plural, false).await {
            Some(answered) => {
                first = varied;
                answered
            }
            None => self.send(&first, plural, false).await.expect(plural),
        };
        let note = self.ask(&first, None, |one| one.note(&map(&answered)));
        for _ in 0..dice.below(3) {
            let (manager, patch) = foreign(&first, &mut dice);
            let how = PatchParams {
                field_manager: Some(manager.to_owned()),
                ..PatchParams::default()
            };
            let name = format!("case-{number}");
            // What is refused has not happened.
            let _ = self
                .api(&first, plural)
                .patch(&name, &how, &Patch::Merge(&patch))
                .await;
        }
        let edits = dice.below(2) * dice.below(3);
        let next = edited(&first, &mut dice, edits);
        for _ in 0..5 {
            let live = self.live(&first, plural).await;
            let found = self.ask(&next, note.as_ref(), |one| one.effect(&map(&live), true));
            let quick = self.ask(&next, note.as_ref(), |one| one.effect(&map(&live), false));
            let pretended = self.send(&next, plural, true).await;
            let now = self.live(&first, plural).await;
            if now["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"] {
                continue; // A controller was here meanwhile.
            }
            let same = pretended
                .as_ref()
                .is_some_and(|after| comparable(after) == comparable(&live));
            if found == ApplyEffect::Unchanged || quick == ApplyEffect::Unchanged {
                assert!(
                    same,
                    "seed {seed}, case {number}: called unchanged ({found:?}, by its note {quick:?})\n\
                     sent before {first}\nsends {next}\nnote {note:?}\nlive {live}\nafter {pretended:?}"
                );
            }
            return match (found, same, &pretended) {
                (ApplyEffect::Unchanged, _, _) => Case::Unchanged,
                (_, _, None) => Case::Refused,
                (_, true, _) => Case::NeedlessDoubt,
                (ApplyEffect::Doubt(_), false, _) => Case::Doubt,
                (ApplyEffect::Changed(_), false, _) => Case::Changed,
            };
        }
        Case::Refused
    }
}

fn map(value: &Value) -> Object {
    value.as_object().cloned().expect("an object")
}

/// Everything that the server writes down, without when.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    metadata.remove("resourceVersion");
    let entries = metadata
        .get_mut("managedFields")
        .and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        entry.as_object_mut().expect("an entry").remove("time");
    }
    object
}

#[tokio::test]
async fn nothing_is_called_unchanged_that_the_server_would_change() {
    let setup = on_a_server!("effect");
    define(&setup).await;
    let served = setup.client.served().await.expect("what is served");
    let schemas = served.schemas.clone();
    assert!(schemas.contains_key("apps/v1"), "{schemas:?}");
    let server = &Server {
        setup: &setup,
        schemas: &schemas,
    };
    let seed = std::env::var("OPM_TEST_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(20);
    let cases = if opm_testkit::full() {
        CASES.1
    } else {
        CASES.0
    };
    let ran = futures::stream::iter(0..cases).map(|number| server.case(number, seed));
    let ran: Vec<Case> = ran.buffer_unordered(AT_ONCE).collect().await;
    let mut count: BTreeMap<Case, usize> = BTreeMap::new();
    for case in ran {
        *count.entry(case).or_default() += 1;
    }
    eprintln!(
        "measured: OPM_TEST_SEED={seed}, {cases} cases, {} kinds: {count:?}",
        templates().len()
    );
    let of = |case| count.get(&case).copied().unwrap_or_default();
    assert!(
        of(Case::Changed) > 0 && of(Case::Unchanged) > of(Case::NeedlessDoubt),
        "{count:?}"
    );
}

/// Admission changes what is sent on its way in, and stops doing so.
#[tokio::test]
async fn what_a_policy_makes_of_an_object_is_not_called_unchanged() {
    let setup = on_a_server!("effect-policy");
    let served = setup.client.served().await.expect("what is served");
    let schemas = served.schemas.clone();
    let server = Server {
        setup: &setup,
        schemas: &schemas,
    };
    let sent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mutated",
        "namespace": setup.ns(), "labels": {"a": "b"}}, "data": {"k": "v"}});
    let writes = Writes::of("", "configmaps", &["CREATE", "UPDATE"]).named("mutated");
    let mut rule = Some(
        setup
            .namespace
            .mutate(&writes, r#"Object{data: {"k": "other", "more": "x"}}"#)
            .await,
    );
    let answered = server
        .send(&sent, "configmaps", false)
        .await
        .expect("it is taken");
    assert_eq!(answered["data"]["k"], "other", "the policy is in force");
    let note = server.ask(&sent, None, |one| one.note(&map(&answered)));
    for lifted in [false, true] {
        if let Some(rule) = rule.take_if(|_| lifted) {
            setup.namespace.lift(rule).await;
        }
        let live = server.live(&sent, "configmaps").await;
        let found = server.ask(&sent, note.as_ref(), |one| one.effect(&map(&live), true));
        let after = server
            .send(&sent, "configmaps", true)
            .await
            .expect("it is taken");
        let same = comparable(&after) == comparable(&live);
        assert!(
            found != ApplyEffect::Unchanged || same,
            "{found:?}: {live} and {after}"
        );
    }
}

/// The kind with every type of list, in two versions.
async fn define(setup: &Setup) {
    let definition = definition();
    let name = definition["metadata"]["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    let resource = ApiResource {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
        api_version: "apiextensions.k8s.io/v1".to_owned(),
    };
    let api: Api<DynamicObject> = Api::all_with(setup.namespace.client(), &resource);
    let how = PatchParams::apply("effect-test").force();
    api.patch(&name, &how, &Patch::Apply(&definition))
        .await
        .expect("it is taken");
    let widgets = templates().pop().expect("a template");
    let server = Server {
        setup,
        schemas: &BTreeMap::new(),
    };
    opm_testkit::until("the kind is served", async || {
        let mut widget = widgets.1.clone();
        widget["metadata"]["name"] = json!("first");
        server.send(&widget, widgets.0, true).await.is_some()
    })
    .await;
}
