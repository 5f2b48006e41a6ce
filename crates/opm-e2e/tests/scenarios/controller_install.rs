//! What is installed, with which rights, and how a release of the command line becomes a resource.

use std::path::Path;

use opm_e2e::objects::{config_map, secret, service};
use opm_e2e::{Module, Rights, RunningOpm, Seed, World, scenarios};
use opm_testkit::{ApiServer, ControlPlane};
use serde_json::{Value, json};

scenarios! {
    #[real_only("does not apply to the sandbox, which has no access control")]
    the_printed_rights_are_enough,
    #[real_only("does not apply to the sandbox, which has no access control")]
    a_right_that_is_missing_is_named,
    a_printed_resource_is_the_same_release,
    #[real_only("the sandbox has a suite of its own with kubectl")]
    what_is_printed_is_taken_by_kubectl,
}

/// What is printed can be applied as it is, by kubectl alone.
async fn what_is_printed_is_taken_by_kubectl(w: World) {
    let Some(kubectl) = w.kubectl().await else {
        return;
    };
    let name = w.other_namespace("printed").await;
    let printed = w
        .opm(&["controller", "install", "--print", "-n", &name])
        .await;
    let printed = printed.ok().stdout().to_owned();
    assert!(
        printed.starts_with("---\napiVersion: v1\nkind: Namespace"),
        "{printed}"
    );
    std::fs::write(w.dir().join("printed.yaml"), printed).unwrap();
    let words = [
        "apply",
        "--server-side",
        "--dry-run=server",
        "--force-conflicts",
        "-f",
    ];
    let said = kubectl
        .run(&[&words[..], &["printed.yaml", "-n", &name]].concat())
        .await;
    assert!(said.contains("deployment.apps/opm-controller"), "{said}");
}

/// One right that is printed.
#[derive(Debug, Clone, PartialEq)]
struct PrintedRight {
    everywhere: bool,
    group: String,
    resource: String,
    verb: String,
}

impl PrintedRight {
    fn added_to(&self, rights: Rights) -> Rights {
        let (resource, verb) = ([self.resource.as_str()], [self.verb.as_str()]);
        match self.everywhere {
            true => rights.allow_everywhere(&self.group, &resource, &verb),
            false => rights.allow(&self.group, &resource, &verb),
        }
    }

    /// How the server says that it is missing.
    fn missing(&self) -> String {
        format!("cannot {} resource \"{}\"", self.verb, self.resource)
    }
}

/// The kinds of the release, to which the right to watch is narrowed.
const WATCHED: [&str; 3] = ["configmaps", "secrets", "services"];

/// All rights of what `opm controller install` prints.
async fn printed_rights(w: &World) -> Vec<PrintedRight> {
    let install = ["controller", "install", "--print", "-o", "json"];
    let printed = w.opm(&install).await.ok().json();
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array().unwrap().iter();
        all.map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = Vec::new();
    for object in printed["items"].as_array().unwrap() {
        let rules = object["rules"].as_array().cloned().unwrap_or_default();
        let everywhere = object["kind"] == "ClusterRole";
        for rule in &rules {
            let (groups, verbs) = (texts(&rule["apiGroups"]), texts(&rule["verbs"]));
            let any = |one: &String| one == "*";
            let (groups, resources) = match groups.iter().any(any) {
                true => (vec![String::new()], WATCHED.map(str::to_owned).to_vec()),
                false => (groups, texts(&rule["resources"])),
            };
            for group in &groups {
                for resource in &resources {
                    for verb in &verbs {
                        rights.push(PrintedRight {
                            everywhere,
                            group: group.clone(),
                            resource: resource.clone(),
                            verb: verb.clone(),
                        });
                    }
                }
            }
        }
    }
    rights
}

/// Somebody that releases act as, and what they are made of.
async fn put_account_and_module(w: &World) {
    let rbac = "rbac.authorization.k8s.io";
    w.api.create(&w.ns, &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}})).await;
    w.api.create(&w.ns, &json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": {"name": "deployer"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": ["*"]}]})).await;
    w.api.create(&w.ns, &json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "deployer"}, "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": w.ns}]})).await;
    let files = json!({"a.yaml": config_map("a", "1").to_string(),
        "b.yaml": service("web").to_string(), "c.yaml": secret("key", "hidden").to_string()});
    w.put_files("source", files).await;
}

