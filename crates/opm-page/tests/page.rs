//! The page as a browser gets it, byte by byte, over the sandbox in process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect by failing loudly"
)]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use opm_cluster::{ClusterClient, KubeClient};
use opm_core::name::NamespaceName;
use opm_engine::ports::Caller;
use opm_engine::request::ApplyRequest;
use opm_engine::{Actor, Engine, Failure, FailureKind, Settings};
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
    engine: Engine<ClusterClient>,
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
        Self::with(None).await
    }

    async fn with(plan: Option<Arc<dyn PlanSource>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::open(&dir.path().join("sandbox")).unwrap();
        let client = ClusterClient::from_client(KubeClient::new(sandbox, "default"));
        let settings = || Settings::of(Actor::named("test"));
        let cancel = CancellationToken::new();
        let page = PageSettings {
            cluster: "the sandbox".to_owned(),
            home: NamespaceName::new("default").unwrap(),
            hints: |remedies| remedies.iter().map(|one| format!("{one:?}")).collect(),
            allow_changes: plan.is_some(),
            plan,
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

    /// The answer to a request as a browser sends it: head and body.
    async fn ask(&self, path: &str, headers: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        tokio::time::timeout(HANG, read).await.unwrap().unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Sends a form as a browser does.
    async fn post(&self, path: &str, headers: &str, form: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let length = form.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: \
             {length}\r\n{headers}\r\n{form}"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        tokio::time::timeout(HANG, read).await.unwrap().unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
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
    let objects = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  text: \
         \"{text}\"\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: token\nstringData:\n  \
         key: {SECRET}-{}\n",
        text.len()
    );
    std::fs::write(dir.join("module.yaml"), module).unwrap();
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

#[tokio::test(flavor = "multi_thread")]
async fn every_page_shows_what_the_engine_says_and_nothing_more() {
    let world = World::new().await;
    assert!(world.get("/").await.contains("There are no releases."));
    world.apply("first").await;
    world.apply(HOSTILE).await;
    let list = world.get("/").await;
    assert!(list.contains("href=\"/releases/default/web\""), "{list}");
    assert!(world.get("/?q=WEB").await.contains("1 of 1"));
    assert!(world.get("/?q=other").await.contains("No release matches."));
    assert!(world.get("/?health=true").await.contains("Ready"));
    let release = "/releases/default/web";
    let history = world.get(&format!("{release}/history")).await;
    let changes: Vec<&str> = history.split("/compare?to=").skip(1).collect();
    let changes = changes.iter().map(|rest| rest.split('"').next().unwrap());
    let changes: Vec<&str> = changes.collect();
    let [new, old] = changes[..] else {
        panic!("{history}");
    };
    let pages = [
        ("".to_owned(), "ConfigMap/settings"),
        ("/tree".to_owned(), "Secret/token"),
        ("/history".to_owned(), "#2"),
        (
            format!("/compare?from={old}&to={new}"),
            "<del>&quot;first&quot;</del>",
        ),
        (format!("/compare?to={old}"), "The first change"),
        (format!("/rollback?to={old}"), "configured"),
        ("/manifests".to_owned(), "As applied in"),
        ("/events".to_owned(), "There are no events."),
        ("/logs".to_owned(), "There are no containers to ask."),
    ];
    let encoded = "Q0FOQVJZ";
    for (place, expected) in pages {
        let page = world.get(&format!("{release}{place}")).await;
        assert!(page.contains(expected), "{place}: {page}");
        let plain = page.matches("<script").count();
        assert_eq!(plain, 1, "{place}: {page}");
        for hidden in ["\u{202e}", "\u{1b}", SECRET, encoded] {
            assert!(!page.contains(hidden), "{place}: {hidden:?} in {page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_let_in_sees_nothing_and_every_answer_is_for_one_browser() {
    let world = World::new().await;
    world.apply("first").await;
    let host = format!("Host: {}\r\n", world.address);
    let cookie = format!("Cookie: {}\r\n", world.cookie);
    let entrance = format!("/?token={}", world.token);
    for (path, headers, code) in [
        ("/", format!("{host}{cookie}"), 200),
        ("/style.css", format!("{host}{cookie}"), 200),
        ("/", host.clone(), 401),
        ("/releases/default/web", host.clone(), 401),
        ("/live/releases", host.clone(), 401),
        ("/", format!("Host: example.com\r\n{cookie}"), 403),
        (
            "/",
            format!("{host}{cookie}Origin: http://example.com\r\n"),
            403,
        ),
        (&entrance, "Host: example.com\r\n".to_owned(), 403),
        (&entrance, host.clone(), 303),
        ("/releases/default/other", format!("{host}{cookie}"), 404),
        ("/releases/default/..%2f", format!("{host}{cookie}"), 404),
        ("/nowhere", format!("{host}{cookie}"), 404),
    ] {
        let (head, body) = world.ask(path, &headers).await;
        let begin = format!("HTTP/1.1 {code} ");
        assert!(head.starts_with(&begin), "{path} {headers}: {head}");
        for said in [
            "content-security-policy: default-src 'none'",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
        ] {
            assert!(head.contains(said), "{path}: {head}");
        }
        assert!(code == 200 || !body.contains("web</a>"), "{body}");
        assert!(!body.contains(&world.token), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_is_told_to_all_who_look_at_it() {
    let world = World::new().await;
    world.apply("first").await;
    for page in ["/releases/default/web", "/"] {
        let live = match page {
            "/" => "/live/releases".to_owned(),
            page => format!("/live{page}"),
        };
        let shown = world.get(page).await;
        let (mut one, mut two) = (world.follow(&live).await, world.follow(&live).await);
        assert_eq!(one.next().await, digest_of(&shown));
        assert_eq!(two.next().await, digest_of(&shown));
        world.apply(&format!("another at {page}")).await;
        // A change may be told in more than one step.
        loop {
            let told = one.next().await;
            assert_ne!(told, digest_of(&shown));
            if told == digest_of(&world.get(page).await) {
                break;
            }
        }
        assert_ne!(two.next().await, digest_of(&shown));
    }
}

/// A module whose files are numbers.
struct Numbered {
    number: AtomicU64,
    dir: PathBuf,
}

impl PlanSource for Numbered {
    fn request(&self) -> BoxFuture<'_, Result<ApplyRequest, Failure>> {
        Box::pin(async {
            let number = self.stamp();
            if number == 3 {
                return Err(Failure::new(
                    FailureKind::Refused,
                    "module.yaml:3: <no> name",
                ));
            }
            write_module(&self.dir, &format!("number {number}"));
            Ok(rendered(&self.dir).await)
        })
    }

    fn stamp(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_follows_the_files_of_its_module() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Arc::new(Numbered {
        number: 1.into(),
        dir: dir.path().join("web"),
    });
    let world = World::with(Some(plan.clone())).await;
    world.apply("number 1").await;
    let page = world.get("/plan").await;
    assert!(page.contains("An apply would change nothing."), "{page}");
    let mut told = world.follow("/live/plan").await;
    assert_eq!(told.next().await, digest_of(&page));
    plan.number.store(2, Ordering::Relaxed);
    let now = told.next().await;
    let page = world.get("/plan").await;
    assert_eq!(now, digest_of(&page));
    let change = "<del>&quot;number 1&quot;</del></td><td><ins>&quot;number 2&quot;</ins>";
    assert!(page.contains(change), "{page}");
    assert!(!page.contains(SECRET), "{page}");
    // What does not render says why, and the page goes on when it does again.
    plan.number.store(3, Ordering::Relaxed);
    told.next().await;
    let page = world.get("/plan").await;
    assert!(page.contains("module.yaml:3: &lt;no&gt; name"), "{page}");
    plan.number.store(1, Ordering::Relaxed);
    told.next().await;
    let page = world.get("/plan").await;
    assert!(page.contains("An apply would change nothing."), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_is_what_was_shown_and_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Arc::new(Numbered {
        number: 1.into(),
        dir: dir.path().join("web"),
    });
    let world = World::with(Some(plan.clone())).await;
    let shown = world.get("/plan").await;
    let run = world.carry_out(&shown, "/plan").await;
    assert!(
        run.contains("succeeded") && run.contains("ConfigMap/settings"),
        "{run}"
    );
    // Somebody else was faster: what was shown is no longer what would happen.
    plan.number.store(2, Ordering::Relaxed);
    let shown = world.get("/plan").await;
    world.apply("number 9").await;
    let run = world.carry_out(&shown, "/plan").await;
    assert!(run.contains("failed"), "{run}");
    let release = "/releases/default/web";
    let back = format!("{release}/rollback");
    let shown = world.get(&back).await;
    let run = world.carry_out(&shown, &back).await;
    assert!(run.contains("succeeded"), "{run}");
    let manifests = world.get(&format!("{release}/manifests")).await;
    assert!(manifests.contains("number 1"), "{manifests}");
    // Not without the name, the form's own token, and this page's origin.
    let delete = format!("{release}/delete");
    let shown = world.get(&delete).await;
    let token = shown.split("name=\"token\" value=\"").nth(1).unwrap();
    let token = token.split('"').next().unwrap();
    assert_ne!(token, world.token);
    let origin = format!("Origin: http://{}\r\n", world.address);
    let headers = world.headers();
    for (form, origin, code) in [
        (format!("token={token}&confirm=wbe"), origin.as_str(), 409),
        (format!("token={}&confirm=web", world.token), &origin, 409),
        ("confirm=web".to_owned(), &origin, 409),
        (format!("token={token}&confirm=web"), "", 403),
        (
            format!("token={token}&confirm=web"),
            "Origin: http://example.com\r\n",
            403,
        ),
    ] {
        let (head, body) = world
            .post(&delete, &format!("{headers}{origin}"), &form)
            .await;
        assert!(
            head.starts_with(&format!("HTTP/1.1 {code} ")),
            "{form}: {head}\n{body}"
        );
    }
    world.get(release).await;
    let run = world.carry_out(&shown, &delete).await;
    assert!(
        run.contains("succeeded") && run.contains("deleted"),
        "{run}"
    );
    assert!(world.get("/").await.contains("There are no releases."));
}
