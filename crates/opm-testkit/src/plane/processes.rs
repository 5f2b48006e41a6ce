//! The processes of a control plane. Each is made known to the sweeper before it matters.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child as StdChild, ChildStdin, Command as StdCommand, Stdio};

use tokio::process::{Child, Command};

use crate::programs::Program;

/// Outlives us for a moment and removes our directory, our socket and every process it was told
/// of. It acts when its standard input closes, which the kernel does when we are killed.
#[derive(Debug)]
pub(super) struct Sweeper {
    child: StdChild,
    tell: Option<ChildStdin>,
}

impl Sweeper {
    pub(super) fn start(dir: &Path, socket: &Path) -> io::Result<Self> {
        let mut child = StdCommand::new(std::env::current_exe()?)
            .arg("sweep")
            .args([dir, socket])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let tell = child.stdin.take();
        Ok(Self { child, tell })
    }

    fn tell(&mut self, pid: u32) -> io::Result<()> {
        self.tell
            .as_mut()
            .map_or(Ok(()), |pipe| writeln!(pipe, "{pid}"))
    }

    /// Lets it do its work, and waits for it.
    pub(super) fn sweep(mut self) -> io::Result<()> {
        drop(self.tell.take());
        self.child.wait().map(drop)
    }
}

/// The running processes, in the order of their start.
#[derive(Debug)]
pub(super) struct Processes {
    dir: PathBuf,
    running: Vec<(Program, Child)>,
}

impl Processes {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            running: Vec::new(),
        }
    }

    pub(super) fn spawn(
        &mut self,
        program: Program,
        args: &[String],
        sweeper: &mut Sweeper,
    ) -> Result<(), String> {
        let path = program
            .find()
            .ok_or_else(|| format!("{} is not built", program.name()))?;
        let failed = |error: io::Error| format!("failed to start {}: {error}", program.name());
        let log = File::create(self.log(program)).map_err(failed)?;
        let child = Command::new(path)
            .args(args)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        if let Some(pid) = child.id() {
            sweeper.tell(pid).map_err(failed)?;
        }
        self.running.push((program, child));
        Ok(())
    }

    /// The first process that has ended, with the end of its log.
    pub(super) fn ended(&mut self) -> Option<String> {
        let (program, status) = self.running.iter_mut().find_map(|(program, child)| {
            child
                .try_wait()
                .ok()
                .flatten()
                .map(|status| (*program, status))
        })?;
        let log = std::fs::read_to_string(self.log(program)).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(15).collect();
        let tail: Vec<_> = lines.into_iter().rev().collect();
        Some(format!(
            "{} ended: {status}\n{}",
            program.name(),
            tail.join("\n")
        ))
    }

    /// Kills all of them: their data is thrown away, so there is nothing to end gently.
    pub(super) async fn kill(mut self) {
        for (_, child) in &mut self.running {
            let _ = child.start_kill();
        }
        for (_, child) in &mut self.running {
            let _ = child.wait().await;
        }
    }

    fn log(&self, program: Program) -> PathBuf {
        self.dir.join(format!("{}.log", program.name()))
    }
}
