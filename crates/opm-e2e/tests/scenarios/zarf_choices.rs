//! What users of Zarf packages choose: components, releases side by side, namespaces, and that
//! nothing may be left out.

use std::path::Path;

use opm_e2e::{World, scenarios};
use opm_testkit::charts::{ArchiveEntry, ChartServer, archive};
use serde_json::{Value, json};

use crate::zarf::{copied, edit, objects};

scenarios! {
    components_are_chosen_and_stay_chosen,
    two_releases_of_a_package_live_side_by_side,
    what_is_not_carried_out_is_told_and_refused_if_asked_for,
    namespaces_that_a_package_names_are_created_if_asked_for,
    charts_of_a_package_come_from_all_places,
}

async fn components_are_chosen_and_stay_chosen(w: World) {
    let dir = copied(&w, "edge").display().to_string();
    let start = ["--set", "flavor=rocky", "--set", "architecture=amd64"];
    let apply = async |more: &[&str]| {
        let words = [&["mod", "apply", dir.as_str()], &start[..], more].concat();
        w.opm(&words).await
    };
    let always = ["ConfigMap/amd64", "ConfigMap/rocky"];
    let holds = async |more: &[&str]| w.holds_exactly("edge", &[&always[..], more].concat()).await;
    apply(&[]).await.ok().never_says("`images`");
    holds(&["ConfigMap/dashboard"]).await;
    apply(&["--components", "debug"])
        .await
        .ok()
        .says("`images`");
    holds(&["ConfigMap/debug"]).await;
    apply(&[]).await.ok();
    holds(&["ConfigMap/debug"]).await;
    apply(&["--components", ""]).await.ok();
    holds(&[]).await;
    apply(&[]).await.ok();
    holds(&[]).await;
    let unknown = apply(&["--components", "dashbord"]).await.ends(2);
    unknown.says("did you mean dashboard?");
    // Another flavor is another set of components.
    let dir = w.dir().join("edge").display().to_string();
    let alma = [
        "mod",
        "apply",
        &dir,
        "--set",
        "flavor=alma",
        "--set",
        "architecture=amd64",
    ];
    w.opm(&alma).await.ok();
    w.holds_exactly("edge", &["ConfigMap/amd64", "ConfigMap/alma"])
        .await;
}

async fn two_releases_of_a_package_live_side_by_side(w: World) {
    let Some(w) = w.with_helm() else { return };
    let dir = copied(&w, "store");
    edit(&dir.join("zarf.yaml"), "files: [door.yaml]", "files: []");
    let dir = dir.display().to_string();
    let (blue, green) = (
        w.other_namespace("blue").await,
        w.other_namespace("green").await,
    );
    for (release, namespace) in [("blue", &blue), ("green", &green)] {
        let there = format!("NAMESPACE={namespace}");
        w.opm(&["mod", "apply", &dir, "--name", release, "--set", &there])
            .await
            .ok();
    }
    let all = |namespace: &str| {
        let names = [
            "ConfigMap/shelf-goods",
            "Service/shelf",
            "ConfigMap/front-goods",
            "Service/front",
        ];
        objects(namespace, &names, &[])
    };
    w.delete("blue", &[]).await.ok();
    assert_eq!(w.settled_live("blue").await, Vec::<String>::new());
    let left = all(&green);
    let left: Vec<&str> = left.iter().map(String::as_str).collect();
    w.holds_exactly("green", &left).await;
    w.delete("green", &[]).await.ok();
}

async fn what_is_not_carried_out_is_told_and_refused_if_asked_for(w: World) {
    let dir = copied(&w, "edge").display().to_string();
    let start = ["--set", "flavor=alma", "--set", "architecture=amd64"];
    let run = async |command: &str, more: &[&str]| {
        let words = [&["mod", command, dir.as_str()], &start[..], more].concat();
        w.opm(&words).await
    };
    let chosen = ["--strict", "--components", "debug"];
    for command in ["vet", "build", "diff", "apply"] {
        run(command, &chosen)
            .await
            .ends(2)
            .says("edge/zarf.yaml:34:5: component `debug`: `images` is not carried out")
            .says("edge/zarf.yaml:36:7: component `debug`: `actions.onRemove` is not carried out");
    }
    assert!(w.find_record("edge").await.is_none());
    // What is not selected asks for nothing.
    run("apply", &["--strict"]).await.ok();
    edit(
        &Path::new(&dir).join("zarf.yaml"),
        "- name: debug",
        "- nmae: x\n    name: debug",
    );
    run("vet", &["--components", "debug"])
        .await
        .ok()
        .says("`nmae` is not known and has no effect");
}

