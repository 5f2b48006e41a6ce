//! A real browser: Chromium without a screen, steered by its driver over WebDriver.
//!
//! The few calls that tests need are made here by hand over loopback; a WebDriver library would
//! bring a second HTTP client and TLS for them. The driver is watched by a shell that ends it as
//! soon as this process is gone, however that went, and the browser ends with its driver.

mod axe;

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;

use crate::skip::skip_without_browser;
use crate::wait::{unless_it_hangs, until};

pub use axe::axe_source;

/// What has to be on the PATH.
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];

/// The packages of Debian and its kin that have it.
pub const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// How WebDriver marks an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Runs the driver until whoever started it is gone.
const WATCHED: &str =
    r#""$@" & driver=$!; exec >/dev/null; read -r _; kill "$driver"; wait "$driver""#;

/// How often a driver is started that ends before it says its port.
const STARTS: usize = 10;

/// What a browser needs and this machine lacks.
#[must_use]
pub fn missing_browser() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|name| on_path(name).is_none())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut places = env::split_paths(&path).map(|dir| dir.join(name));
    places.find(|place| place.is_file())
}

/// Starts the driver. It ends where somebody else has, for IPv6, the port that it was given for IPv4.
async fn start_driver() -> (Child, Option<ChildStdin>, u16) {
    for _ in 0..STARTS {
        let mut watcher = Command::new("sh")
            .args(["-c", WATCHED, "sh", "chromedriver", "--port=0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = watcher.stdin.take();
        let output = watcher.stdout.take().unwrap();
        let started = tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.find_map(|line| {
                let port = line.split("started successfully on port ").nth(1)?;
                port.trim_end_matches('.').parse().ok()
            })
        });
        if let Some(port) = unless_it_hangs("the driver starts", started).await.unwrap() {
            return (watcher, stdin, port);
        }
        drop(stdin);
        let _ = watcher.wait();
    }
    panic!("the driver ended {STARTS} times before it said its port");
}

/// Keys that are no letters, as WebDriver names them.
pub mod keys {
    /// The tabulator.
    pub const TAB: &str = "\u{e004}";
    /// Enter.
    pub const ENTER: &str = "\u{e007}";
}

/// A browser with one window.
pub struct Browser {
    /// Held open as long as this process lives.
    _stdin: Option<ChildStdin>,
    watcher: Child,
    port: u16,
    session: String,
    profile: Option<tempfile::TempDir>,
}

