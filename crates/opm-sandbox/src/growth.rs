//! How costs grow. Everything is done once with little and once with ten times as much, and what
//! is compared is counted steps (see `work`), not time.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::apply::schema::Builtin;
use crate::kinds::find_builtin;
use crate::sandbox::Sandbox;
use crate::wire::call::Call;
use crate::wire::reply::Payload;
use crate::{life, verbs, work};

fn send(sandbox: &Sandbox, method: &str, uri: &str, body: Option<&Value>) -> Value {
    let media = if method == "PATCH" {
        "application/apply-patch+yaml"
    } else {
        "application/json"
    };
    let request = http::Request::builder()
        .method(method)
        .uri(uri)
        .header("Content-Type", media)
        .body(())
        .unwrap();
    let body = body.map(|b| Bytes::from(b.to_string())).unwrap_or_default();
    let call = Call::new(&request.into_parts().0, body);
    match verbs::handle(sandbox, &call) {
        Ok(reply) => match reply.payload {
            Payload::Json(value) => value,
            _ => Value::Null,
        },
        Err(error) => panic!("{method} {uri}: {error:?}"),
    }
}

/// Everything that falls due in the next seconds happens now.
fn later(sandbox: &Sandbox) {
    let then = Timestamp::now() + SignedDuration::from_secs(5);
    life::catch_up(&sandbox.inner, then).unwrap();
}

fn definition(number: usize) -> Value {
    let fields = (0..50).map(|f| (format!("field{f}"), json!({"type": "string"})));
    let fields: serde_json::Map<_, _> = fields.collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.g{number:03}.example.com")},
        "spec": {
            "group": format!("g{number:03}.example.com"), "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing", "singular": "thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema":
                {"openAPIV3Schema": {"type": "object", "properties":
                    {"spec": {"type": "object", "properties": fields}}}}}]
        }
    })
}

fn define(sandbox: &Sandbox, number: usize) {
    let body = definition(number);
    let name = body["metadata"]["name"].as_str().unwrap().to_string();
    let collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let uri = format!("{collection}/{name}?fieldManager=test");
    send(sandbox, "PATCH", &uri, Some(&body));
    later(sandbox);
}

/// The steps of some requests where there are so many definitions, in a process that has just
/// started.
fn among_definitions(count: usize) -> Vec<(&'static str, usize)> {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::open(dir.path()).unwrap();
    (0..count).for_each(|number| define(&sandbox, number));
    drop(sandbox);
    let sandbox = Sandbox::open(dir.path()).unwrap();
    let thing = json!({
        "apiVersion": "g000.example.com/v1", "kind": "Thing", "metadata": {"name": "a"},
        "spec": {"field1": "x"}
    });
    let uri = "/apis/g000.example.com/v1/namespaces/default/things/a?fieldManager=test";
    let get = || send(&sandbox, "GET", "/api/v1/namespaces/default", None);
    vec![
        ("get a namespace", work::of(get).0),
        (
            "apply a custom resource",
            work::of(|| send(&sandbox, "PATCH", uri, Some(&thing))).0,
        ),
        (
            "apply it again",
            work::of(|| send(&sandbox, "PATCH", uri, Some(&thing))).0,
        ),
        ("define one more", work::of(|| define(&sandbox, 999)).0),
        ("get it after that", work::of(get).0),
    ]
}

#[test]
fn a_request_costs_the_same_however_many_definitions_there_are() {
    let few = among_definitions(3);
    let many = among_definitions(30);
    for ((what, few), (_, many)) in few.into_iter().zip(many) {
        // A digit more in a revision here and there.
        assert!(many <= few + few / 50 + 10, "{what}: {few}, then {many}");
    }
}

#[test]
fn discovery_grows_with_what_it_tells_and_no_faster() {
    let steps = |count: usize| {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::open(dir.path()).unwrap();
        (0..count).for_each(|number| define(&sandbox, number));
        let ask = || send(&sandbox, "GET", "/apis", None);
        let (first, answer) = work::of(ask);
        let groups = answer["groups"].as_array().unwrap().len();
        let (again, _) = work::of(ask);
        (first, again, groups)
    };
    let ((few, again_few, groups_few), (many, again_many, groups_many)) = (steps(3), steps(30));
    assert_eq!(groups_many, groups_few + 27);
    assert!(many <= 12 * few, "{few}, then {many}");
    assert!(
        again_many <= again_few + 2,
        "{again_few}, then {again_many}"
    );
}

#[test]
fn a_list_in_pages_costs_as_much_as_its_objects() {
    let steps = |count: usize, query: &str| {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::open(dir.path()).unwrap();
        let collection = "/api/v1/namespaces/default/secrets";
        for number in 0..count {
            let labels = json!({"l": "x"});
            let body = json!({"metadata": {"name": format!("s{number:04}"), "labels": labels}});
            send(&sandbox, "POST", collection, Some(&body));
        }
        let (mut more, mut read) = (String::new(), 0);
        let (steps, ()) = work::of(|| {
            loop {
                let uri = format!("{collection}?limit=5{query}&continue={more}");
                let page = send(&sandbox, "GET", &uri, None);
                read += page["items"].as_array().unwrap().len();
                match page["metadata"]["continue"].as_str() {
                    Some(next) => more = next.to_string(),
                    None => break,
                }
            }
        });
        assert_eq!(read, count);
        steps
    };
    let (few, many) = (steps(30, ""), steps(300, ""));
    assert!(many <= 12 * few, "{few}, then {many}");
}

#[test]
fn a_strategic_merge_of_long_lists_looks_items_up() {
    let deployments = find_builtin("apps", None, "deployments").unwrap();
    assert!(Builtin::get().kind("apps/v1", "Deployment").is_some());
    let object = |from: usize, count: usize| {
        let container = |n: usize| json!({"name": format!("c{n}"), "image": "i"});
        let all: Vec<_> = (from..from + count).map(container).collect();
        json!({"spec": {"template": {"spec": {"containers": all}}}})
    };
    let steps = |count: usize| {
        let (current, patch) = (object(0, count), object(count / 2, count));
        let (steps, merged) = work::of(|| verbs::strategic_merge(deployments, &current, &patch));
        let merged = merged["spec"]["template"]["spec"]["containers"].clone();
        assert_eq!(merged.as_array().unwrap().len(), count + count / 2);
        steps
    };
    let (few, many) = (steps(100), steps(1000));
    assert!(many <= 20 * few, "{few}, then {many}");
}
