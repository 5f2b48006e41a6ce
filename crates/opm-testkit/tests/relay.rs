//! Each fault of the relay is really seen by a client, over HTTP/1.1 and over HTTP/2.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, core::Status};
use opm_testkit::relay::{Fault, Moment, Protocol, Relay, RequestFilter, TcpRelay, client};
use opm_testkit::{ControlPlane, HANG, TestNamespace, unless_it_hangs, until};
use serde_json::json;

const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

/// A relay that speaks one version of HTTP only, in front of a namespace, and a client of it.
struct Bench {
    namespace: TestNamespace,
    relay: Relay,
    client: Client,
}

impl Bench {
    async fn set_up(plane: &'static ControlPlane, protocol: Protocol) -> Self {
        let namespace = plane.namespace("relay").await;
        let admin = namespace.admin().await;
        let relay = Relay::start_with(admin.kubeconfig(), protocol)
            .await
            .unwrap();
        let path = relay
            .write_kubeconfig(&namespace.files().join("relay"))
            .unwrap();
        let client = client(&path, protocol).await.unwrap();
        Self {
            namespace,
            relay,
            client,
        }
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.client.clone())
    }

    async fn apply(&self, name: &str) -> kube::Result<ConfigMap> {
        let patch = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": {},
        });
        self.maps()
            .patch(name, &PatchParams::apply("kit"), &Patch::Apply(&patch))
            .await
    }

    /// Whether the object is really there, asked past the relay.
    async fn exists(&self, name: &str) -> bool {
        self.namespace
            .api::<ConfigMap>()
            .get_opt(name)
            .await
            .unwrap()
            .is_some()
    }
}

fn status(error: kube::Error) -> Status {
    match error {
        kube::Error::Api(status) => *status,
        other => panic!("not an answer: {other:?}"),
    }
}

fn is_transport_error(error: &kube::Error) -> bool {
    matches!(error, kube::Error::HyperError(_) | kube::Error::Service(_))
}

#[tokio::test]
async fn answers_of_the_relay_reach_the_client_and_not_the_server() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let faults = [
        (Fault::conflict(), 409, "Conflict"),
        (Fault::too_many_requests(7), 429, "TooManyRequests"),
        (Fault::internal_error(), 500, "InternalError"),
        (Fault::error_without_reason(), 500, ""),
        (Fault::unavailable(), 503, "ServiceUnavailable"),
        (Fault::forbidden(), 403, "Forbidden"),
    ];
    for protocol in PROTOCOLS {
        let bench = Bench::set_up(plane, protocol).await;
        for (n, (fault, code, reason)) in faults.iter().enumerate() {
            let name = format!("answer-{n}");
            bench
                .relay
                .on(RequestFilter::verb("patch").and_path(&name), fault.clone());
            let seen = status(bench.apply(&name).await.unwrap_err());
            assert_eq!(
                (seen.code, seen.reason.as_str()),
                (*code, *reason),
                "{protocol:?}"
            );
            assert!(
                !bench.exists(&name).await,
                "{fault:?} let the request through"
            );
            bench.apply(&name).await.expect("the rule strikes once");
            assert!(bench.exists(&name).await);
        }
    }
}

#[tokio::test]
async fn retry_after_is_sent_as_a_header() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    for protocol in PROTOCOLS {
        let bench = Bench::set_up(plane, protocol).await;
        bench
            .relay
            .on(RequestFilter::next(), Fault::too_many_requests(7));
        let request = Request::get("/version")
            .body(kube::client::Body::empty())
            .unwrap();
        let answer = bench.client.send(request).await.unwrap();
        assert_eq!(answer.status(), 429);
        let version = match protocol {
            Protocol::Http2 => http::Version::HTTP_2,
            _ => http::Version::HTTP_11,
        };
        assert_eq!(answer.version(), version);
        assert_eq!(answer.headers()["retry-after"], "7", "{protocol:?}");
    }
}

#[tokio::test]
async fn a_reset_before_reaches_no_server_and_a_reset_after_does() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    for protocol in PROTOCOLS {
        let bench = Bench::set_up(plane, protocol).await;
        for (name, moment) in [("before", Moment::Before), ("after", Moment::After)] {
            bench
                .relay
                .on(RequestFilter::path(name), Fault::Reset(moment));
            let error = bench.apply(name).await.unwrap_err();
            assert!(
                is_transport_error(&error),
                "{protocol:?} {moment:?}: {error:?}"
            );
            assert_eq!(
                bench.exists(name).await,
                moment == Moment::After,
                "{protocol:?} {moment:?}"
            );
        }
        bench
            .apply("again")
            .await
            .expect("a new connection is served");
    }
}

#[tokio::test]
async fn a_stall_holds_the_request_or_its_answer() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    for protocol in PROTOCOLS {
        let bench = Bench::set_up(plane, protocol).await;
        for (name, moment) in [("before", Moment::Before), ("after", Moment::After)] {
            bench
                .relay
                .on(RequestFilter::path(name), Fault::Stall(moment, HANG));
            let mut applying = std::pin::pin!(bench.apply(name));
            let stalled = async {
                until("the request is stalled", async || {
                    let arrived = bench
                        .relay
                        .requests()
                        .iter()
                        .any(|one| one.uri.contains(name));
                    arrived && (moment == Moment::Before || bench.exists(name).await)
                })
                .await;
            };
            tokio::select! {
                _ = &mut applying => panic!("{protocol:?} {moment:?}: it was not held"),
                () = stalled => {}
            }
            let there = bench.exists(name).await;
            assert_eq!(there, moment == Moment::After, "{protocol:?} {moment:?}");
            bench.relay.release();
            applying.await.unwrap();
        }
    }
}

