//! A controller that runs, its counters, and what the kernel says about it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Failed;
use super::cluster::Releases;
use super::flux::Kustomizations;
use crate::bench::{cpu_of, memory_of};

/// A controller. It is killed when this is dropped.
pub(super) struct Controller {
    process: Child,
    port: u16,
    /// What counts its requests, and the label that says which they are.
    counter: (&'static str, &'static str),
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
        let port = free_port()?;
        let mut command = Command::new(releases.opm);
        command
            .args(["controller", "run", "--kubeconfig"])
            .arg(&releases.kubeconfig)
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(flags);
        let counter = ("opm_api_requests_total", "verb");
        Self::spawn(command, releases.home, port, counter)
    }

    /// Starts Flux's for all Kustomizations, with as much at a time as opm's has, and without a
    /// limit of its own on requests.
    pub(super) fn start_flux(all: &Kustomizations<'_>) -> Result<Self, Failed> {
        let port = free_port()?;
        let mut command = Command::new(&all.program);
        command
            .args([
                &format!("--metrics-addr=127.0.0.1:{port}"),
                &format!("--health-addr=127.0.0.1:{}", free_port()?),
                "--concurrent=20",
                "--concurrent-ssa=20",
                "--kube-api-qps=5000",
                "--kube-api-burst=10000",
                "--log-level=error",
            ])
            .env("KUBECONFIG", &all.kubeconfig)
            .env("RUNTIME_NAMESPACE", "default");
        let counter = ("rest_client_requests_total", "method");
        Self::spawn(command, all.home, port, counter)
    }

    fn spawn(
        mut command: Command,
        home: &Path,
        port: u16,
        counter: (&'static str, &'static str),
    ) -> Result<Self, Failed> {
        let kept: Vec<(OsString, OsString)> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        let process = command
            .env_clear()
            .envs(kept)
            .env("HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(home.join(format!("log-{port}")))?)
            .spawn()?;
        Ok(Self {
            process,
            port,
            counter,
        })
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
        let (counter, label) = self.counter;
        let label = format!("{label}=\"");
        let mut sent = BTreeMap::new();
        for line in self.counters()?.lines() {
            let Some((_, rest)) = line
                .strip_prefix(counter)
                .and_then(|rest| rest.split_once(&label))
            else {
                continue;
            };
            let method = rest.split('"').next().unwrap_or_default().to_owned();
            let count = rest.rsplit(' ').next().unwrap_or_default();
            *sent.entry(method).or_default() += count.parse::<u64>()?;
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

fn free_port() -> Result<u16, Failed> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
