//! The entry point for the stream of a watch: any bytes, as what the server sends. Nothing may
//! panic, and what is seen is what was asked for.

use std::convert::Infallible;
use std::time::Duration;

use http::{Request, Response};
use opm_cluster::{ClusterClient, KubeClient};
use opm_core::identity::{GroupKind, Identity};
use opm_engine::ports::{Cluster as _, WatchEvent};

/// What the server serves: the one kind that is watched.
const KINDS: &str = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2",
    "metadata":{},"items":[{"metadata":{"name":""},"versions":[{"version":"v1","resources":[
    {"resource":"configmaps","responseKind":{"group":"","version":"v1","kind":"ConfigMap"},
    "scope":"Namespaced","singularResource":"configmap",
    "verbs":["get","list","watch","patch","delete"]}]}]}]}"#;
const NO_KINDS: &str = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2",
    "metadata":{},"items":[]}"#;
const NOTHING: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1",
    "metadata":{"resourceVersion":"1"},"items":[]}"#;

/// Takes any bytes.
pub(crate) fn run(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(watch(data.to_vec()));
}

async fn watch(data: Vec<u8>) {
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let data = data.clone();
        async move { Ok::<_, Infallible>(answer(&request, data)) }
    });
    let client = ClusterClient::from_client(KubeClient::new(service, "default"));
    let wanted = Identity::new(GroupKind::new("", "ConfigMap"), Some("default"), "a");
    let mut events = 0;
    let mut on_event = |event: WatchEvent| {
        let (WatchEvent::Seen(identity, _) | WatchEvent::Gone(identity)) = event;
        assert_eq!(identity, wanted);
        events += 1;
        events > 100
    };
    let watched = [wanted.clone()];
    // Long enough for the stream to be read; what comes after it is the same stream again.
    let lasts = Duration::from_millis(50);
    let _ = client.watch(&watched, lasts, &mut on_event).await;
}

fn answer(
    request: &Request<kube::client::Body>,
    data: Vec<u8>,
) -> Response<http_body_util::Full<bytes::Bytes>> {
    let (path, query) = (request.uri().path(), request.uri().query());
    let body = match path {
        "/api" => KINDS.as_bytes().to_vec(),
        "/apis" => NO_KINDS.as_bytes().to_vec(),
        _ if query.is_some_and(|query| query.contains("watch=true")) => data,
        _ => NOTHING.as_bytes().to_vec(),
    };
    let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let kind = match path {
        "/api" | "/apis" => kind,
        _ => "application/json",
    };
    Response::builder()
        .header("content-type", kind)
        .header("date", "Wed, 11 Feb 2026 14:30:00 GMT")
        .body(http_body_util::Full::new(body.into()))
        .expect("an answer")
}
