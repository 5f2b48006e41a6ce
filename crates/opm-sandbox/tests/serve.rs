//! The served sandbox, byte by byte: who is let in, and what a client may take.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail loudly"
)]

use std::time::Duration;

use opm_sandbox::{Sandbox, ServeOptions, Server, serve_with};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

struct Served {
    server: Server,
    _dir: tempfile::TempDir,
}

impl Served {
    async fn with(options: &ServeOptions) -> Served {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::open(dir.path()).unwrap();
        let server = serve_with(sandbox, options).await.unwrap();
        Served { server, _dir: dir }
    }

    fn token(&self) -> String {
        let kubeconfig = self.server.kubeconfig();
        let token = kubeconfig.split("token: ").nth(1).unwrap();
        token.trim().to_string()
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.server.address()).await.unwrap()
    }

    /// Everything that is answered until the server closes.
    async fn ask(&self, text: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn get(&self, headers: &str) -> String {
        self.get_at("/version", headers).await
    }

    async fn get_at(&self, path: &str, headers: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n");
        self.ask(&format!("{head}{headers}\r\n")).await
    }
}

#[tokio::test]
async fn only_who_shows_the_token_is_let_in() {
    let served = Served::with(&ServeOptions::default()).await;
    let (address, token) = (served.server.address(), served.token());
    let own = format!("Host: {address}\r\n");
    let shown = format!("Authorization: Bearer {token}\r\n");
    let last = if token.ends_with('0') { '1' } else { '0' };
    let wrong = format!(
        "Authorization: Bearer {}{last}\r\n",
        &token[..token.len() - 1]
    );
    for (headers, code) in [
        (format!("{own}{shown}"), 200),
        (format!("Host: localhost:1\r\n{shown}"), 200),
        (format!("{own}{shown}Origin: http://{address}\r\n"), 200),
        (own.clone(), 401),
        (format!("{own}{wrong}"), 401),
        (format!("{own}Authorization: Basic {token}\r\n"), 401),
        (format!("Host: example.com\r\n{shown}"), 403),
        (format!("Host: 127.0.0.1.example.com\r\n{shown}"), 403),
        (format!("{own}{shown}Origin: http://example.com\r\n"), 403),
        (format!("{own}{shown}Origin: null\r\n"), 403),
        (format!("{own}{shown}Origin: http://localhost:1\r\n"), 403),
    ] {
        let answer = served.get(&headers).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {code} ")),
            "{headers:?}: {answer}"
        );
        assert!(
            !answer.to_lowercase().contains("access-control"),
            "{answer}"
        );
    }
    // kubectl sends no header without TLS.
    for (path, code) in [
        (format!("/{token}/version"), 200),
        (format!("/{token}/api/v1/namespaces?limit=1"), 200),
        (format!("/{token}"), 404),
        (format!("//{token}/version"), 401),
        (format!("/{token}x/version"), 401),
        (format!("/version?{token}"), 401),
    ] {
        let answer = served.get_at(&path, &own).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {code} ")),
            "{path}: {answer}"
        );
    }
    let another = Served::with(&ServeOptions::default()).await;
    assert_ne!(another.token(), token);
}

#[tokio::test]
async fn a_client_of_the_kubeconfig_is_let_in() {
    let served = Served::with(&ServeOptions::default()).await;
    let config = kube::config::Kubeconfig::from_yaml(&served.server.kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await;
    let client = kube::Client::try_from(config.unwrap()).unwrap();
    assert_eq!(client.apiserver_version().await.unwrap().minor, "34");
}

#[tokio::test]
async fn half_a_request_is_not_waited_for_for_ever() {
    let options = ServeOptions {
        head_timeout: Duration::from_millis(200),
        body_timeout: Duration::from_millis(200),
        ..ServeOptions::default()
    };
    let served = Served::with(&options).await;
    // The server closes; otherwise these never end.
    assert_eq!(served.ask("").await, "");
    served.ask("GET /version HTTP/1.1\r\nHost: lo").await;
    served.ask("PATCH /api").await;
    let head = format!(
        "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n",
        served.token()
    );
    let body = "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"metadata\":";
    let answer = served.ask(&format!("{head}{body}")).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn more_connections_than_there_are_places_wait() {
    let options = ServeOptions {
        connections: 2,
        ..ServeOptions::default()
    };
    let served = Served::with(&options).await;
    let (first, second) = (served.connect().await, served.connect().await);
    let headers = format!(
        "Host: localhost\r\nAuthorization: Bearer {}\r\n",
        served.token()
    );
    let mut third = Box::pin(served.get(&headers));
    let waited = tokio::time::timeout(Duration::from_millis(300), &mut third).await;
    assert!(waited.is_err(), "{waited:?}");
    drop((first, second));
    let answer = third.await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
