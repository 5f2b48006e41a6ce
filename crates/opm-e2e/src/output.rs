//! What one run of the built binary came to, and what a scenario expects of it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use opm_testkit::HANG;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::canary::Canaries;

/// A run of the binary that is going on.
pub struct RunningOpm {
    process: opm_testkit::RunningCommand,
    arguments: Vec<String>,
    canaries: Canaries,
}

impl RunningOpm {
    pub(crate) fn new(
        process: opm_testkit::RunningCommand,
        arguments: &[&str],
        canaries: &Canaries,
    ) -> Self {
        Self {
            process,
            arguments: arguments.iter().map(|a| (*a).to_owned()).collect(),
            canaries: canaries.clone(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// As Ctrl-C does, once it listens: before that, whoever has started the tests may have
    /// decided that the signal is lost.
    pub fn interrupt(&self) {
        let begin = Instant::now();
        while !self.catches(Signal::INT) && begin.elapsed() < HANG {
            thread::sleep(Duration::from_millis(5));
        }
        self.signal(Signal::INT);
    }

    /// Whether it does something of its own at a signal; who has ended needs none any more.
    fn catches(&self, signal: Signal) -> bool {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/status", self.pid())) else {
            return true;
        };
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let caught = field("SigCgt:").map(str::trim);
        let caught = caught.and_then(|mask| u64::from_str_radix(mask, 16).ok());
        let ended = field("State:").is_some_and(|state| state.trim().starts_with('Z'));
        let bit = 1 << (signal.as_raw() - 1);
        ended || caught.is_none_or(|mask| mask & bit != 0)
    }

    /// Sends any signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Whether it has written this by now.
    pub fn has_written(&self, text: &str) -> bool {
        self.process.has_written(text)
    }

    /// The first whole line that holds this, on standard output or else on standard error, if
    /// there is one by now.
    pub fn line_with(&self, text: &str) -> Option<String> {
        self.process.line_with(text)
    }

    /// Waits until it has written this.
    pub async fn until_it_writes(&self, text: &str) {
        let what = format!("it writes {text:?}");
        opm_testkit::until(&what, async || self.has_written(text)).await;
    }

    /// Waits for its end.
    pub async fn end(self) -> OpmOutput {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        OpmOutput::checked(self.process.finish().await, &arguments, &self.canaries)
    }
}

/// Exit code and output of one run.
#[derive(Debug, Clone)]
pub struct OpmOutput(pub(crate) opm_testkit::CommandOutput);

impl OpmOutput {
    /// No run shows what a Secret holds, unless that is what it was asked for.
    pub(crate) fn checked(
        ran: opm_testkit::CommandOutput,
        arguments: &[&str],
        canaries: &Canaries,
    ) -> Self {
        let leaked = canaries.leaked(arguments, &[&ran.stdout, &ran.stderr]);
        assert_eq!(leaked, None, "a Secret's value was shown\n{ran}");
        Self(ran)
    }

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

    /// What it wrote to standard output.
    pub fn stdout(&self) -> &str {
        &self.0.stdout
    }

    /// The one JSON document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.0.json()
    }

    /// What the report says of `Kind/name`, if it names it.
    #[track_caller]
    pub fn resource(&self, spelled: &str) -> Option<Value> {
        let report = self.json();
        let resources = report["resources"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        resources
            .into_iter()
            .find(|r| format!("{}/{}", text(&r["kind"]), text(&r["name"])) == spelled)
    }

    /// What happened to `Kind/name`, if the report names it.
    #[track_caller]
    pub fn action(&self, spelled: &str) -> Option<String> {
        let resource = self.resource(spelled)?;
        resource["action"].as_str().map(str::to_owned)
    }

    /// The fields of `Kind/name` that a difference names: path, before, after.
    #[track_caller]
    pub fn changes(&self, spelled: &str) -> Vec<(String, Value, Value)> {
        let resource = self.resource(spelled).unwrap_or_default();
        let changes = resource["changes"].as_array().cloned().unwrap_or_default();
        let change = |c: &Value| {
            let path = c["path"].as_str().unwrap_or_default().to_owned();
            (path, c["before"].clone(), c["after"].clone())
        };
        changes.iter().map(change).collect()
    }

    /// It must have done this to `Kind/name`.
    #[track_caller]
    pub fn did(self, action: &str, spelled: &str) -> Self {
        assert_eq!(
            self.action(spelled).as_deref(),
            Some(action),
            "{spelled}: {self}"
        );
        self
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

impl std::fmt::Display for OpmOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
