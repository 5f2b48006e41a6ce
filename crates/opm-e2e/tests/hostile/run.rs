//! One command against one behaviour, within bounds of memory and time.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use opm_testkit::hostile::{Behaviour, HostileServer};
use opm_testkit::{CommandOutput, Opm, Target, opm_binary};

use crate::release::{NAMESPACE, PreparedRelease};

/// How many run side by side.
pub(crate) const CASES_AT_ONCE: usize = 3;

/// What a command may take of memory.
const MEGABYTES: u64 = 300;

/// What takes longer hangs: no bound that a case reaches is longer than some seconds.
const HANGS: Duration = Duration::from_secs(150);

/// The exit codes of the contract that a server can bring about.
const CODES: [i32; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

/// One command against one behaviour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) behaviour: Behaviour,
    pub(crate) command: &'static [&'static str],
    pub(crate) after: usize,
}

/// What became of it.
pub(crate) struct CaseResult {
    pub(crate) case: String,
    /// The most memory that it was seen to take.
    pub(crate) kilobytes: u64,
    /// What was wrong with it.
    pub(crate) wrong: Option<String>,
}

impl Case {
    fn name(&self) -> String {
        let command = self.command.join(" ");
        format!("{command} / {} after {}", self.behaviour.name, self.after)
    }

    pub(crate) async fn run(self, release: &PreparedRelease) -> CaseResult {
        let dir = tempfile::tempdir().unwrap();
        let honest = kube::Client::new(release.copy(dir.path()), "default");
        let server = HostileServer::start(honest, self.behaviour, self.after).await;
        let kubeconfig = server.write_kubeconfig(dir.path(), NAMESPACE);
        let opm = Opm::new(Target::Kubeconfig(kubeconfig), dir.path())
            .program(&capped(dir.path()))
            .env("OPM_PATIENCE", "1s")
            .env("OPM_LOCK_TTL", "3s")
            .patience(HANGS);
        let args = [&["mod"], self.command].concat();
        let running = opm.start(args);
        let measuring = tokio::spawn(peak(running.pid()));
        let ended = tokio::spawn(running.finish()).await;
        let kilobytes = measuring.await.unwrap();
        let wrong = match ended {
            Ok(output) => judge(&output).map(|why| format!("{}: {why}\n{output}", self.name())),
            Err(panicked) => Some(format!("{}: hangs: {panicked}", self.name())),
        };
        CaseResult {
            case: self.name(),
            kilobytes,
            wrong,
        }
    }
}

fn judge(output: &CommandOutput) -> Option<String> {
    let said = output.stderr.trim();
    match output.code() {
        None => Some(format!("ended by {}", output.status)),
        Some(code) if !CODES.contains(&code) => Some(format!("exit code {code}")),
        Some(_) if said.contains("panicked at") => Some("panics".to_owned()),
        Some(1..) if said.is_empty() && output.stdout.trim().is_empty() => {
            Some("says nothing".to_owned())
        }
        Some(_) => None,
    }
}

/// The binary, under a limit of memory: what asks for more is ended by a signal.
fn capped(dir: &Path) -> PathBuf {
    let script = dir.join("opm-with-little-memory");
    let limit = MEGABYTES * 1024;
    let binary = opm_binary();
    let text = format!(
        "#!/bin/sh\nulimit -d {limit} && exec {} \"$@\"\n",
        binary.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script
}

/// The most memory that a process was seen to take until its end, in kilobytes.
async fn peak(pid: u32) -> u64 {
    let mut most = 0;
    while let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        // A process that has ended has no memory.
        let Some(line) = line else { break };
        let kilobytes = line.trim().trim_end_matches(" kB").trim().parse();
        most = most.max(kilobytes.unwrap_or(0));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    most
}