async fn namespaces_that_a_package_names_are_created_if_asked_for(w: World) {
    let dir = copied(&w, "site").display().to_string();
    let namespace = w.name("new");
    let there = format!("NAMESPACE={namespace}");
    let start = [
        "--set",
        "SERVER=nginx",
        "--set",
        "SITE_NAME=a",
        "--set",
        &there,
    ];
    let run = async |command: &str, more: &[&str]| {
        let words = [&["mod", command, dir.as_str()], &start[..], more].concat();
        w.opm(&words).await
    };
    run("apply", &[])
        .await
        .ends(2)
        .says(&format!("namespace {namespace} does not exist"))
        .says(&format!("--create-namespace creates namespace {namespace}"));
    run("diff", &["--create-namespace"]).await.ok();
    run("apply", &["--create-namespace", "--dry-run"])
        .await
        .ok();
    assert!(!w.exists(&format!("Namespace/{namespace}")).await);
    run("apply", &["--create-namespace"]).await.ok();
    let created = w.get(&format!("Namespace/{namespace}")).await.unwrap();
    let ours = "module.opmodel.dev/name";
    assert_eq!(created["metadata"]["labels"][ours], Value::Null);
    w.delete("site", &[]).await.ok();
    assert!(w.exists(&format!("Namespace/{namespace}")).await);
}

async fn charts_of_a_package_come_from_all_places(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    let about = "apiVersion: v2\nname: app\nversion: 1.0.0\n";
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\ndata:\n  \
                    for: {{ .Release.Name }}\n  text: ###ZARF_VAR_TEXT###\n";
    let file = |text: &str| ArchiveEntry::File(text.as_bytes().to_vec());
    let chart = archive([
        ("app/Chart.yaml", file(about)),
        ("app/templates/page.yaml", file(template)),
    ]);
    server.publish("app", "1.0.0", &chart);
    let (other, third) = (
        w.other_namespace("other").await,
        w.other_namespace("third").await,
    );
    let packed = w.other_namespace("packed").await;
    let (repo, registry) = (server.repository(), server.reference("app"));
    let package = format!(
        "kind: ZarfPackageConfig\nmetadata: {{name: web}}\nvariables: [{{name: TEXT, default: hello}}]\n\
         components:\n- name: pages\n  required: true\n  charts:\n  \
         - {{name: app, url: '{repo}', version: 1.0.0}}\n  \
         - {{name: two, repoName: app, url: '{repo}', version: 1.0.0, namespace: {other}}}\n  \
         - {{name: three, url: '{registry}', version: 1.0.0, namespace: {third}}}\n  \
         - {{name: four, localPath: charts/app-1.0.0.tgz, namespace: {packed}}}\n"
    );
    let dir = w.dir().join("web");
    std::fs::create_dir_all(dir.join("charts")).unwrap();
    std::fs::write(dir.join("charts/app-1.0.0.tgz"), &chart).unwrap();
    std::fs::write(dir.join("zarf.yaml"), package).unwrap();
    let dir = dir.display().to_string();
    w.opm(&["mod", "apply", &dir]).await.ok();
    let there = [&other, &third, &packed].map(|namespace| format!("{namespace}:ConfigMap/page"));
    let [two, three, four] = &there;
    w.holds_exactly("web", &["ConfigMap/page", two, three, four])
        .await;
    for (place, release) in there.iter().zip(["two", "three", "four"]) {
        let page = w.get(place).await.unwrap();
        assert_eq!(
            (&page["data"]["for"], &page["data"]["text"]),
            (&json!(release), &json!("hello"))
        );
    }
    // What is in the package is no reference that could change.
    let record = w.record("web").await;
    let charts = record.current()["module"]["charts"].as_object().unwrap();
    assert_eq!(
        charts.keys().collect::<Vec<_>>(),
        ["pages/app", "pages/three", "pages/two"]
    );
}
