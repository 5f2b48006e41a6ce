//! Objects that come from another tool: what it had set becomes the release's, so that it can go;
//! what anybody else has set stays.

use opm_e2e::objects::{autoscaler, config_map, deployment};
use opm_e2e::{KillOutcome, Module, Moment, World, api, scenarios, set};
use serde_json::{Value, json};

scenarios! {
    a_port_goes_that_helm_had_set,
    a_port_goes_that_kubectl_apply_had_set,
    a_port_goes_that_kubectl_create_had_set,
    a_port_goes_of_an_object_without_managed_fields,
    a_port_goes_with_a_take_over,
    a_crash_between_any_two_steps_is_taken_up,
    what_an_earlier_adoption_left_is_a_note,
    everything_of_a_helm_release_is_adopted_by_its_name,
    a_value_that_only_reads_otherwise_is_no_conflict,
    replicas_go_unless_an_autoscaler_has_them,
    #[real_only("the sandbox does not check what a Service needs")]
    what_cannot_be_removed_is_refused_before_anything_is_touched,
    a_release_is_given_up_as_a_whole_and_nothing_deleted,
}

/// A Service with these ports.
fn ports(name: &str, ports: &[u16]) -> Value {
    let port = |port: &u16| json!({"name": format!("p{port}"), "port": port});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": ports.iter().map(port).collect::<Vec<_>>()}})
}

fn web(objects: &[Value]) -> Module {
    Module::new("web").component("app", objects)
}

fn labelled(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["labels"][key] = json!(value);
    object
}

