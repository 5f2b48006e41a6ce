//! What `diff` shows is what `apply` then does, for edits that nobody thought of: a seeded
//! generator changes a release over many kinds, and each step is shown before it is taken.

use std::collections::BTreeMap;

use opm_e2e::objects::{
    config_map, custom, custom_kind, deployment, job, secret, service, stateful_set, volume_claim,
};
use opm_e2e::{Dice, Module, World, api, full, note, scenarios};
use serde_json::{Value, json};

scenarios! {
    an_apply_does_what_was_shown,
}

const KINDS: [fn(&str, &mut Dice) -> Value; 16] = [
    |name, d| {
        let mut object = config_map(name, &format!("value {}", d.roll(3)));
        if d.some(2) {
            object["data"]["more"] = json!(format!("first\nsecond {}\n", d.roll(3)));
        }
        object
    },
    |name, d| {
        let mut object = secret(name, &format!("password-{}", d.roll(3)));
        if d.some(3) {
            object["stringData"]["token"] = json!("a-token-of-trust");
        }
        object
    },
    |name, d| {
        let mut object = service(name);
        object["spec"]["ports"][0]["port"] = json!(8000 + d.roll(3));
        if d.some(3) {
            let more = json!({"name": "more", "port": 9000 + d.roll(3)});
            object["spec"]["ports"].as_array_mut().unwrap().push(more);
        }
        object
    },
    |name, d| workload(deployment(name), d),
    |name, d| workload(stateful_set(name), d),
    |name, d| {
        let mut object = workload(deployment(name), d);
        object["kind"] = json!("DaemonSet");
        object["spec"].as_object_mut().unwrap().remove("replicas");
        object
    },
    |name, d| {
        let template = job(name)["spec"]["template"].clone();
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": format!("{} * * * *", d.roll(5)), "suspend": d.some(2),
                "jobTemplate": {"spec": {"template": template}}}})
    },
    |name, d| {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name},
            "automountServiceAccountToken": d.some(2)})
    },
    |name, d| {
        let verbs = ["get", "list", "watch"];
        let verbs = &verbs[..1 + usize::try_from(d.roll(3)).unwrap()];
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]})
    },
    |name, d| {
        let subject = format!("user-{}", d.roll(3));
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "some"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": subject}]})
    },
    |name, d| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name},
            "spec": {"rules": [{"host": format!("{}.example.com", d.roll(3)), "http": {"paths": [
                {"path": "/", "pathType": "Prefix",
                    "backend": {"service": {"name": "web", "port": {"number": 80}}}}]}}]}})
    },
    |name, d| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name},
            "spec": {"podSelector": {"matchLabels": {"app": format!("app-{}", d.roll(3))}},
                "policyTypes": ["Ingress"]}})
    },
    |name, d| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"minAvailable": 1 + d.roll(3), "selector": {"matchLabels": {"app": name}}}})
    },
    |name, d| {
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
            "spec": {"maxReplicas": 2 + d.roll(5),
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nobody"}}})
    },
    |name, _| volume_claim(name),
    |name, d| {
        let mut object = custom("GROUP", "Gadget", name);
        object["spec"]["size"] = json!(d.roll(4));
        object
    },
];

/// Sometimes another image, more memory, one variable more, another order of ports; and once in
/// a while a field that cannot be changed in place.
fn workload(mut object: Value, d: &mut Dice) -> Value {
    let replicas = json!(1 + d.roll(2));
    object["spec"]["replicas"] = replicas;
    let image = json!(format!("example.com/main:{}", d.roll(3)));
    let memory = ["64Mi", "65536Ki", "0.1Gi"][usize::try_from(d.roll(3)).unwrap()];
    let frozen = format!("set-{}", u64::from(d.some(8)));
    let template = &mut object["spec"]["template"];
    template["metadata"]["labels"]["set"] = json!(frozen);
    let container = &mut template["spec"]["containers"][0];
    container["image"] = image;
    container["resources"] = json!({"requests": {"memory": memory}});
    if d.some(2) {
        container["env"] =
            json!([{"name": "A", "value": format!("{}", d.roll(2))}, {"name": "B", "value": "x"}]);
    }
    if d.some(2) {
        container["ports"] = json!([{"containerPort": 80}, {"containerPort": 8080 + d.roll(2)}]);
    }
    object["spec"]["selector"]["matchLabels"]["set"] = json!(frozen);
    object
}

/// One revision: of each kind up to two objects, of fewer kinds each time it is rolled so.
fn revision(d: &mut Dice, group: &str) -> Module {
    let mut objects = vec![custom_kind(group, "Gadget")];
    for make in KINDS {
        for name in ["one", "two"] {
            if !d.some(4) {
                let mut object = make(name, d);
                if object["apiVersion"] == "GROUP/v1" {
                    object["apiVersion"] = json!(format!("{group}/v1"));
                }
                if d.some(3) {
                    object["metadata"]["labels"]["round"] = json!(format!("r{}", d.roll(9)));
                }
                objects.push(object);
            }
        }
    }
    Module::new("all").component("app", &objects)
}