/// A request that is on its way lands, whether or not its client still waits for the answer.
#[tokio::test]
async fn a_stalled_request_outlives_its_client() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    for protocol in PROTOCOLS {
        let bench = Bench::set_up(plane, protocol).await;
        bench.relay.on(
            RequestFilter::path("late"),
            Fault::Stall(Moment::Before, HANG),
        );
        {
            let arrived = until("it has arrived", async || bench.relay.count() == 1);
            tokio::select! {
                _ = bench.apply("late") => panic!("{protocol:?}: it was not held"),
                () = arrived => {}
            }
        }
        assert!(!bench.exists("late").await);
        bench.relay.release();
        until("it lands", async || bench.exists("late").await).await;
    }
}

#[tokio::test]
async fn the_nth_request_is_met_and_all_are_counted() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    for protocol in PROTOCOLS {
        let bench = Bench::set_up(plane, protocol).await;
        bench.relay.on(RequestFilter::nth(3), Fault::unavailable());
        let mut failed = Vec::new();
        for n in 1..=5 {
            if bench.apply(&format!("n-{n}")).await.is_err() {
                failed.push(n);
            }
        }
        assert_eq!(failed, [3], "{protocol:?}");
        let seen = bench.relay.requests();
        let codes: Vec<_> = seen.iter().map(|one| one.code).collect();
        assert_eq!(codes, [201, 201, 503, 201, 201], "{protocol:?}");
        assert!(seen.iter().all(|one| one.what() == "patch configmaps"));
    }
}

#[tokio::test]
async fn a_watch_streams_through_the_relay() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    for protocol in PROTOCOLS {
        let bench = Bench::set_up(plane, protocol).await;
        let maps = bench.maps();
        let mut events = maps
            .watch(&WatchParams::default(), "0")
            .await
            .unwrap()
            .boxed();
        bench.apply("watched").await.unwrap();
        let arrived = async {
            while let Some(event) = events.next().await {
                match event.unwrap() {
                    WatchEvent::Added(map) if map.metadata.name.as_deref() == Some("watched") => {
                        return;
                    }
                    _ => {}
                }
            }
            panic!("the watch ended");
        };
        unless_it_hangs("the event arrives", arrived).await;
    }
}

#[tokio::test]
async fn a_token_is_passed_on_and_a_missing_one_is_not_made_up() {
    let Some(plane) = ControlPlane::own_for_test().await else {
        return;
    };
    let namespace = plane.namespace("relay-token").await;
    // The kubeconfig of the control plane itself holds a token.
    let relay = Relay::start(plane.kubeconfig()).await.unwrap();
    let path = relay
        .write_kubeconfig(&namespace.files().join("relay"))
        .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(
        client(&path, Protocol::Http2).await.unwrap(),
        namespace.name(),
    );
    let map = ConfigMap {
        metadata: kube::core::ObjectMeta {
            name: Some("a".into()),
            ..Default::default()
        },
        ..Default::default()
    };
    maps.create(&PostParams::default(), &map).await.unwrap();

    let text = std::fs::read_to_string(&path).unwrap();
    let mut nobody: serde_json::Value = serde_json::from_str(&text).unwrap();
    nobody["users"][0]["user"] = json!({});
    let path: PathBuf = namespace.files().join("nobody");
    std::fs::write(&path, nobody.to_string()).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(
        client(&path, Protocol::Http2).await.unwrap(),
        namespace.name(),
    );
    assert_eq!(status(maps.get("a").await.unwrap_err()).code, 403);
}

#[tokio::test]
async fn the_tcp_relay_delays_and_cuts() {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    let namespace = plane.namespace("relay-tcp").await;
    let admin = namespace.admin().await;
    let round_trip = Duration::from_millis(20);
    let relay = TcpRelay::start(admin.kubeconfig(), round_trip).unwrap();
    let path = relay
        .write_kubeconfig(&namespace.files().join("relay"))
        .unwrap();
    for protocol in PROTOCOLS {
        let maps: Api<ConfigMap> = Api::default_namespaced(client(&path, protocol).await.unwrap());
        maps.get_opt("none").await.unwrap();
        let begin = Instant::now();
        for _ in 0..5 {
            maps.get_opt("none").await.unwrap();
        }
        let each = begin.elapsed() / 5;
        assert!(
            each >= round_trip,
            "{protocol:?}: {each:?} for a round trip"
        );

        let mut events = maps
            .watch(&WatchParams::default(), "0")
            .await
            .unwrap()
            .boxed();
        relay.cut();
        let ended = async {
            loop {
                match events.next().await {
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                }
            }
        };
        unless_it_hangs("the watch is cut off", ended).await;
        maps.get_opt("none")
            .await
            .expect("a new connection is served");
    }
}
