//! The page as a browser gets it, byte by byte, over the sandbox in process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect by failing loudly"
)]

mod doing;
mod reading;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opm_cluster::{ClusterClient, KubeClient};
use opm_core::name::NamespaceName;
use opm_engine::ports::Caller;
use opm_engine::request::ApplyRequest;
use opm_engine::{Actor, Engine, Settings};
use opm_page::{PageServer, PageSettings, PlanSource};
use opm_render::{Inputs, ModuleRef, ModuleRenderer, RenderSettings};
use opm_sandbox::Sandbox;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

const HANG: Duration = Duration::from_secs(120);

/// What a module may write into its objects, and a page must show as text.
const HOSTILE: &str = "<script>alert(1)</script>\\u202e\\u001b[31m";
const SECRET: &str = "CANARY-77-secret";

struct World {
    engine: Engine,
    /// The cluster, past `opm`.
    api: KubeClient,
    address: SocketAddr,
    token: String,
    cookie: String,
    cancel: CancellationToken,
    dir: tempfile::TempDir,
}

impl Drop for World {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl World {
    async fn new() -> Self {
        Self::with(None, HANG).await
    }

    async fn with(plan: Option<Arc<dyn PlanSource>>, patience: Duration) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::open(&dir.path().join("sandbox")).unwrap();
        let api = KubeClient::new(sandbox, "default");
        let client = ClusterClient::from_client(api.clone());
        let settings = || Settings::of(Actor::named("test"));
        let cancel = CancellationToken::new();
        let page = PageSettings {
            cluster: "the sandbox".to_owned(),
            home: NamespaceName::new("default").unwrap(),
            hints: |remedies| remedies.iter().map(|one| format!("{one:?}")).collect(),
            allow_changes: plan.is_some(),
            plan,
            patience,
        };
        let engine = Engine::new(client.clone(), settings());
        let server = PageServer::bind(engine, page, 0, cancel.clone())
            .await
            .unwrap();
        let address = server.address().unwrap();
        let entrance = server.entrance().unwrap();
        let token = entrance.split("token=").nth(1).unwrap().to_owned();
        tokio::spawn(server.serve());
        Self {
            engine: Engine::new(client, settings()),
            api,
            address,
            cookie: format!("opm-page-{}={token}", address.port()),
            token,
            cancel,
            dir,
        }
    }

    /// Applies a module with this text in it.
    async fn apply(&self, text: &str) {
        let module = self.dir.path().join("web");
        write_module(&module, text);
        let request = rendered(&module).await;
        self.engine
            .apply(&request, &Caller::default())
            .await
            .unwrap();
    }

    /// Changes an object past the release, as somebody else.
    async fn patch(&self, object: &str, patch: &serde_json::Value) {
        let path = format!("/api/v1/namespaces/default/{object}?fieldManager=intruder");
        let request = http::Request::patch(path)
            .header("Content-Type", "application/merge-patch+json")
            .body(patch.to_string().into_bytes());
        self.api.request_text(request.unwrap()).await.unwrap();
    }

    /// The answer to a request as a browser sends it: head and body.
    async fn ask(&self, path: &str, headers: &str) -> (String, String) {
        let head = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        self.exchange(&head).await
    }

    /// Sends these bytes, and takes what comes back: head and body.
    async fn exchange(&self, sent: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        tokio::time::timeout(HANG, read).await.unwrap().unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Sends a form as a browser does.
    async fn post(&self, path: &str, headers: &str, form: &str) -> (String, String) {
        let length = form.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: \
             {length}\r\n{headers}\r\n{form}"
        );
        self.exchange(&head).await
    }

    /// Carries out what a form of a page is for, and gives the page of the run when it is over.
    async fn carry_out(&self, page: &str, path: &str) -> String {
        let field = |name: &str| {
            let value = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
            value.unwrap().split('"').next().unwrap().to_owned()
        };
        let form = format!(
            "token={}&what={}&confirm=web",
            field("token"),
            field("what")
        );
        let origin = format!("{}Origin: http://{}\r\n", self.headers(), self.address);
        let (head, body) = self.post(path, &origin, &form).await;
        assert!(head.starts_with("HTTP/1.1 303 "), "{head}\n{body}");
        let place = head.to_lowercase();
        let place = place.split("location: ").nth(1).unwrap();
        let place = place.lines().next().unwrap().trim().to_owned();
        let mut told = self.follow(&format!("/live{place}")).await;
        loop {
            told.next().await;
            let run = self.get(&place).await;
            if !run.contains("It goes on") {
                return run;
            }
        }
    }

    fn headers(&self) -> String {
        format!("Host: {}\r\nCookie: {}\r\n", self.address, self.cookie)
    }

    /// A page that must be there.
    async fn get(&self, path: &str) -> String {
        let (head, body) = self.ask(path, &self.headers()).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}\n{body}");
        body
    }

    /// A page as soon as it shows something, of which it is told.
    async fn until_it_shows(&self, path: &str, live: &str, expected: &str) -> String {
        let mut told = self.follow(live).await;
        loop {
            told.next().await;
            let page = self.get(path).await;
            if page.contains(expected) {
                return page;
            }
        }
    }

    /// What a page is told, as it comes.
    async fn follow(&self, path: &str) -> Told {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\n{}\r\n", self.headers());
        stream.write_all(head.as_bytes()).await.unwrap();
        Told(BufReader::new(stream))
    }
}

/// A stream of events.
struct Told(BufReader<TcpStream>);

impl Told {
    async fn next(&mut self) -> String {
        let reading = async {
            loop {
                let mut line = String::new();
                assert!(self.0.read_line(&mut line).await.unwrap() > 0, "it ended");
                if let Some(digest) = line.strip_prefix("data: ") {
                    return digest.trim().to_owned();
                }
            }
        };
        tokio::time::timeout(HANG, reading).await.unwrap()
    }
}

fn write_module(dir: &Path, text: &str) {
    std::fs::create_dir_all(dir).unwrap();
    let module = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata:\n  name: web\n  \
                  path: example.com/web\n  version: 1.0.0\ncomponents:\n  - name: app\n    \
                  manifests: [objects.yaml]\n";
    let values = format!(
        "values:\n  greeting: \"{text}\"\n  database: {{pass: {SECRET}-{}}}\n",
        text.len()
    );
    let objects = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  text: \
         \"{text}\"\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: token\nstringData:\n  \
         key: {SECRET}-{}\n",
        text.len()
    );
    std::fs::write(dir.join("module.yaml"), format!("{module}{values}")).unwrap();
    std::fs::write(dir.join("objects.yaml"), objects).unwrap();
}

/// The apply of a module's directory.
async fn rendered(module: &Path) -> ApplyRequest {
    let renderer = ModuleRenderer::new(RenderSettings::default());
    let reference = ModuleRef::parse(&module.display().to_string());
    let cancel = CancellationToken::new();
    let loaded = renderer.load(&reference, Inputs::default(), &cancel).await;
    let loaded = loaded.unwrap();
    ApplyRequest::new(loaded.rendered, loaded.name, loaded.namespace)
}

fn digest_of(page: &str) -> &str {
    let digest = page.split("data-digest=\"").nth(1).unwrap();
    digest.split('"').next().unwrap()
}