async fn an_apply_does_what_was_shown(w: World) {
    let (group, rounds) = (w.group(), if full() { 12 } else { 4 });
    let mut dice = Dice::new(20_261_115);
    let (mut compared, mut fields) = (0, 0);
    let mut kinds = std::collections::BTreeSet::new();
    for round in 0..rounds {
        let module = revision(&mut dice, &group);
        let shown = w.diff(&module, &["--recreate"]).await.ok();
        let done = w.apply(&module, &["--recreate"]).await.ok();
        let (would, did) = (actions(&shown.json()), actions(&done.json()));
        assert_eq!(would, did, "round {round}");
        compared += did.len();
        for resource in shown.json()["resources"].as_array().unwrap() {
            let live = live(&w, resource, &group).await;
            if resource["action"] == "pruned" {
                let going = |live: &Value| !live["metadata"]["deletionTimestamp"].is_null();
                assert!(live.as_ref().is_none_or(going), "{resource}");
                continue;
            }
            let live = live.unwrap_or_else(|| panic!("it does not exist: {resource}"));
            kinds.insert(resource["kind"].as_str().unwrap().to_owned());
            for change in resource["changes"].as_array().unwrap() {
                fields += usize::from(came_true(change, &live));
            }
        }
        // Controllers still write: claims are bound, workloads are counted.
        w.until("an apply leaves nothing to do", || async {
            w.diff(&module, &["--exit-code"]).await.code() == 0
        })
        .await;
    }
    assert!(kinds.len() >= 10, "{kinds:?}");
    note(&format!(
        "{compared} objects of {} kinds in {rounds} rounds, {fields} fields: as shown",
        kinds.len()
    ));
}

/// What happens to each object.
fn actions(report: &Value) -> BTreeMap<String, String> {
    let resources = report["resources"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    resources
        .map(|r| {
            let name = format!("{}/{}", text(&r["kind"]), text(&r["name"]));
            (name, text(&r["action"]))
        })
        .collect()
}

async fn live(w: &World, resource: &Value, group: &str) -> Option<Value> {
    let (kind, name) = (resource["kind"].as_str()?, resource["name"].as_str()?);
    let path = match kind {
        "Gadget" => format!("/apis/{group}/v1/namespaces/{}/gadgets/{name}", w.ns),
        _ => api::object(&format!("{kind}/{name}"), &w.ns),
    };
    w.api.get(&path).await
}

/// Whether a change that was shown is there; false where it may not be seen.
#[track_caller]
fn came_true(change: &Value, live: &Value) -> bool {
    if change["masked"] == true {
        return false;
    }
    let path = change["path"].as_str().unwrap();
    let found = at(live, path);
    match change.get("after") {
        None => assert!(found.is_none(), "{change}\nlive: {found:?}"),
        // The order of items that have keys is told as a list of these.
        Some(Value::Array(keys)) if is_order(keys, found) => {}
        Some(after) => {
            let found = found.unwrap_or_else(|| panic!("{change} is not there"));
            assert!(holds(found, after), "{change}\nlive: {found}");
        }
    }
    true
}

fn is_order(keys: &[Value], found: Option<&Value>) -> bool {
    let objects = found.and_then(Value::as_array).into_iter().flatten();
    keys.iter().all(Value::is_string)
        && objects.clone().count() > 0
        && objects.clone().all(Value::is_object)
}

/// Whether everything that is shown is there; the server may have added to it.
fn holds(live: &Value, shown: &Value) -> bool {
    match (live, shown) {
        (Value::Object(live), Value::Object(shown)) => shown
            .iter()
            .all(|(key, value)| live.get(key).is_some_and(|live| holds(live, value))),
        (Value::Array(live), Value::Array(shown)) => {
            live.len() == shown.len() && live.iter().zip(shown).all(|(l, s)| holds(l, s))
        }
        // What is recreated is shown as it is rendered, in the units that were written.
        _ => live == shown || bytes(live).is_some_and(|live| Some(live) == bytes(shown)),
    }
}

/// An amount of memory, in thousandths of a byte.
fn bytes(value: &Value) -> Option<u64> {
    let text = value.as_str()?;
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let unit = match &text[end..] {
        "m" => 1.0,
        "Ki" => 1024.0 * 1000.0,
        "Mi" => 1024.0 * 1024.0 * 1000.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0 * 1000.0,
        _ => return None,
    };
    let number: f64 = text[..end].parse().ok()?;
    format!("{:.0}", number * unit).parse().ok()
}

/// The value at a path such as `spec.ports[port=80,protocol="TCP"].name` or `data["a.b"]`.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let (mut value, mut rest) = (object, path);
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside.find(']').expect("brackets are closed");
            value = item(value, &inside[..end])?;
            rest = &inside[end + 1..];
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            value = value.get(&rest[..end])?;
            rest = &rest[end..];
        }
    }
    Some(value)
}

fn item<'a>(value: &'a Value, which: &str) -> Option<&'a Value> {
    if let Ok(index) = which.parse::<usize>() {
        return value.get(index);
    }
    if let Ok(key) = serde_json::from_str::<String>(which) {
        return value.get(key);
    }
    let wanted = which.split(',').map(|pair| pair.split_once('=').unwrap());
    let is = |item: &Value| {
        wanted.clone().all(|(key, wanted)| {
            let found = item.get(key).map(Value::to_string);
            found.as_deref().unwrap_or("\"TCP\"") == wanted
        })
    };
    value.as_array()?.iter().find(|one| is(one))
}
