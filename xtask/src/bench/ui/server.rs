//! A page that is served, and a sandbox that is.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Failed;
use crate::bench::{cpu_of, memory_of};

/// When something began to be there, and when all of it was.
pub(super) struct Timed {
    pub(super) first: Duration,
    pub(super) last: Duration,
}

/// A program that says on its first line where it is. It is killed when this is dropped.
struct Program {
    process: Child,
    line: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Program {
    fn start(opm: &Path, home: &Path, arguments: &[&str]) -> Result<Self, Failed> {
        let mut process = Command::new(opm)
            .args(arguments)
            .env_clear()
            .env("HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let line = line.trim().to_owned();
        Ok(Self { process, line })
    }
}

/// The page, served.
pub(super) struct Served {
    program: Program,
    /// Its address, without the token.
    base: String,
    token: String,
}

impl Served {
    /// Serves the page.
    pub(super) fn start(opm: &Path, home: &Path, flags: &[&str]) -> Result<Self, Failed> {
        let arguments = [&["ui", "--no-open"], flags].concat();
        let program = Program::start(opm, home, &arguments)?;
        let (base, token) = program
            .line
            .split_once("/?token=")
            .ok_or("the page says no address")?;
        let (base, token) = (base.to_owned(), token.to_owned());
        Ok(Self {
            program,
            base,
            token,
        })
    }

    /// Where a place is.
    pub(super) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Where a place is for a browser that was not let in yet.
    pub(super) fn entrance(&self, path: &str) -> String {
        format!("{}?token={}", self.address(path), self.token)
    }

    /// Asks for a place, and says when its first and its last byte came.
    pub(super) fn get(&self, path: &str) -> Result<Timed, Failed> {
        let host = self.base.trim_start_matches("http://");
        let port = host.rsplit(':').next().unwrap_or_default();
        let begin = Instant::now();
        let mut stream = TcpStream::connect(host)?;
        let token = &self.token;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: opm-page-{port}={token}\r\n\
             Connection: close\r\n\r\n"
        )?;
        let mut answer = vec![0];
        stream.read_exact(&mut answer)?;
        let first = begin.elapsed();
        stream.read_to_end(&mut answer)?;
        let last = begin.elapsed();
        match answer.starts_with(b"HTTP/1.1 200 ") {
            true => Ok(Timed { first, last }),
            false => Err(format!("{path} was not answered well").into()),
        }
    }

    /// The processor time that it took so far.
    pub(super) fn cpu(&self) -> Result<Duration, Failed> {
        cpu_of(self.program.process.id())
    }

    /// The most memory that it ever took.
    pub(super) fn peak(&self) -> Result<u64, Failed> {
        memory_of(self.program.process.id(), "VmHWM")
    }
}

/// The sandbox, served.
pub(super) struct Cluster {
    program: Program,
}

impl Cluster {
    pub(super) fn serve(opm: &Path, home: &Path, sandbox: &Path) -> Result<Self, Failed> {
        let sandbox = sandbox.display().to_string();
        let kubeconfig = home.join("kubeconfig").display().to_string();
        let arguments = ["sandbox", "serve", "--sandbox-dir", &sandbox];
        let written = ["--write-kubeconfig", &kubeconfig];
        let program = Program::start(opm, home, &[&arguments[..], &written].concat())?;
        Ok(Self { program })
    }

    /// What leads there.
    pub(super) fn kubeconfig(&self) -> &Path {
        Path::new(&self.program.line)
    }
}
