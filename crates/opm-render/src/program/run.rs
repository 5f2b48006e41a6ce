//! One run of another program, bounded in time, memory and output.
//!
//! Never a shell. The program gets a process group of its own, which is ended when the time is
//! up, the output too long, or the caller gives up. What it prints is the caller's to read.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::find::{self, ProgramError};
use crate::context::RenderContext;

/// How much a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Bytes of memory, where the operating system can limit it.
    pub memory: u64,
    /// Bytes of standard output.
    pub output: usize,
}

impl Default for Limits {
    /// Enough for thousands of objects.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            memory: 1 << 30,
            output: 128 << 20,
        }
    }
}

/// What a program prints to standard error is for people: more than this is noise.
const MAX_STDERR: usize = 4 << 20;
/// How often the caller's wish to give up is looked at.
const TICK: Duration = Duration::from_millis(50);
/// From when on the caller hears that a program takes its time.
const SLOW: Duration = Duration::from_secs(1);

/// Why a program does not run to its end.
#[derive(Debug, Error)]
pub enum CommandError {
    /// There is no such program, or it is none.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// It cannot be started.
    #[error("failed to start `{}`: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// It cannot be watched.
    #[error("failed to run `{what}`: {source}")]
    Run {
        /// The command.
        what: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// It takes too long.
    #[error("`{what}` did not end within {} s and was stopped", limit.as_secs())]
    TimedOut {
        /// The command.
        what: String,
        /// How long it may take.
        limit: Duration,
    },
    /// It prints too much.
    #[error("`{what}` printed more than {} MiB and was stopped", limit >> 20)]
    TooMuchOutput {
        /// The command.
        what: String,
        /// How much it may print.
        limit: usize,
    },
    /// It runs out of the memory that it may use.
    #[error("`{what}` needs more than {} MiB of memory", limit >> 20)]
    OutOfMemory {
        /// The command.
        what: String,
        /// How much it may use.
        limit: u64,
    },
    /// It breaks down.
    #[error("`{what}` crashed: {said}")]
    Crashed {
        /// The command.
        what: String,
        /// The first line of what it said.
        said: String,
    },
    /// Somebody else kills it.
    #[error("`{what}` was killed by signal {signal}")]
    Killed {
        /// The command.
        what: String,
        /// The signal's number.
        signal: i32,
    },
    /// The caller gives up.
    #[error("`{0}` was interrupted")]
    Interrupted(String),
}

/// The environment that a program sees.
#[derive(Debug, Clone)]
pub(crate) enum Environment {
    /// Only these variables.
    Only(Vec<(&'static str, OsString)>),
    /// The user's, with these changed.
    Users(Vec<(&'static str, OsString)>),
}

/// A program to run.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    pub(crate) program: &'a Path,
    /// Where a program that is named without a path is looked for.
    pub(crate) search_path: Option<&'a OsStr>,
    pub(crate) arguments: &'a [&'a str],
    pub(crate) directory: &'a Path,
    pub(crate) environment: Environment,
    pub(crate) limits: Limits,
    /// What it reads from its standard input.
    pub(crate) input: Option<&'a str>,
}

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Invocation<'_> {
    /// Runs the program to its end, or ends it.
    pub(crate) fn finish(
        &self,
        context: &RenderContext<'_>,
    ) -> Result<ProgramOutput, CommandError> {
        let start = Instant::now();
        let mut child = self.spawn(context)?;
        let ended = self.follow(&mut child, start, context);
        if ended.is_err() {
            context.cancellation.end(&mut child);
        }
        let output = ended?;
        // A program that ends because the caller gives up looks like one that somebody kills.
        if output.status.signal().is_some() && context.is_cancelled() {
            return Err(CommandError::Interrupted(self.what()));
        }
        self.check(&output)?;
        Ok(output)
    }

    /// The command as a reader would type it.
    fn what(&self) -> String {
        let name = self.program.file_name().unwrap_or(self.program.as_os_str());
        let words = self
            .arguments
            .iter()
            .take_while(|word| !word.starts_with(['-', '.']));
        let words: Vec<&str> = words.copied().collect();
        format!("{} {}", name.to_string_lossy(), words.join(" "))
            .trim_end()
            .to_owned()
    }

    fn spawn(&self, context: &RenderContext<'_>) -> Result<Child, CommandError> {
        let program = find::find(self.program, self.search_path)?;
        let mut command = Command::new(&program);
        command.args(self.arguments).current_dir(self.directory);
        let input = match self.input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        match &self.environment {
            Environment::Only(variables) => command.env_clear().envs(variables.iter().cloned()),
            Environment::Users(changed) => command.envs(changed.iter().cloned()),
        };
        let spawned = context.cancellation.spawn(&mut command);
        let spawned = spawned.map_err(|source| CommandError::Start { program, source })?;
        let mut child = spawned.ok_or_else(|| CommandError::Interrupted(self.what()))?;
        if let Err(source) = limit_resources(&child, &self.limits) {
            context.cancellation.end(&mut child);
            return Err(CommandError::Run {
                what: self.what(),
                source,
            });
        }
        Ok(child)
    }

    fn follow(
        &self,
        child: &mut Child,
        start: Instant,
        context: &RenderContext<'_>,
    ) -> Result<ProgramOutput, CommandError> {
        feed(child.stdin.take(), self.input);
        let stdout = collect(child.stdout.take(), self.limits.output);
        let stderr = collect(child.stderr.take(), MAX_STDERR);
        let mut supervisor = Supervisor {
            invocation: self,
            start,
            told: 0,
            context,
        };
        let stdout = supervisor.receive(&stdout)?;
        let stderr = supervisor.receive(&stderr)?;
        let status = loop {
            let ended = context.cancellation.try_wait(child);
            match ended.map_err(|source| CommandError::Run {
                what: self.what(),
                source,
            })? {
                Some(status) => break status,
                None => supervisor.tick(Duration::from_millis(1))?,
            }
        };
        Ok(ProgramOutput {
            status,
            stdout,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }

    /// Tells an answer, good or bad, from the end of a program that breaks down.
    fn check(&self, output: &ProgramOutput) -> Result<(), CommandError> {
        let what = self.what();
        let answered = matches!(output.status.code(), Some(0 | 1));
        if !answered
            && OUT_OF_MEMORY
                .iter()
                .any(|said| output.stderr.contains(said))
        {
            return Err(CommandError::OutOfMemory {
                what,
                limit: self.limits.memory,
            });
        }
        match (output.status.signal(), answered) {
            (Some(signal), _) => Err(CommandError::Killed { what, signal }),
            (None, true) => Ok(()),
            (None, false) => {
                let said = output.stderr.lines().next().unwrap_or_default();
                Err(CommandError::Crashed {
                    what,
                    said: without_quoted(said).chars().take(200).collect(),
                })
            }
        }
    }
}

/// A program that breaks down may quote what it was given.
fn without_quoted(said: &str) -> String {
    let parts = said.split('"').enumerate();
    let shown = parts.map(|(place, part)| if place % 2 == 0 { part } else { "\"…\"" });
    shown.collect()
}

/// What a Go program says when it gets no more memory, also when it wanted it for a thread.
const OUT_OF_MEMORY: [&str; 3] = [
    "out of memory",
    "cannot allocate memory",
    "pthread_create failed",
];

/// Waits for a child without forgetting time, progress and the caller's wish to give up.
struct Supervisor<'a> {
    invocation: &'a Invocation<'a>,
    start: Instant,
    told: u64,
    context: &'a RenderContext<'a>,
}

impl Supervisor<'_> {
    fn receive(&mut self, stream: &Receiver<StreamContent>) -> Result<Vec<u8>, CommandError> {
        loop {
            match stream.recv_timeout(TICK) {
                Ok(StreamContent::All(bytes)) => return Ok(bytes),
                Ok(StreamContent::TooMuch { limit }) => {
                    return Err(CommandError::TooMuchOutput {
                        what: self.invocation.what(),
                        limit,
                    });
                }
                Ok(StreamContent::Failed(source)) => {
                    return Err(CommandError::Run {
                        what: self.invocation.what(),
                        source,
                    });
                }
                Err(RecvTimeoutError::Timeout) => self.tick(Duration::ZERO)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            }
        }
    }

    fn tick(&mut self, pause: Duration) -> Result<(), CommandError> {
        thread::sleep(pause);
        let elapsed = self.start.elapsed();
        if self.context.is_cancelled() {
            return Err(CommandError::Interrupted(self.invocation.what()));
        }
        if elapsed > self.invocation.limits.time {
            let limit = self.invocation.limits.time;
            return Err(CommandError::TimedOut {
                what: self.invocation.what(),
                limit,
            });
        }
        if elapsed > SLOW && elapsed.as_secs() > self.told {
            self.told = elapsed.as_secs();
            self.context
                .observer
                .waiting(&self.invocation.what(), elapsed);
        }
        Ok(())
    }
}

enum StreamContent {
    All(Vec<u8>),
    TooMuch { limit: usize },
    Failed(std::io::Error),
}

/// Writes to a stream on a thread of its own. A program that does not read to the end has its
/// reasons, and says them.
fn feed(stream: Option<ChildStdin>, input: Option<&str>) {
    if let (Some(mut stream), Some(input)) = (stream, input) {
        let input = input.to_owned();
        thread::spawn(move || drop(stream.write_all(input.as_bytes())));
    }
}

/// Reads a stream to its end on a thread of its own, up to a limit.
fn collect(stream: Option<impl Read + Send + 'static>, limit: usize) -> Receiver<StreamContent> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stream) = stream {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stream.take(limit as u64 + 1).read_to_end(&mut bytes);
            let collected = match read {
                Err(error) => StreamContent::Failed(error),
                Ok(_) if bytes.len() > limit => StreamContent::TooMuch { limit },
                Ok(_) => StreamContent::All(bytes),
            };
            // Nobody listens any more when the child is given up.
            let _ = sender.send(collected);
        });
    }
    receiver
}

/// Limits the running program from outside, so that no code runs between fork and exec. The
/// limit on CPU time ends a program whose parent is killed and watches it no more.
#[cfg(target_os = "linux")]
fn limit_resources(child: &Child, limits: &Limits) -> std::io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let seconds = limits.time.as_secs().max(1) * 4;
    for (resource, limit) in [(Resource::Data, limits.memory), (Resource::Cpu, seconds)] {
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        match prlimit(pid, resource, limit) {
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Elsewhere only GOMEMLIMIT and the clock hold a program back.
#[cfg(not(target_os = "linux"))]
fn limit_resources(_child: &Child, _limits: &Limits) -> std::io::Result<()> {
    Ok(())
}
