//! Charts that look at the cluster: only those whose components say so, and only where one is asked.

use std::fs;
use std::path::Path;

use opm_e2e::objects::config_map;
use opm_e2e::{Module, World, scenarios};
use serde_json::json;

scenarios! {
    a_chart_looks_at_the_cluster_only_where_it_may,
    a_chart_that_keeps_what_it_finds_can_be_applied_again,
    a_helm_that_is_too_old_to_look_is_told,
}

/// A module whose chart says what it finds of ConfigMap `theirs`.
fn looking(w: &World, lookup: bool) -> String {
    let dir = w.write(&Module::new("shop").chart("app", &[config_map("said", "")]));
    let template = "{{- $theirs := lookup \"v1\" \"ConfigMap\" .Release.Namespace \"theirs\" }}\n\
        {{- $own := lookup \"v1\" \"ConfigMap\" .Release.Namespace \"said\" }}\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata: {name: said}\n\
        data: {found: {{ dig \"data\" \"k\" \"nothing\" $theirs | quote }}, \
        made: {{ dig \"data\" \"made\" (randAlphaNum 8) $own | quote }}}\n";
    let dir_path = Path::new(&dir);
    fs::write(dir_path.join("charts/app/templates/00.yaml"), template).unwrap();
    let chart = json!({"path": "charts/app", "lookup": lookup});
    let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
        "metadata": {"name": "shop"}, "components": [{"name": "app", "chart": chart}]});
    fs::write(dir_path.join("module.yaml"), module.to_string()).unwrap();
    dir
}

async fn found(w: &World) -> String {
    let said = w.get("ConfigMap/said").await.expect("it is applied");
    said["data"]["found"].as_str().unwrap().to_owned()
}

async fn a_chart_looks_at_the_cluster_only_where_it_may(w: World) {
    let Some(w) = w.with_helm() else { return };
    w.api.create(&w.ns, &config_map("theirs", "theirs")).await;
    let dir = looking(&w, false);
    w.opm(&["mod", "apply", &dir]).await.ok();
    assert_eq!(found(&w).await, "nothing");
    let dir = looking(&w, true);
    w.opm(&["mod", "diff", &dir]).await.ok().says("theirs");
    w.opm(&["mod", "apply", &dir]).await.ok();
    assert_eq!(found(&w).await, "theirs");
    // Neither of these asks a cluster.
    w.opm(&["mod", "vet", &dir])
        .await
        .ok()
        .says("component app: its chart may look at the cluster, and finds nothing here");
    let built = w.opm(&["mod", "build", &dir]).await.ok();
    assert!(built.stdout().contains("found: nothing"), "{built}");
}

async fn a_chart_that_keeps_what_it_finds_can_be_applied_again(w: World) {
    let Some(w) = w.with_helm() else { return };
    let dir = looking(&w, true);
    w.opm(&["mod", "apply", &dir]).await.ok();
    let made = w.get("ConfigMap/said").await.unwrap()["data"]["made"].clone();
    for flags in [&[][..], &["--rotate"]] {
        let apply = [&["mod", "apply", &dir, "-o", "json"], flags].concat();
        w.opm(&apply).await.ok().did("unchanged", "ConfigMap/said");
    }
    assert_eq!(w.get("ConfigMap/said").await.unwrap()["data"]["made"], made);
    w.delete("shop", &[]).await.ok();
}

async fn a_helm_that_is_too_old_to_look_is_told(w: World) {
    let old = w.dir().join("helm");
    fs::write(&old, "#!/bin/sh\necho v3.16.4+g7877b45\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&old, mode).unwrap();
    let dir = looking(&w, true);
    w.opm_with(
        &[("OPM_HELM", old.to_str().unwrap())],
        &["mod", "apply", &dir],
    )
    .await
    .ends(2)
    .says("charts that look at the cluster need Helm 3.17 or later");
}