/// What Helm 4 puts onto the objects of a release.
fn of_helm(object: Value, release: &str, namespace: &str) -> Value {
    let mut object = labelled(object, "app.kubernetes.io/managed-by", "Helm");
    object["metadata"]["annotations"] =
        json!({"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace});
    object
}

/// What `kubectl apply` remembers on an object.
fn of_kubectl_apply(object: Value) -> Value {
    let mut object = object;
    let applied = object.to_string();
    object["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": applied});
    object
}

async fn by_helm(w: &World, object: &Value) {
    let kind = object["kind"].as_str().unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    let path = api::object(&format!("{kind}/{name}"), &w.ns);
    w.api.apply_by("helm", &path, object).await;
}

/// Somebody who is no tool that `opm` replaces has a part in the object.
async fn third_party(w: &World, spelled: &str) {
    let path = format!("{}?fieldManager=linkerd", api::object(spelled, &w.ns));
    let patch = json!({"metadata": {"annotations": {"linkerd.io/inject": "enabled"}}});
    w.api.merge(&path, patch).await;
}

async fn live_ports(w: &World, spelled: &str) -> Vec<u64> {
    let live = w.get(spelled).await.unwrap();
    let ports = live["spec"]["ports"].as_array().unwrap().iter();
    ports.map(|port| port["port"].as_u64().unwrap()).collect()
}

async fn managers(w: &World, spelled: &str) -> Vec<String> {
    let live = w.get(spelled).await.unwrap();
    let entries = live["metadata"]["managedFields"].as_array().unwrap().iter();
    let mut names: Vec<String> = entries
        .map(|entry| entry["manager"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// The Service has ports 80, 81 and 82 and a label; the module renders 80 and 81, and then 80.
async fn loses_its_ports(w: &World, flag: &str) {
    third_party(w, "Service/web").await;
    let before = w.get("Service/web").await.unwrap();
    let module = web(&[ports("web", &[80, 81])]);
    let told = w.diff(&module, &[flag]).await.ok();
    let gone: Vec<String> = told
        .changes("Service/web")
        .into_iter()
        .filter(|(_, before, after)| !before.is_null() && after.is_null())
        .map(|(path, ..)| path)
        .collect();
    assert!(
        gone.contains(&"spec.ports[port=82,protocol=\"TCP\"]".to_owned()),
        "{gone:?}"
    );
    assert!(gone.contains(&"metadata.labels.old".to_owned()), "{gone:?}");
    assert_eq!(live_ports(w, "Service/web").await, [80, 81, 82]);

    let ran = w.apply(&module, &[flag]).await.ok();
    assert_eq!(ran.action("Service/web").as_deref(), Some("adopted"));
    let reason = ran.resource("Service/web").unwrap()["reason"].clone();
    assert!(reason.as_str().unwrap().contains("port=82"), "{reason}");
    let live = w.get("Service/web").await.unwrap();
    assert_eq!(live_ports(w, "Service/web").await, [80, 81]);
    assert_eq!(live["metadata"]["labels"].get("old"), None);
    assert_eq!(managers(w, "Service/web").await, ["linkerd", "opm"]);

    w.diff(&module, &["--exit-code"]).await.ok();
    let ran = w.apply(&web(&[ports("web", &[80])]), &[]).await.ok();
    assert_eq!(ran.action("Service/web").as_deref(), Some("configured"));
    assert_eq!(live_ports(w, "Service/web").await, [80]);
    let live = w.get("Service/web").await.unwrap();
    let annotations = &live["metadata"]["annotations"];
    assert_eq!(*annotations, json!({"linkerd.io/inject": "enabled"}));
    assert_eq!(live["spec"]["clusterIP"], before["spec"]["clusterIP"]);
    assert_eq!(live["metadata"]["uid"], before["metadata"]["uid"]);
    w.holds_exactly("web", &["Service/web"]).await;
}

fn old(object: Value) -> Value {
    labelled(object, "old", "1")
}

async fn a_port_goes_that_helm_had_set(w: World) {
    by_helm(
        &w,
        &of_helm(old(ports("web", &[80, 81, 82])), "chart", &w.ns),
    )
    .await;
    loses_its_ports(&w, "--adopt=Service/web").await;
}

async fn a_port_goes_that_kubectl_apply_had_set(w: World) {
    let object = of_kubectl_apply(old(ports("web", &[80, 81, 82])));
    w.api
        .create_by("kubectl-client-side-apply", &w.ns, &object)
        .await;
    loses_its_ports(&w, "--adopt").await;
}

async fn a_port_goes_that_kubectl_create_had_set(w: World) {
    w.api
        .create_by("kubectl-create", &w.ns, &old(ports("web", &[80, 81, 82])))
        .await;
    loses_its_ports(&w, "--adopt").await;
}

async fn a_port_goes_of_an_object_without_managed_fields(w: World) {
    w.api.create(&w.ns, &old(ports("web", &[80, 81, 82]))).await;
    let path = api::object("Service/web", &w.ns);
    let nobody = json!({"metadata": {"managedFields": [{}]}});
    w.api.merge(&path, nobody).await;
    let module = web(&[ports("web", &[80, 81])]);
    let before = w.get("Service/web").await.unwrap();
    w.apply(&module, &["--adopt"]).await.ok();
    assert_eq!(live_ports(&w, "Service/web").await, [80, 81]);
    let live = w.get("Service/web").await.unwrap();
    assert_eq!(live["spec"]["clusterIP"], before["spec"]["clusterIP"]);
    assert_eq!(managers(&w, "Service/web").await, ["opm"]);
}

/// What an `opm` does that takes nobody's fields over.
const AS_BEFORE: &str = "--retired-managers=";

async fn a_port_goes_with_a_take_over(w: World) {
    w.api
        .create_by("kubectl-create", &w.ns, &old(ports("web", &[80, 81, 82])))
        .await;
    let former = Module::new("former").component("app", &[ports("web", &[80, 81])]);
    w.apply(&former, &["--adopt", AS_BEFORE]).await.ok();
    assert_eq!(live_ports(&w, "Service/web").await, [80, 81, 82]);
    loses_its_ports(&w, "--take-ownership").await;
}

async fn a_crash_between_any_two_steps_is_taken_up(w: World) {
    let made = |name: String| {
        let w = &w;
        async move {
            let object = old(ports(&name, &[80, 81]));
            w.api.create_by("kubectl-create", &w.ns, &object).await;
        }
    };
    let module = |name: &str| Module::new(name).component("app", &[ports(name, &[80])]);
    let words = |dir: &str| -> Vec<String> {
        ["mod", "apply", dir, "--adopt", "-o", "json"]
            .map(str::to_owned)
            .to_vec()
    };
    made("probe".to_owned()).await;
    let probe = words(&w.write(&module("probe")));
    let probe: Vec<&str> = probe.iter().map(String::as_str).collect();
    let requests = w.requests_in(&probe).await;
    let steps: Vec<usize> = requests
        .iter()
        .enumerate()
        .filter(|(_, (verb, uri))| {
            verb == "patch" && uri.contains("/services/probe") && !uri.contains("dryRun")
        })
        .map(|(at, _)| at + 1)
        .collect();
    assert_eq!(steps.len(), 3, "{requests:?}");
    for (at, nth) in steps.into_iter().enumerate() {
        let name = format!("web{at}");
        made(name.clone()).await;
        let command = words(&w.write(&module(&name)));
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let ran = w.killed_at(nth, Moment::After, &command).await;
        assert_eq!(ran, KillOutcome::Killed, "{name}");
        let spelled = format!("Service/{name}");
        let why = w.record(&name).await.pending_why(&spelled);
        assert_eq!(why.as_deref(), Some("adopt"), "{name}");
        // The next run needs no flag: the record says what was going on.
        w.apply(&module(&name), &[]).await.ok();
        assert_eq!(live_ports(&w, &spelled).await, [80], "{name}");
        assert_eq!(managers(&w, &spelled).await, ["opm"], "{name}");
        w.holds_exactly(&name, &[&spelled]).await;
    }
}

async fn what_an_earlier_adoption_left_is_a_note(w: World) {
    w.api
        .create_by("kubectl-create", &w.ns, &old(ports("web", &[80, 81])))
        .await;
    let module = web(&[ports("web", &[80])]);
    w.apply(&module, &["--adopt", AS_BEFORE]).await.ok();
    assert_eq!(live_ports(&w, "Service/web").await, [80, 81]);

    let told = w.diff(&module, &["--exit-code"]).await.ok();
    assert_eq!(told.action("Service/web").as_deref(), Some("unchanged"));
    let leftovers = told.resource("Service/web").unwrap()["leftovers"].clone();
    let expected = json!([{"field": "metadata.labels.old", "by": "kubectl-create"},
        {"field": "spec.ports[port=81,protocol=\"TCP\"]", "by": "kubectl-create"}]);
    assert_eq!(leftovers, expected);
    let dir = w.write(&module);
    w.opm(&["mod", "diff", &dir])
        .await
        .ok()
        .says("--adopt=Service/web removes them");

    let status = w
        .opm(&["mod", "status", "web", "--exit-code", "-o", "json"])
        .await
        .ok();
    let object = status.json()["components"][0]["resources"][0].clone();
    assert_eq!(object["drifted"], false);
    assert_eq!(object["leftovers"], expected);
    w.opm(&["mod", "status", "web"])
        .await
        .ok()
        .says("note: kubectl-create still owns");

    let ran = w.apply(&module, &["--adopt=Service/web"]).await.ok();
    assert_eq!(ran.action("Service/web").as_deref(), Some("configured"));
    assert_eq!(live_ports(&w, "Service/web").await, [80]);
    let status = w.opm(&["mod", "status", "web", "-o", "json"]).await.ok();
    let object = status.json()["components"][0]["resources"][0].clone();
    assert_eq!(object.get("leftovers"), None);
}

async fn everything_of_a_helm_release_is_adopted_by_its_name(w: World) {
    for (name, release) in [("a", "chart"), ("b", "chart"), ("c", "other")] {
        by_helm(&w, &of_helm(config_map(name, "helm's"), release, &w.ns)).await;
    }
    let three = web(&["a", "b", "c"].map(|name| config_map(name, "1")));
    w.apply(&three, &["--adopt=helm/chart"])
        .await
        .ends(2)
        .says("ConfigMap/c")
        .says("other");
    let two = web(&["a", "b"].map(|name| config_map(name, "1")));
    w.apply(&two, &["--adopt=helm/elsewhere/chart"])
        .await
        .ends(2)
        .says("ConfigMap/a");
    w.apply(&two, &["--adopt=helm/chart"]).await.ok();
    for name in ["a", "b"] {
        let live = w.get(&format!("ConfigMap/{name}")).await.unwrap();
        assert_eq!(live["data"], json!({"k": "1"}));
        assert_eq!(live["metadata"].get("annotations"), None, "{live}");
    }
    // Helm's objects that nobody has named are not touched.
    let live = w.get("ConfigMap/c").await.unwrap();
    assert_eq!(live["data"], json!({"k": "helm's"}));
    let other = format!("--adopt=helm/{}/other,helm/nobody", w.ns);
    w.apply(&three, &[&other])
        .await
        .ok()
        .says("Helm release")
        .says("nobody");
    w.holds_exactly("web", &["ConfigMap/a", "ConfigMap/b", "ConfigMap/c"])
        .await;
}

async fn a_value_that_only_reads_otherwise_is_no_conflict(w: World) {
    let with = |cpu: &str, image: &str| {
        let mut object = deployment("web");
        let container = &mut object["spec"]["template"]["spec"]["containers"][0];
        container["resources"] = json!({"limits": {"cpu": cpu}});
        container["image"] = json!(image);
        object
    };
    w.api
        .create_by("kubectl-create", &w.ns, &with("1", "example.com/main:1"))
        .await;
    w.apply(&web(&[with("1000m", "example.com/main:2")]), &["--adopt"])
        .await
        .ends(2)
        .says("image");
    let same = web(&[with("1000m", "example.com/main:1")]);
    w.diff(&same, &["--adopt"]).await.ok();
    let ran = w.apply(&same, &["--adopt"]).await.ok();
    assert_eq!(ran.action("Deployment/web").as_deref(), Some("adopted"));
    let live = w.get("Deployment/web").await.unwrap();
    let limits = &live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(*limits, json!({"cpu": "1"}));
    assert!(
        !managers(&w, "Deployment/web")
            .await
            .contains(&"kubectl-create".to_owned())
    );
}

async fn replicas_go_unless_an_autoscaler_has_them(w: World) {
    let made = |name: &str| {
        let mut object = deployment(name);
        object["spec"]["replicas"] = json!(3);
        object
    };
    let rendered = |name: &str| {
        let mut object = deployment(name);
        object["spec"].as_object_mut().unwrap().remove("replicas");
        object
    };
    for name in ["scaled", "plain"] {
        w.api.create_by("kubectl-create", &w.ns, &made(name)).await;
    }
    w.api.create(&w.ns, &autoscaler("scaler", "scaled")).await;
    let module = web(&["scaled", "plain"].map(rendered));
    w.apply(&module, &["--adopt"]).await.ok();
    let replicas = |name: &'static str| {
        let w = &w;
        async move {
            let live = w.get(&format!("Deployment/{name}")).await.unwrap();
            live["spec"]["replicas"].clone()
        }
    };
    assert_eq!(replicas("scaled").await, 3);
    assert_eq!(replicas("plain").await, 1);
    let kept = w.record("web").await;
    assert_eq!(
        kept.inventory(),
        set(["Deployment/plain", "Deployment/scaled"])
    );
}

async fn what_cannot_be_removed_is_refused_before_anything_is_touched(w: World) {
    let mut object = ports("web", &[80]);
    object["spec"]["type"] = json!("ExternalName");
    object["spec"]["externalName"] = json!("example.com");
    w.api.create_by("kubectl-create", &w.ns, &object).await;
    let mut rendered = ports("web", &[80]);
    rendered["spec"]["type"] = json!("ExternalName");
    let before = w.get("Service/web").await.unwrap();
    let module = web(&[rendered, config_map("a", "1")]);
    w.apply(&module, &["--adopt"])
        .await
        .ends(2)
        .says("externalName");
    assert_eq!(w.get("Service/web").await.unwrap(), before);
    assert!(!w.exists("ConfigMap/a").await);
}

async fn a_release_is_given_up_as_a_whole_and_nothing_deleted(w: World) {
    let module = web(&[config_map("a", "1"), ports("web", &[80])]);
    w.apply(&module, &[]).await.ok();
    w.apply(&web(&[config_map("a", "2"), ports("web", &[80])]), &[])
        .await
        .ok();
    let forget = ["mod", "forget", "web", "--all"];
    w.opm(&forget).await.ends(2).says("--yes");
    assert_eq!(
        w.record("web").await.inventory(),
        set(["ConfigMap/a", "Service/web"])
    );
    let agreed = [&forget[..], &["--yes", "-o", "json"]].concat();
    let ran = w.opm(&agreed).await.ok();
    assert_eq!(ran.action("ConfigMap/a").as_deref(), Some("kept"));
    for spelled in ["ConfigMap/a", "Service/web"] {
        let live = w.get(spelled).await.unwrap();
        assert_eq!(live["metadata"].get("labels"), None, "{live}");
    }
    assert!(w.find_record("web").await.is_none());
    w.has_no_stray_records("web").await;
    w.opm(&["mod", "status", "web"]).await.ends(5);
    w.apply(&module, &[]).await.ends(2).says("--adopt");
    w.apply(&module, &["--adopt", "--force-conflicts"])
        .await
        .ok();
    w.holds_exactly("web", &["ConfigMap/a", "Service/web"])
        .await;
}
