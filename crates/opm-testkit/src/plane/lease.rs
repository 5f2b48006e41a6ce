//! The side of the users: find the supervisor or start one, and hold on to it.
//!
//! One line goes each way: a [`Request`], then a [`Reply`]. The open connection is the lease.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Plane, PlaneError, Purpose, settings};
use crate::programs::{CONTROL_PLANE, ensure};
use crate::wait::HANG;

/// What a user asks of the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Use the control plane while the connection is open.
    Use,
    /// As `Use`; and it stays up without users, until `Stop`.
    Keep,
    /// Stop it, whoever uses it.
    Stop,
}

/// What the supervisor answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Reply {
    Ready(Plane),
    Failed(String),
    Stopped,
}

/// Whether [`super::stop`] found anything to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A control plane ran, and is gone with its files.
    Stopped,
    /// There was none.
    NothingRan,
}

/// A lease on the control plane, which is started if there is none.
pub(super) fn acquire(purpose: Purpose, keep: bool) -> Result<(Plane, UnixStream), PlaneError> {
    let request = if keep { Request::Keep } else { Request::Use };
    let mut last = String::new();
    for _ in 0..5 {
        let stream = connect_or_start(purpose)?;
        match ask(stream, request) {
            Ok((Reply::Ready(plane), stream)) => return Ok((plane, stream)),
            Ok((Reply::Failed(why), _)) => return Err(PlaneError::Start(why)),
            // It was about to stop when we came: the next one starts a new one.
            Ok((Reply::Stopped, _)) => "it stopped".clone_into(&mut last),
            Err(error) => last = error.to_string(),
        }
        thread::sleep(Duration::from_millis(100));
    }
    Err(PlaneError::Start(last))
}

/// A lease on the control plane, if one is running.
pub(super) fn running() -> Result<Option<(Plane, UnixStream)>, PlaneError> {
    let Ok(stream) = UnixStream::connect(settings::socket(Purpose::Tests)) else {
        return Ok(None);
    };
    match ask(stream, Request::Use) {
        Ok((Reply::Ready(plane), stream)) => Ok(Some((plane, stream))),
        Ok((Reply::Failed(why), _)) => Err(PlaneError::Start(why)),
        Ok((Reply::Stopped, _)) | Err(_) => Ok(None),
    }
}

/// Stops a control plane and returns when nothing of it is left.
pub(super) fn stop(purpose: Purpose) -> Result<Stop, PlaneError> {
    let Ok(stream) = UnixStream::connect(settings::socket(purpose)) else {
        return Ok(Stop::NothingRan);
    };
    // An error means that it went away while we asked, which is what was wanted.
    let _ = ask(stream, Request::Stop);
    Ok(Stop::Stopped)
}

fn ask(mut stream: UnixStream, request: Request) -> io::Result<(Reply, UnixStream)> {
    let mut line = serde_json::to_vec(&request).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let reply = serde_json::from_str(&answer).map_err(io::Error::other)?;
    Ok((reply, stream))
}

fn connect_or_start(purpose: Purpose) -> Result<UnixStream, PlaneError> {
    let socket = &settings::socket(purpose);
    if let Ok(stream) = UnixStream::connect(socket) {
        return Ok(stream);
    }
    ensure(CONTROL_PLANE)?;
    let supervisor = supervisor()?;
    let _only_one = lock()?;
    if let Ok(stream) = UnixStream::connect(socket) {
        return Ok(stream);
    }
    // Nobody listens and nobody else is starting: a leftover of a machine that went down.
    let _ = fs::remove_file(socket);
    let mut child = spawn(&supervisor, socket, purpose)?;
    let begin = Instant::now();
    let stream = loop {
        match UnixStream::connect(socket) {
            Ok(stream) => break stream,
            Err(error) if child.try_wait()?.is_some() || begin.elapsed() > HANG => {
                return Err(error.into());
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    };
    // Reap it if it ends before we do; it is not ours to end.
    thread::spawn(move || child.wait());
    Ok(stream)
}

fn spawn(supervisor: &Path, socket: &Path, purpose: Purpose) -> io::Result<Child> {
    Command::new(supervisor)
        .arg("supervise")
        .arg(socket)
        .arg(purpose.argument())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

pub(super) fn lock() -> io::Result<File> {
    let path = settings::start_lock();
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let file = File::create(path)?;
    file.lock()?;
    Ok(file)
}

fn supervisor() -> Result<PathBuf, PlaneError> {
    if let Some(path) = settings::supervisor().or_else(crate::cargo::fresh_supervisor) {
        return Ok(path);
    }
    crate::cargo::executable("opm-testkit", "opm-control-plane").map_err(PlaneError::Supervisor)
}
