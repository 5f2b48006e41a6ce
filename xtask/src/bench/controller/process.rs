//! A controller that runs, its counters, and what the kernel says about it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Failed;
use super::cluster::Releases;
use crate::bench::{cpu_of, memory_of};

/// A controller. It is killed when this is dropped.
pub(super) struct Controller {
    process: Child,
    port: u16,
}

impl Drop for Controller {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Controller {
    /// Starts one for all releases.
    pub(super) fn start(releases: &Releases<'_>, flags: &[&str]) -> Result<Self, Failed> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = fs::File::create(releases.home.join(format!("log-{port}")))?;
        let process = Command::new(releases.opm)
            .args(["controller", "run", "--kubeconfig"])
            .arg(&releases.kubeconfig)
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(flags)
            .env_clear()
            .env("HOME", releases.home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        Ok(Self { process, port })
    }

    /// Its counters, as they are served.
    fn counters(&self) -> Result<String, Failed> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    /// How many reconciles ended well.
    pub(super) fn applied(&self) -> Result<usize, Failed> {
        let text = self.counters()?;
        let line = text
            .lines()
            .find(|line| line.starts_with("opm_reconciles_total{result=\"Applied\"}"));
        let count = line.and_then(|line| line.split(' ').nth(1)?.parse().ok());
        Ok(count.unwrap_or(0))
    }

    /// The requests that it has sent, by method.
    pub(super) fn requests(&self) -> Result<BTreeMap<String, u64>, Failed> {
        let mut sent = BTreeMap::new();
        for line in self.counters()?.lines() {
            let Some(rest) = line.strip_prefix("opm_api_requests_total{verb=\"") else {
                continue;
            };
            let verb = rest.split('"').next().unwrap_or_default().to_owned();
            let count: u64 = rest.split(' ').nth(1).unwrap_or_default().parse()?;
            *sent.entry(verb).or_default() += count;
        }
        Ok(sent)
    }

    /// The memory that it takes now.
    pub(super) fn memory(&self) -> Result<u64, Failed> {
        memory_of(self.process.id(), "VmRSS")
    }

    /// The most that it ever took.
    pub(super) fn peak(&self) -> Result<u64, Failed> {
        memory_of(self.process.id(), "VmHWM")
    }

    /// The processor time that it took so far.
    pub(super) fn cpu(&self) -> Result<Duration, Failed> {
        cpu_of(self.process.id())
    }

    /// Kills it at once.
    pub(super) fn kill(mut self) -> Result<(), Failed> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Lets it end by itself.
    pub(super) fn stop(mut self) -> Result<(), Failed> {
        let pid = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status()?;
        self.process.wait()?;
        Ok(())
    }
}