fn start_as(w: &World, user: &Path) -> RunningOpm {
    let flags = ["--default-service-account", "deployer", "--shards", "2"];
    let leases = ["--lease-namespace", &w.ns, "--lease-time", "3s"];
    w.start_controller_as(user, &[&flags[..], &leases[..]].concat())
}

async fn the_printed_rights_are_enough(w: World) {
    w.define_resource().await;
    put_account_and_module(&w).await;
    let printed = printed_rights(&w).await;
    let rights = printed
        .iter()
        .fold(Rights::none(), |rights, one| one.added_to(rights));
    let controller = w.user(&rights).await;
    w.put_release("web", json!({"module": {"configMap": {"name": "source"}}}))
        .await;
    let running = start_as(&w, controller.kubeconfig());
    w.until_ready("web").await;
    w.until("an event tells of it", || async {
        !w.events_of("web").await.is_empty()
    })
    .await;
    let path = opm_e2e::api::object("ConfigMap/a", &w.ns);
    w.api.merge(&path, json!({"data": {"k": "2"}})).await;
    w.until_value("ConfigMap/a", "/data/k", json!("1")).await;
    w.remove_release("web").await;
    w.until_release_is_gone("web").await;
    assert_eq!(w.settled_live("web").await, Vec::<String>::new());
    running.interrupt();
    let ended = running.end().await.ends(130);
    ended.never_says("forbidden").never_says("hidden");
}

/// How many rights are taken away, one at a time, when not all of them are.
const SAMPLE: usize = 2;

async fn a_right_that_is_missing_is_named(w: World) {
    w.define_resource().await;
    put_account_and_module(&w).await;
    let printed = printed_rights(&w).await;
    let chosen = match opm_e2e::full() {
        true => printed.clone(),
        false => Seed::of_this_run("rights").some_of(printed.clone(), SAMPLE),
    };
    for (n, missing) in chosen.iter().enumerate() {
        opm_e2e::trying(&format!("without {missing:?}"));
        let left = printed.iter().filter(|one| *one != missing);
        let rights = left.fold(Rights::none(), |rights, one| one.added_to(rights));
        let controller = w.user(&rights).await;
        let name = format!("web-{n}");
        w.put_release(&name, json!({"module": {"configMap": {"name": "source"}}}))
            .await;
        let running = start_as(&w, controller.kubeconfig());
        let said = missing.missing();
        let written = said.replace('"', "\\\"");
        let is_told = || async {
            let resource = w.get_release(&name).await.unwrap();
            let status = resource["status"]["conditions"].to_string();
            status.contains(&written) || running.has_written(&written) || running.has_written(&said)
        };
        if missing.resource == "leases" && missing.verb == "delete" {
            // That it goes is said when it goes.
            w.until_ready(&name).await;
            running.interrupt();
        }
        w.until("the missing right is named", is_told).await;
        running.interrupt();
        running.end().await;
        // For the next one.
        let controller = start_as(&w, w.admin_kubeconfig());
        w.remove_release(&name).await;
        w.until_release_is_gone(&name).await;
        controller.interrupt();
        controller.end().await;
    }
    opm_e2e::note(&format!("{} of {} rights", chosen.len(), printed.len()));
}

async fn a_printed_resource_is_the_same_release(w: World) {
    w.define_resource().await;
    let module =
        Module::new("web").component("app", &[config_map("a", "1"), secret("key", "hidden")]);
    w.apply(&module, &[]).await.ok();
    let change = w.record("web").await.index();
    let directory = w.write(&module);
    // Whoever asks for the files is shown them: the module's own Secret is in them.
    let arguments = [
        "mod",
        "apply",
        directory.as_str(),
        "--to-resource",
        "-o",
        "json",
    ];
    let printed = w.opm_showing_secrets(&arguments).await.ok().json();
    let [source, resource] = printed["items"].as_array().unwrap().as_slice() else {
        panic!("two objects: {printed}");
    };
    assert_eq!(source["kind"], "Secret");
    w.api.create(&w.ns, source).await;
    w.put_release("web", resource["spec"].clone()).await;
    let _running = w.start_controller(&[]);
    w.until_ready("web").await;
    assert_eq!(
        w.record("web").await.index(),
        change,
        "it is the same change"
    );
    let nested = w.dir().join("nested");
    std::fs::create_dir_all(nested.join("more")).unwrap();
    std::fs::write(
        nested.join("module.yaml"),
        std::fs::read(format!("{directory}/module.yaml")).unwrap(),
    )
    .unwrap();
    std::fs::write(nested.join("app.yaml"), config_map("a", "1").to_string()).unwrap();
    let nested = nested.display().to_string();
    w.opm(&["mod", "apply", &nested, "--to-resource"])
        .await
        .ends(2)
        .says("directory");
}

