//! Real connections that break: resets on either side of the server's work, requests that hang,
//! a server that is away for a while, a proxy in between.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opm_cluster::{
    ClientSettings, ClusterClient, ConnectOptions, Connection, RetryPolicy, connect,
};
use opm_engine::ports::{
    ApiErrorKind, Cluster as _, DeleteOutcome, Detail, Observation, Permit, Precondition,
    SecretStore as _, WatchEvent,
};
use opm_testkit::relay::{Fault, Moment, Relay, RequestFilter, TcpRelay};
use opm_testkit::{HANG, until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::{Setup, apply, deletion, on_a_server, uid};

async fn client_of(kubeconfig: &Path) -> ClusterClient {
    let connected = connect(ConnectOptions {
        kubeconfig: Some(kubeconfig.to_owned()),
        ..ConnectOptions::default()
    });
    let Connection { client, .. } = connected.await.unwrap();
    client.with_settings(ClientSettings {
        attempt_timeout: Duration::from_secs(2),
        retry: RetryPolicy {
            first_wait: Duration::from_millis(20),
            budget: HANG,
            ..RetryPolicy::default()
        },
        ..ClientSettings::default()
    })
}

async fn through_a_relay(test: &Setup) -> (Relay, ClusterClient) {
    let user = test.namespace.admin().await;
    let relay = Relay::start(user.kubeconfig()).await.unwrap();
    let path = test.namespace.files().join("relay");
    let client = client_of(&relay.write_kubeconfig(&path).unwrap()).await;
    client.served().await.unwrap();
    (relay, client)
}

#[tokio::test]
async fn resets_on_either_side_of_the_servers_work() {
    let test = on_a_server!("resets");
    let (relay, client) = through_a_relay(&test).await;
    let permit = Permit::default();
    for (n, moment) in [Moment::Before, Moment::After].into_iter().enumerate() {
        let name = format!("x{n}");
        let identity = test.map_id(&name);
        relay.on(RequestFilter::verb("patch"), Fault::Reset(moment));
        let before = relay.count();
        let map = test.map(&name, json!({"a": "1"}));
        let sent = apply(&client, &map, Precondition::Absent, false).await;
        let sent = sent.unwrap();
        assert!(sent.created, "{moment:?}");
        assert!(relay.count() > before + 1, "{moment:?}: it was sent again");
        let uid = uid(&sent.object);

        relay.on(RequestFilter::verb("patch"), Fault::Reset(moment));
        let map = test.map(&name, json!({"a": "2"}));
        let mode = Precondition::Exists { uid: uid.clone() };
        let sent = apply(&client, &map, mode, true).await.unwrap();
        assert_eq!(sent.object["data"], json!({"a": "2"}));

        relay.on(RequestFilter::path(&name), Fault::Reset(moment));
        let looks = client
            .look(std::slice::from_ref(&identity), Detail::Whole)
            .await;
        assert!(matches!(looks[&identity], Observation::Present(_)));

        relay.on(RequestFilter::verb("delete"), Fault::Reset(moment));
        let outcome = client.delete(deletion(&identity, &uid), permit).await;
        assert_eq!(outcome.unwrap(), DeleteOutcome::Gone, "{moment:?}");
    }
}

/// The first attempt hangs past its time and lands after the second: once is enough.
#[tokio::test]
async fn a_request_that_lands_late_does_no_harm() {
    let test = on_a_server!("late");
    let (relay, client) = through_a_relay(&test).await;
    let client = client.with_settings(ClientSettings {
        attempt_timeout: Duration::from_millis(300),
        ..client_settings()
    });
    let stalled = Fault::Stall(Moment::Before, HANG);
    relay.on(RequestFilter::verb("patch"), stalled.clone());
    let map = test.map("x", json!({"a": "1"}));
    let sent = apply(&client, &map, Precondition::Absent, false)
        .await
        .unwrap();
    assert!(sent.created);
    let created = uid(&sent.object);
    relay.on(RequestFilter::verb("delete"), stalled);
    let identity = test.map_id("x");
    let outcome = client
        .delete(deletion(&identity, &created), Permit::default())
        .await;
    assert!(matches!(
        outcome.unwrap(),
        DeleteOutcome::Gone | DeleteOutcome::WasGone
    ));
    // Recreated at once; the late delete is of the first one's uid.
    let second = test.create_map("x").await;
    let codes = |verb: &str| -> Vec<u16> {
        let requests = relay.requests().into_iter();
        let of_verb = requests.filter(|one| one.verb == verb);
        of_verb.map(|one| one.code).collect()
    };
    for verb in ["patch", "delete"] {
        let codes = codes(verb);
        assert_eq!(codes[0], 0, "the first {verb} is on its way: {codes:?}");
        assert!(codes.len() > 1, "it was sent again: {codes:?}");
    }
    relay.release();
    until("the late requests have landed", async || {
        ["patch", "delete"]
            .iter()
            .all(|verb| !codes(verb).contains(&0))
    })
    .await;
    assert_eq!(codes("delete")[0], 409, "it is of another object");
    let live = test.live_map("x").await.expect("still there");
    assert_eq!(live["metadata"]["uid"], second.as_str());
}

fn client_settings() -> ClientSettings {
    ClientSettings {
        retry: RetryPolicy {
            first_wait: Duration::from_millis(20),
            ..RetryPolicy::default()
        },
        ..ClientSettings::default()
    }
}

#[tokio::test]
async fn a_watch_survives_cut_connections() {
    let test = on_a_server!("cut");
    let user = test.namespace.admin().await;
    let relay = TcpRelay::start(user.kubeconfig(), Duration::ZERO).unwrap();
    let path = test.namespace.files().join("tcp");
    let client = client_of(&relay.write_kubeconfig(&path).unwrap()).await;
    let created = test.create_map("x").await;
    let versions = Mutex::new(Vec::new());
    let mut on_event = |event: WatchEvent| {
        let WatchEvent::Seen(_, object) = event else {
            return false;
        };
        let value = object["data"]["a"].as_str().unwrap().to_owned();
        let last = value == "4";
        versions.lock().unwrap().push(value);
        last
    };
    let wanted = [test.map_id("x")];
    let watch = client.watch(&wanted, HANG, &mut on_event);
    let act = async {
        for n in 2..=4 {
            until("the last change was seen", async || {
                versions.lock().unwrap().len() == n - 1
            })
            .await;
            relay.cut();
            let map = test.map("x", json!({"a": n.to_string()}));
            let mode = Precondition::Exists {
                uid: created.clone(),
            };
            test.apply(&map, mode).await.unwrap();
        }
    };
    let (seen, ()) = futures::join!(watch, act);
    assert!(seen.unwrap());
    assert_eq!(*versions.lock().unwrap(), ["1", "2", "3", "4"]);
}

/// Passes connections on to wherever they lead: to `server`, or where a CONNECT asks to.
async fn pass_on(listener: TcpListener, server: Option<SocketAddr>, count: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    while let Ok((mut near, _)) = listener.accept().await {
        count.fetch_add(1, Ordering::SeqCst);
        connections.spawn(async move {
            let address = match server {
                Some(address) => address.to_string(),
                None => connect_target(&mut near).await,
            };
            let mut far = TcpStream::connect(address).await?;
            copy_bidirectional(&mut near, &mut far).await
        });
    }
}

async fn connect_target(near: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(near.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let target = head.strip_prefix("CONNECT ").expect("a CONNECT");
    target.split(' ').next().unwrap().to_owned()
}

/// The address of the server in a kubeconfig, and the kubeconfig's text.
fn server_in(kubeconfig: &Path) -> (SocketAddr, String) {
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let (_, rest) = text.split_once("https://").unwrap();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
    (rest[..end.unwrap()].parse().unwrap(), text)
}

#[tokio::test]
async fn a_server_that_is_away_for_a_while_is_waited_for() {
    let test = on_a_server!("away");
    let user = test.namespace.admin().await;
    let (server, text) = server_in(user.kubeconfig());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let path = test.namespace.files().join("away");
    std::fs::write(
        &path,
        text.replace(&server.to_string(), &address.to_string()),
    )
    .unwrap();
    let count = Arc::<AtomicUsize>::default();
    let up = tokio::spawn(pass_on(listener, Some(server), Arc::clone(&count)));
    let client = client_of(&path).await;
    client.served().await.unwrap();
    up.abort();
    let _ = up.await;
    let map = test.map("x", json!({"a": "1"}));
    let back = async {
        // For this long it is away: longer than the first few attempts take.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let listener = TcpListener::bind(address).await.unwrap();
        tokio::spawn(pass_on(listener, Some(server), count)).abort_handle()
    };
    let (sent, up) = futures::join!(apply(&client, &map, Precondition::Absent, false), back);
    assert!(sent.unwrap().created);
    up.abort();
}

#[tokio::test]
async fn a_proxy_of_the_kubeconfig_is_used() {
    let test = on_a_server!("proxied");
    let user = test.namespace.admin().await;
    let (server, text) = server_in(user.kubeconfig());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = listener.local_addr().unwrap();
    let count = Arc::<AtomicUsize>::default();
    let up = tokio::spawn(pass_on(listener, None, Arc::clone(&count)));
    let mut config = kube::config::Kubeconfig::from_yaml(&text).unwrap();
    let cluster = config.clusters[0].cluster.as_mut().unwrap();
    cluster.proxy_url = Some(format!("http://{proxy}"));
    let path = test.namespace.files().join("proxied");
    std::fs::write(&path, serde_json::to_string(&config).unwrap()).unwrap();
    let client = client_of(&path).await;
    assert_eq!(client.user().await.as_deref(), Some(user.name()));
    assert!(
        count.load(Ordering::SeqCst) > 0,
        "{server} was reached through the proxy"
    );
    up.abort();
}

/// What the server's operators see of this client.
#[tokio::test]
async fn a_request_says_which_program_sends_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(near.read_u8().await.unwrap());
        }
        let answer = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno";
        near.write_all(answer).await.unwrap();
        String::from_utf8(head).unwrap().to_lowercase()
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    let config = json!({"current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "u", "user": {"token": "t0ken", "as": "eve", "as-groups": ["g"]}}]});
    std::fs::write(&path, config.to_string()).unwrap();
    let client = client_of(&path).await;
    let error = client.get_secret("n", "x").await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Forbidden);
    let head = server.await.unwrap();
    assert!(
        head.starts_with("get /api/v1/namespaces/n/secrets/x http/1.1"),
        "{head}"
    );
    for line in [
        "user-agent: opm/",
        "authorization: bearer t0ken",
        "impersonate-user: eve",
        "impersonate-group: g",
    ] {
        assert!(head.contains(line), "{line} in {head}");
    }
}