impl Browser {
    /// A browser of one's own. None, and a note, where there is none.
    ///
    /// # Panics
    /// When there is none and there has to be, or when it does not start.
    pub async fn start() -> Option<Self> {
        if let Some(missing) = missing_browser() {
            skip_without_browser(&format!("{missing} (install {})", PACKAGES.join(" and ")));
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        let (watcher, stdin, port) = start_driver().await;
        let mut browser = Self {
            _stdin: stdin,
            watcher,
            port,
            session: String::new(),
            profile: None,
        };
        let folder = format!("--user-data-dir={}", profile.path().display());
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            // With its driver the pipe ends, and with the pipe the browser.
            "--remote-debugging-pipe",
            "--window-size=1200,900",
            &folder,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "unhandledPromptBehavior": "ignore",
        }}});
        let answer = browser.ask("POST", "/session", &wanted).await.unwrap();
        let session = answer["sessionId"].as_str();
        let session = session.unwrap_or_else(|| panic!("no session: {answer}"));
        browser.session = session.to_owned();
        browser.profile = Some(profile);
        Some(browser)
    }

    /// Opens an address, and waits until it is loaded.
    pub async fn open(&self, address: &str) {
        self.call("POST", "/url", &json!({"url": address})).await;
    }

    /// Loads the page again.
    pub async fn reload(&self) {
        self.call("POST", "/refresh", &json!({})).await;
    }

    /// Where it is.
    pub async fn address(&self) -> String {
        let address = self.call("GET", "/url", &Value::Null).await;
        address.as_str().unwrap().to_owned()
    }

    /// Runs a script in the page, and gives what it returns.
    pub async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        let body = json!({"script": script, "args": arguments});
        self.call("POST", "/execute/sync", &body).await
    }

    /// The same, for a script that calls its last argument when it is done.
    async fn run_async(&self, script: &str, arguments: &[Value]) -> Value {
        let body = json!({"script": script, "args": arguments});
        self.call("POST", "/execute/async", &body).await
    }

    /// The text that the page shows.
    pub async fn text(&self) -> String {
        let text = self.run("return document.body.innerText", &[]).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page shows this.
    pub async fn until_it_shows(&self, text: &str) {
        let what = format!("the page shows {text:?}");
        until(&what, async || self.text().await.contains(text)).await;
    }

    /// Clicks the first element that a selector finds.
    pub async fn click(&self, selector: &str) {
        self.to_element("css selector", selector, "click", &json!({}))
            .await;
    }

    /// Follows the link with this text.
    pub async fn follow(&self, text: &str) {
        self.to_element("link text", text, "click", &json!({}))
            .await;
    }

    /// Types into the first element that a selector finds.
    pub async fn write(&self, selector: &str, text: &str) {
        let typed = json!({"text": text});
        self.to_element("css selector", selector, "value", &typed)
            .await;
    }

    /// Does something to the first element that is found. A page that is live may replace it
    /// between the two; then it is found again.
    async fn to_element(&self, using: &str, value: &str, what: &str, body: &Value) {
        let find = json!({"using": using, "value": value});
        loop {
            let found = self.call("POST", "/element", &find).await;
            let element = found[ELEMENT].as_str().unwrap();
            let path = format!("/session/{}/element/{element}/{what}", self.session);
            match self.ask("POST", &path, body).await {
                Ok(_) => return,
                Err(error) if error["error"] == "stale element reference" => {}
                Err(error) => panic!("{value}: {error}"),
            }
        }
    }

    /// Presses keys, wherever the focus is.
    pub async fn press(&self, keys: &str) {
        let actions = keys.chars().flat_map(|key| {
            let action = move |kind| json!({"type": kind, "value": key.to_string()});
            [action("keyDown"), action("keyUp")]
        });
        let actions: Vec<Value> = actions.collect();
        let body = json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]});
        self.call("POST", "/actions", &body).await;
    }

    /// Whether a dialog of a script is open.
    pub async fn has_dialog(&self) -> bool {
        let path = format!("/session/{}/alert/text", self.session);
        self.ask("GET", &path, &Value::Null).await.is_ok()
    }

    /// The page in dark colours, or in light ones.
    pub async fn prefers_dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let parameters = json!({"features": features});
        self.devtools("Emulation.setEmulatedMedia", &parameters)
            .await;
    }

    /// The page on a screen of this size.
    pub async fn has_screen(&self, width: u32, height: u32) {
        let parameters = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", &parameters)
            .await;
    }

    /// No script of any page runs from now on.
    pub async fn without_script(&self) {
        let parameters = json!({"value": true});
        self.devtools("Emulation.setScriptExecutionDisabled", &parameters)
            .await;
    }

    /// What the accessibility checker has against the page at levels A and AA, in words.
    ///
    /// # Panics
    /// When it cannot be run.
    pub async fn violations(&self, axe: &str) -> Vec<String> {
        self.run(axe, &[]).await;
        let script = "const done = arguments[arguments.length - 1]; \
                      axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}) \
                      .then((found) => done({violations: found.violations.map((one) => one.id + ': ' \
                      + one.help + ' ' + one.nodes.map((node) => node.html + ' ' \
                      + node.failureSummary).join(' | ')), passes: found.passes.length}), \
                      (error) => done({error: String(error)}))";
        let found = self.run_async(script, &[]).await;
        assert!(
            found["passes"].as_u64() > Some(0),
            "nothing was checked: {found}"
        );
        let violations = found["violations"].as_array().unwrap().iter();
        violations.map(ToString::to_string).collect()
    }

    /// Keeps a picture of what is seen.
    pub async fn picture(&self, file: &Path) {
        let picture = self.call("GET", "/screenshot", &Value::Null).await;
        let bytes = BASE64_STANDARD.decode(picture.as_str().unwrap()).unwrap();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }

    /// A call of the browser's own protocol.
    async fn devtools(&self, method: &str, parameters: &Value) -> Value {
        let body = json!({"cmd": method, "params": parameters});
        self.call("POST", "/goog/cdp/execute", &body).await
    }

    async fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        let answer = self.ask(method, &path, body).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// One call of the driver: its value, or its error.
    async fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nContent-Type: \
             application/json\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        let asked = async {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(body.as_bytes()).await.unwrap();
            read_answer(BufStream::new(stream)).await
        };
        let (head, body) = unless_it_hangs(&format!("{method} {path}"), asked).await;
        let mut answer: Value = serde_json::from_slice(&body)
            .unwrap_or_else(|error| panic!("{error}: {head} {}", String::from_utf8_lossy(&body)));
        match head.split(' ').nth(1) {
            Some("200") => Ok(answer["value"].take()),
            _ => Err(answer["value"].take()),
        }
    }
}

/// The first line and the body of an answer. The driver does not end the connection after it.
async fn read_answer(mut stream: BufStream<TcpStream>) -> (String, Vec<u8>) {
    let mut first = String::new();
    stream.read_line(&mut first).await.unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    (first, body)
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The shell reads the end of its input, and ends the driver.
        drop(self._stdin.take());
        let _ = self.watcher.wait();
    }
}