/// On an API server of its own: an older version is installed, whose definition knows a field less, a
/// release is made, and the version at hand is installed over it.
#[tokio::test]
async fn a_newer_version_is_installed_while_releases_exist() {
    let Some(_) = ControlPlane::for_test().await else {
        return;
    };
    let server = ApiServer::start().await.unwrap();
    let w = World::real(server.plane()).await;
    let older = w.dir().join("older");
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../opm-controller/deploy");
    std::fs::create_dir(&older).unwrap();
    for file in std::fs::read_dir(deploy).unwrap() {
        let file = file.unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let text = text.replace("  version: 0.1.0\n", "  version: 0.0.9\n");
        let text = text.replace(":0.1.0\n", ":0.0.9\n");
        let text = text.replace(
            "              forceConflicts:\n",
            "              forceOlder:\n",
        );
        std::fs::write(older.join(file.file_name()), text).unwrap();
    }
    let older = older.display().to_string();
    let flags = ["-n", "opm-system", "--create-namespace"];
    let apply = [&["mod", "apply", older.as_str()], &flags[..]].concat();
    w.opm(&apply).await.ok().says("created");

    let files = json!({"a.yaml": config_map("a", "1").to_string()});
    w.put_files("source", files).await;
    let spec = json!({"module": {"configMap": {"name": "source"}}});
    let made = w.put_release("web", spec.clone()).await;
    assert!(made["spec"]["forceConflicts"].is_null(), "the older schema");
    let running = w.start_controller(&[]);
    w.until_ready("web").await;
    let (record, uid) = (w.raw_record("web").await, w.uid("ConfigMap/a").await);

    let install = ["controller", "install", "-n", "opm-system", "-o", "json"];
    let installed = w.opm(&install).await.ok();
    let definition = "CustomResourceDefinition/modulereleases.core.opmodel.dev";
    let installed = installed.did("configured", definition);
    installed.did("configured", "Deployment/opm-controller");
    let listed = w
        .opm(&["mod", "list", "-n", "opm-system", "-o", "json"])
        .await;
    let version = listed.ok().json()["releases"][0]["module"]["version"].clone();
    assert_eq!(version, "0.1.0");
    // The release is as it was, and stays so under the new definition and a new controller.
    let kept = w.get_release("web").await.unwrap();
    assert_eq!(kept["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(w.raw_record("web").await, record);
    running.interrupt();
    running.end().await.ends(130);
    let running = w.start_controller(&[]);
    let mut later = spec;
    later["forceConflicts"] = json!(true);
    let kept = w.put_release("web", later).await;
    assert_eq!(kept["spec"]["forceConflicts"], true, "the newer schema");
    w.until_ready("web").await;
    assert_eq!(w.uid("ConfigMap/a").await, uid, "nothing was created anew");
    let files = json!({"a.yaml": config_map("a", "2").to_string()});
    w.put_files("source", files).await;
    w.until_value("ConfigMap/a", "/data/k", json!("2")).await;
    running.interrupt();
    running.end().await.ends(130);
}

/// On a cluster of its own: what is installed is there for all.
#[tokio::test]
async fn the_controller_is_a_release_of_opm() {
    opm_e2e::on_sandbox(|w: World| async move {
        let install = [
            "controller",
            "install",
            "--image",
            "example.com/opm:1",
            "-o",
            "json",
            "-n",
            "opm-system",
        ];
        let first = w.opm(&install).await.ok();
        assert_eq!(first.json()["firstApply"], true);
        first.did(
            "created",
            "CustomResourceDefinition/modulereleases.core.opmodel.dev",
        );
        let deployed = w.get("opm-system:Deployment/opm-controller").await.unwrap();
        let container = &deployed["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "example.com/opm:1");
        w.opm(&install)
            .await
            .ok()
            .did("unchanged", "Deployment/opm-controller");
        w.opm(&[
            "mod",
            "delete",
            "opm-controller",
            "-n",
            "opm-system",
            "--yes",
        ])
        .await
        .ok();
        let definition = "CustomResourceDefinition/modulereleases.core.opmodel.dev";
        assert!(
            w.exists(definition).await,
            "with it, all resources would go"
        );
    })
    .await;
}
