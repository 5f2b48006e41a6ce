//! What one run of the built binary came to, and what a scenario expects of it.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A run of the binary that is going on.
pub struct Running(pub(crate) opm_testkit::Running);

impl Running {
    /// As Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends any signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.0.pid().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub async fn end(self) -> Ran {
        Ran(self.0.finish().await)
    }
}

/// Exit code and output of one run.
#[derive(Debug, Clone)]
pub struct Ran(pub(crate) opm_testkit::Ran);

impl Ran {
    /// Its exit code; −1 when a signal ended it.
    pub fn code(&self) -> i32 {
        self.0.code().unwrap_or(-1)
    }

    /// It must have ended with this code.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "{self}");
        self
    }

    /// It must have succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.ends(0)
    }

    /// The one JSON document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.0.json()
    }

    /// What happened to `Kind/name`, if the report names it.
    #[track_caller]
    pub fn action(&self, spelled: &str) -> Option<String> {
        let report = self.json();
        let resources = report["resources"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let found = resources
            .iter()
            .find(|r| format!("{}/{}", text(&r["kind"]), text(&r["name"])) == spelled);
        found.map(|r| text(&r["action"]))
    }

    /// Everything it wrote must not contain this.
    #[track_caller]
    pub fn never_says(self, secret: &str) -> Self {
        assert!(!self.wrote(secret), "{self}");
        self
    }

    /// Something it wrote must contain this.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.wrote(text), "expected {text:?}\n{self}");
        self
    }

    fn wrote(&self, text: &str) -> bool {
        self.0.stdout.contains(text) || self.0.stderr.contains(text)
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
