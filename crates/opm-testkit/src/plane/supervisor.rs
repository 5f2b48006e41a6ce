//! The supervisor: owns one control plane and stops it when its last user is gone.
//!
//! It lives in a session of its own, so what ends a test run does not end it; it notices by the
//! connections that close.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::setsid;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::task::LocalSet;

use super::lease::{self, Reply, Request};
use super::processes::{Processes, Sweeper};
use super::{Plane, Purpose, settings, start};
use crate::services;

/// How long the very first user has to show up.
const FIRST_USER: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
enum State {
    Starting,
    Ready(Plane),
    Failed(String),
    /// Nobody can find it any more, and it is about to be gone.
    Stopping,
    Stopped,
}

#[derive(Debug)]
struct Users {
    count: usize,
    keep: bool,
    idle_since: Instant,
    patience: Duration,
}

/// What the connections and the main loop share; all on one thread.
#[derive(Debug)]
struct SupervisorState {
    state: watch::Sender<State>,
    users: RefCell<Users>,
    stop: Notify,
}

/// Runs a control plane until it is told to stop or nobody uses it.
pub fn supervise(socket: &Path, purpose: &str) {
    let purpose = Purpose::of_argument(purpose);
    let _ = setsid();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome =
        runtime.and_then(|runtime| LocalSet::new().block_on(&runtime, run(socket, purpose)));
    if let Err(error) = outcome {
        eprintln!("the supervisor of the control plane failed: {error}");
    }
}

async fn run(socket: &Path, purpose: Purpose) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    let dir = tempfile::Builder::new()
        .prefix("opm-testkit-")
        .tempdir()?
        .keep();
    let mut sweeper = Sweeper::start(&dir, socket)?;
    let shared = Rc::new(SupervisorState {
        state: watch::channel(State::Starting).0,
        users: RefCell::new(Users {
            count: 0,
            keep: false,
            idle_since: Instant::now(),
            patience: FIRST_USER,
        }),
        stop: Notify::new(),
    });
    let accepting = tokio::task::spawn_local(accept(listener, shared.clone()));
    let processes = tokio::select! {
        processes = live(&dir, purpose, &mut sweeper, &shared) => processes,
        () = shared.stop.notified() => None,
        () = terminated() => None,
    };
    // Whoever has come before that, and after the last user left, starts a new one: this one must
    // not be called ready any more.
    withdraw(socket)?;
    shared.state.send_replace(State::Stopping);
    keep_logs(&dir);
    if let Some(processes) = processes {
        processes.kill().await;
    }
    accepting.abort();
    sweeper.sweep()?;
    shared.state.send_replace(State::Stopped);
    // Whoever asked for the stop, or came too late, gets the answer before we are gone.
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(())
}

/// Starts the control plane and returns when it has failed or nobody uses it any more, with what
/// still runs.
async fn live(
    dir: &Path,
    purpose: Purpose,
    sweeper: &mut Sweeper,
    shared: &SupervisorState,
) -> Option<Processes> {
    let (plane, mut processes) = match start::start(dir, purpose, sweeper).await {
        Ok(started) => started,
        Err(why) => {
            shared.state.send_replace(State::Failed(why));
            shared.users.borrow_mut().keep = false;
            unused(shared, None).await;
            return None;
        }
    };
    if let Purpose::Applications = purpose
        && let Err(error) = services::serve(&plane).await
    {
        shared.state.send_replace(State::Failed(error.to_string()));
        unused(shared, None).await;
        return Some(processes);
    }
    shared.state.send_replace(State::Ready(plane));
    unused(shared, Some(&mut processes)).await;
    Some(processes)
}

/// Returns when nobody has used the control plane for a while, or a process of it has ended.
async fn unused(shared: &SupervisorState, mut processes: Option<&mut Processes>) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if let Some(why) = processes.as_mut().and_then(|processes| processes.ended()) {
            shared.state.send_replace(State::Failed(why));
            return;
        }
        let users = shared.users.borrow();
        if users.count == 0 && !users.keep && users.idle_since.elapsed() > users.patience {
            return;
        }
    }
}

async fn accept(listener: UnixListener, shared: Rc<SupervisorState>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::task::spawn_local(serve(stream, shared.clone()));
    }
}

async fn serve(stream: UnixStream, shared: Rc<SupervisorState>) -> io::Result<()> {
    shared.users.borrow_mut().count += 1;
    let outcome = converse(stream, &shared).await;
    let mut users = shared.users.borrow_mut();
    users.count -= 1;
    users.idle_since = Instant::now();
    users.patience = settings::linger();
    outcome
}

async fn converse(mut stream: UnixStream, shared: &SupervisorState) -> io::Result<()> {
    let (reading, mut writing) = stream.split();
    let mut reading = BufReader::new(reading);
    let mut line = String::new();
    reading.read_line(&mut line).await?;
    let request: Request = serde_json::from_str(&line).map_err(io::Error::other)?;
    match request {
        Request::Use => {}
        Request::Keep => shared.users.borrow_mut().keep = true,
        Request::Stop => shared.stop.notify_one(),
    }
    let mut state = shared.state.subscribe();
    let settled = |state: &State| match state {
        State::Starting => false,
        State::Ready(_) | State::Failed(_) | State::Stopping => request != Request::Stop,
        State::Stopped => true,
    };
    let reply = match state
        .wait_for(settled)
        .await
        .map_err(io::Error::other)?
        .clone()
    {
        State::Ready(plane) => Reply::Ready(plane),
        State::Failed(why) => Reply::Failed(why),
        State::Starting | State::Stopping | State::Stopped => Reply::Stopped,
    };
    let mut line = serde_json::to_vec(&reply).map_err(io::Error::other)?;
    line.push(b'\n');
    writing.write_all(&line).await?;
    // The lease: nothing more is said, and the end of the user closes the connection.
    reading.read_to_end(&mut Vec::new()).await.map(drop)
}

async fn terminated() {
    let Ok(mut term) = signal(SignalKind::terminate()) else {
        return;
    };
    let Ok(mut interrupt) = signal(SignalKind::interrupt()) else {
        return;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Nobody can find us from here on; whoever comes starts a new control plane.
fn withdraw(socket: &Path) -> io::Result<()> {
    let _nobody_starts = lease::lock()?;
    fs::remove_file(socket)
}

fn keep_logs(dir: &Path) {
    let Some(target) = settings::keep_logs() else {
        return;
    };
    let _ = fs::create_dir_all(&target);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "log")
        {
            let _ = fs::copy(entry.path(), target.join(entry.file_name()));
        }
    }
}
