//! `opm ui`: the page of the built binary, as a browser asks for it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use opm_e2e::objects::{config_map, secret};
use opm_e2e::{Module, RunningOpm, World, api, scenarios};
use serde_json::json;

scenarios! {
    the_page_shows_what_is_there_as_it_changes,
    the_page_shows_what_an_apply_would_do,
}

/// The page, as it runs.
struct Page {
    running: RunningOpm,
    host: String,
    cookie: String,
}

impl Page {
    async fn start(w: &World, arguments: &[&str]) -> Self {
        let running = w.start(&[&["ui", "--no-open"], arguments].concat());
        running.until_it_writes("/?token=").await;
        running.until_it_writes("until interrupted").await;
        let line = running.line_with("/?token=").unwrap();
        let (host, token) = line.trim().split_once("/?token=").unwrap();
        let host = host.strip_prefix("http://").unwrap().to_owned();
        let port = host.rsplit(':').next().unwrap();
        let mut page = Self {
            cookie: format!("opm-page-{port}={token}"),
            running,
            host,
        };
        let entered = page.ask(&format!("/?token={token}"), "").await;
        assert!(entered.starts_with("HTTP/1.1 303 "), "{entered}");
        let cookie = entered.to_lowercase();
        let cookie = cookie.split("set-cookie: ").nth(1).unwrap();
        let cookie = cookie.split(';').next().unwrap();
        assert_eq!(page.cookie, cookie);
        page.cookie = cookie.to_owned();
        page
    }

    async fn ask(&self, path: &str, headers: &str) -> String {
        let host = self.host.clone();
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
        let asking = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(host).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        asking.await.unwrap()
    }

    async fn get(&self, path: &str) -> String {
        let answer = self
            .ask(path, &format!("Cookie: {}\r\n", self.cookie))
            .await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        answer
    }

    async fn until_it_shows(&self, path: &str, text: &str) {
        let what = format!("{path} shows {text:?}");
        opm_testkit::until(&what, async || self.get(path).await.contains(text)).await;
    }
}

async fn the_page_shows_what_is_there_as_it_changes(w: World) {
    let objects = [config_map("a", "1"), secret("token", "hidden-41")];
    w.apply(&Module::new("web").component("app", &objects), &[])
        .await
        .ok();
    let page = Page::start(&w, &[]).await;
    let release = format!("/releases/{}/web", w.ns);
    let list = page.get(&format!("/?q={}", w.ns)).await;
    assert!(list.contains(&format!("href=\"{release}\"")), "{list}");
    page.until_it_shows(&release, "ConfigMap/a").await;
    // Somebody edits, and the page says who.
    let edited = format!(
        "{}?fieldManager=intruder",
        api::object("ConfigMap/a", &w.ns)
    );
    w.api.merge(&edited, json!({"data": {"k": "2"}})).await;
    page.until_it_shows(&release, "<code>data.k</code> by intruder")
        .await;
    for place in ["", "/tree", "/history", "/manifests", "/events", "/logs"] {
        let shown = page.get(&format!("{release}{place}")).await;
        assert!(!shown.contains("hidden-41"), "{place}: {shown}");
    }
    // Nobody else is let in.
    let stranger = page.ask(&release, "").await;
    assert!(stranger.starts_with("HTTP/1.1 401 "), "{stranger}");
    page.running.interrupt();
    page.running.end().await.ends(130);
}

async fn the_page_shows_what_an_apply_would_do(w: World) {
    let web = |value: &str| Module::new("web").component("app", &[config_map("a", value)]);
    w.apply(&web("1"), &[]).await.ok();
    let dir = w.write(&web("1"));
    let page = Page::start(&w, &[&dir]).await;
    page.until_it_shows("/plan", "An apply would change nothing.")
        .await;
    w.write(&web("2"));
    page.until_it_shows("/plan", "<ins>&quot;2&quot;</ins>")
        .await;
    page.running.interrupt();
    page.running.end().await.ends(130);
    // It was only looked at.
    let live = w.api.get(&api::object("ConfigMap/a", &w.ns)).await;
    assert_eq!(live.unwrap()["data"]["k"], "1");
}
