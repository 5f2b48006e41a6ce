//! What a Secret holds is never shown: not in a difference, not in a copy of the object, and not when
//! the server quotes it. Every run of every scenario is searched for it; here it is provoked. And
//! what somebody may not read is no difference.

use opm_e2e::objects::{annotated, config_map, deployment, secret};
use opm_e2e::{Rights, World, scenarios};
use serde_json::json;

use super::diff::web;

scenarios! {
    secrets_name_their_keys_and_nothing_more,
    #[real_only("does not apply to the sandbox, which has no access control")]
    what_may_not_be_seen_is_no_difference,
}

async fn secrets_name_their_keys_and_nothing_more(w: World) {
    let creds = |password: &str, extra: &[(&str, &str)]| {
        let mut object = secret("creds", password);
        for (key, value) in extra {
            object["stringData"][*key] = json!(value);
        }
        web(&[object])
    };
    w.apply(&creds("first-password", &[("gone", "gone-for-good")]), &[])
        .await
        .ok();
    // As `kubectl apply` would leave it: a copy of everything in an annotation.
    w.hide("copied-by-kubectl");
    let copy = r#"{"stringData":{"password":"copied-by-kubectl"}}"#;
    let annotation = json!({"metadata": {"annotations":
        {"kubectl.kubernetes.io/last-applied-configuration": copy}}});
    let path = opm_e2e::api::object("Secret/creds", &w.ns);
    w.api.merge(&path, annotation).await;

    let edited = creds("second-password", &[("new", "brand-new-value")]);
    let dir = w.write(&edited);
    for format in ["table", "wide", "json", "yaml"] {
        let arguments = ["mod", "diff", &dir, "-o", format, "-vv", "--events"];
        w.opm(&arguments)
            .await
            .ok()
            .says("password")
            .says("gone")
            .says("new");
    }
    let diff = w.diff(&edited, &[]).await.ok();
    let paths: Vec<String> = diff
        .changes("Secret/creds")
        .into_iter()
        .map(|(path, ..)| path)
        .collect();
    assert_eq!(paths, ["data.gone", "data.new", "data.password"], "{diff}");

    // The annotation itself changes, or the whole Secret is new.
    let annotated = annotated(
        secret("creds", "third-password"),
        "kubectl.kubernetes.io/last-applied-configuration",
        r#"{"data":"copied-by-kubectl"}"#,
    );
    let module = web(&[annotated, secret("more", "fourth-password")]);
    let diff = w.diff(&module, &["-v"]).await.ok();
    assert_eq!(diff.action("Secret/more").as_deref(), Some("created"));

    // Values that the server quotes in its refusal.
    let mut broken = secret("creds", "fifth-password");
    broken["data"]["invalid key!"] = json!("c2l4dGgtcGFzc3dvcmQ=");
    broken["data"]["not base64"] = json!("seventh-password !");
    w.hide("seventh-password");
    let dir = w.write(&web(&[broken]));
    for format in ["table", "json", "yaml"] {
        let ran = w.opm(&["mod", "diff", &dir, "-o", format, "-vv"]).await;
        assert_ne!(ran.code(), 0, "{ran}");
    }
}

async fn what_may_not_be_seen_is_no_difference(w: World) {
    w.apply(&web(&[config_map("a", "1"), deployment("web")]), &[])
        .await
        .ok();
    let rights = Rights::none()
        .allow("", &["configmaps"], &["get", "list", "patch"])
        .allow("", &["secrets"], &["get", "list"]);
    let user = w.user(&rights).await;
    let dir = w.write(&web(&[config_map("a", "2"), deployment("web")]));
    let arguments = ["mod", "diff", &dir, "-o", "json", "--exit-code"];
    let diff = w.opm_as(user.kubeconfig(), &arguments).await.ends(4);
    let configured = diff.action("ConfigMap/a");
    assert_eq!(configured.as_deref(), Some("configured"), "{diff}");
    let refused = diff.action("Deployment/web");
    assert_eq!(refused.as_deref(), Some("refused"), "{diff}");
    assert_eq!(diff.json()["error"]["kind"], "not-permitted");
}
