//! The relay kills the process under test, right before its request reaches the server or right
//! after, over HTTP/1.1 and HTTP/2. kubectl stands in for the process under test.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use opm_testkit::programs::Program;
use opm_testkit::relay::{Fault, Moment, Protocol, Relay, RequestFilter};
use opm_testkit::{ControlPlane, TestNamespace};

/// Creates ConfigMaps of these names, one process each, all through the relay.
async fn kubectl(namespace: &TestNamespace, relay: &Relay, name: &str) -> ExitStatus {
    let kubeconfig = relay
        .write_kubeconfig(&namespace.files().join("relay"))
        .unwrap();
    let mut child = tokio::process::Command::new(Program::Kubectl.find().unwrap())
        .args(["create", "configmap", name, "--kubeconfig"])
        .arg(kubeconfig)
        .env("HOME", namespace.files())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    relay.aim_at(child.id().unwrap());
    child.wait().await.unwrap()
}

#[tokio::test]
async fn each_kill_point_kills() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("kill").await;
    let admin = namespace.admin().await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let relay = Relay::start_with(admin.kubeconfig(), protocol)
            .await
            .unwrap();
        for moment in [Moment::Before, Moment::After] {
            let name = format!("{protocol:?}-{moment:?}").to_lowercase();
            relay.clear_rules();
            relay.on(
                RequestFilter::verb("create").and_path("/configmaps"),
                Fault::Kill(moment),
            );
            let status = kubectl(&namespace, &relay, &name).await;
            assert_eq!(status.signal(), Some(9), "{name}: {status}");
            let made = namespace
                .api::<ConfigMap>()
                .get_opt(&name)
                .await
                .unwrap()
                .is_some();
            assert_eq!(made, moment == Moment::After, "{name}");
            let status = kubectl(&namespace, &relay, &format!("{name}-again")).await;
            assert!(status.success(), "the rule strikes once: {status}");
        }
    }
}

#[tokio::test]
async fn the_nth_request_of_a_process_is_a_kill_point_too() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("kill-nth").await;
    let admin = namespace.admin().await;
    let relay = Relay::start(admin.kubeconfig()).await.unwrap();
    assert!(kubectl(&namespace, &relay, "whole").await.success());
    let whole = relay.count();
    assert!(whole >= 1);
    for n in 1..=whole {
        let before = relay.count();
        relay.clear_rules();
        relay.on(RequestFilter::nth(n), Fault::Kill(Moment::Before));
        let status = kubectl(&namespace, &relay, &format!("part-{n}")).await;
        assert_eq!(status.signal(), Some(9), "at request {n}: {status}");
        assert_eq!(relay.count() - before, n, "nothing is sent after the kill");
    }
}
