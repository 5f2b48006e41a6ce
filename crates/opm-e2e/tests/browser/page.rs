//! `opm ui`, and a browser that looks at it.

use std::path::{Path, PathBuf};

use opm_e2e::objects::{config_map, deployment, secret, service, volume_claim};
use opm_e2e::{Fault, Module, RelayedRun, RequestFilter, World, api};
use opm_testkit::browser::Browser;
use serde_json::json;

/// A page that is served, and a browser that has been let in.
pub(crate) struct Page {
    pub(crate) browser: Browser,
    pub(crate) running: RelayedRun,
    /// The address of the page, without its token.
    pub(crate) base: String,
    token: String,
    /// Where the release is on it.
    pub(crate) release: String,
}

impl Page {
    /// Serves the page, and opens it. Containers have written these lines. None, and a note,
    /// where there is no browser.
    pub(crate) async fn open(w: &World, arguments: &[&str], log: &str) -> Option<Self> {
        let page = Self::serve(w, arguments, log).await?;
        page.let_in(&page.browser, "/").await;
        Some(page)
    }

    /// The same, and opens nothing yet.
    pub(crate) async fn serve(w: &World, arguments: &[&str], log: &str) -> Option<Self> {
        let browser = Browser::start().await?;
        let logs = RequestFilter::verb("get").and_path("/log").always();
        let lines = Fault::Text(log.to_owned());
        let arguments = [&["ui", "--no-open"], arguments].concat();
        let running = w.start_struck(&logs, lines, &arguments).await;
        running.running().until_it_writes("/?token=").await;
        let line = running.running().line_with("/?token=").unwrap();
        let (base, token) = line.trim().split_once("/?token=").unwrap();
        Some(Self {
            browser,
            running,
            base: base.to_owned(),
            token: token.to_owned(),
            release: format!("/releases/{}/web", w.ns),
        })
    }

    /// Lets a browser in, at this place. The token does not stay in its address.
    pub(crate) async fn let_in(&self, browser: &Browser, place: &str) {
        let address = format!("{}{place}", self.base);
        browser
            .open(&format!("{address}?token={}", self.token))
            .await;
        assert_eq!(browser.address().await, address);
    }

    /// Opens a place of the page.
    pub(crate) async fn go(&self, place: &str) {
        self.browser.open(&format!("{}{place}", self.base)).await;
    }

    /// Opens a place of the release.
    pub(crate) async fn go_to_release(&self, place: &str) {
        self.go(&format!("{}{place}", self.release)).await;
    }

    /// The place of an object of the release.
    pub(crate) fn object(&self, w: &World, group: &str, kind: &str, name: &str) -> String {
        let release = &self.release;
        format!(
            "{release}/object?group={group}&kind={kind}&name={name}&in={}",
            w.ns
        )
    }

    /// Ends what is served; the browser ends with it.
    pub(crate) async fn close(self) {
        self.running.running().interrupt();
        self.running.end().await.ends(130);
    }
}

/// What most scenarios look at: several kinds, one of them edited by somebody else, a pod below
/// one of them, and two changes.
pub(crate) fn web(value: &str) -> Module {
    Module::new("web")
        .version("1.2.0")
        .component("app", &[deployment("web"), service("web")])
        .component(
            "settings",
            &[config_map("settings", value), secret("token", "hidden-41")],
        )
}

/// Applies it twice, the first time with a claim that is kept, and has somebody edit one object;
/// makes a pod below another.
pub(crate) async fn prepare(w: &World) {
    let first = web("1").component("data", &[volume_claim("uploads")]);
    for module in [first, web("2")] {
        w.apply(&module, &[]).await.ok();
    }
    let edited = api::object("ConfigMap/settings", &w.ns);
    let edited = format!("{edited}?fieldManager=intruder");
    w.api.merge(&edited, json!({"data": {"k": "3"}})).await;
    let owner = w.api.get(&api::object("Deployment/web", &w.ns)).await;
    let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
        "uid": owner.unwrap()["metadata"]["uid"]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-1", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}});
    w.api.create(&w.ns, &pod).await;
}

/// Where pictures of a run are kept: they are looked at, not compared.
pub(crate) fn picture(w: &World, name: &str) -> PathBuf {
    let given = std::env::var_os("OPM_TEST_PICTURES").map(PathBuf::from);
    let cluster = if w.is_sandbox() { "sandbox" } else { "real" };
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    let dir = given.unwrap_or(kept).join(cluster);
    dir.join(format!("{name}.png"))
}
