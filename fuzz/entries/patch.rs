//! The entry point for patches: any bytes, sent to the sandbox as a patch of every type. Nothing
//! may panic or be an error of the server's own, and a pretended patch changes nothing.

use std::sync::OnceLock;

use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use opm_sandbox::Sandbox;
use serde_json::Value;
use tower::ServiceExt as _;

const TYPES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

const OBJECTS: [(&str, &str); 2] = [
    (
        "/api/v1/namespaces/default/configmaps",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1"}}"#,
    ),
    (
        "/apis/apps/v1/namespaces/default/deployments",
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{
        "selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},
        "spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
    ),
];

/// Takes any bytes.
pub(crate) fn run(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for (collection, object) in OBJECTS {
            let made = send(
                Method::POST,
                collection,
                "application/json",
                object.as_bytes(),
            );
            let (status, _) = made.await;
            assert!(matches!(status, 201 | 409), "{status}");
            let path = format!("{collection}/a");
            let before = send(Method::GET, &path, "application/json", b"").await;
            for patch in TYPES {
                let pretended = format!("{path}?dryRun=All&fieldManager=fuzz&force=true");
                let pretended = match patch.contains("apply") {
                    true => pretended,
                    false => pretended.replace("&force=true", ""),
                };
                let (status, body) = send(Method::PATCH, &pretended, patch, data).await;
                // A real server calls an apply of unknown fields an error of its own, too.
                let message = body["message"].as_str().unwrap_or_default();
                let typed = message.starts_with("failed to create typed patch object");
                assert!(status < 500 || typed, "{patch}: {status} {body}");
            }
            let after = send(Method::GET, &path, "application/json", b"").await;
            // The sandbox's own controllers write the status, and annotate.
            for part in ["data", "spec"] {
                assert_eq!(after.1[part], before.1[part]);
            }
        }
    });
}

async fn send(method: Method, path: &str, content_type: &str, body: &[u8]) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .header("accept", "application/json")
        .body(Full::new(bytes::Bytes::copy_from_slice(body)))
        .expect("a request");
    let response = sandbox().clone().oneshot(request).await;
    let response = response.expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body");
    let body = serde_json::from_slice(&body.to_bytes()).unwrap_or(Value::Null);
    (status, body)
}

/// A sandbox of this process alone.
fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        let directory = std::env::temp_dir().join(format!("opm-patch-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a writable directory");
        Sandbox::open(&directory).expect("a sandbox")
    })
}
