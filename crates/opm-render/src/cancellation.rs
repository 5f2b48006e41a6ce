//! Giving a rendering up: its program ends at once, and no other starts.
//!
//! The thread that renders and the one that gives up share a [`Cancellation`]. It knows the
//! running program's process group for exactly as long as that number cannot mean another one,
//! so nothing else is ever killed, and no program outlives a call of [`Cancellation::cancel`].

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

/// Whether a rendering is given up, and the program that it runs.
#[derive(Debug, Default)]
pub(crate) struct Cancellation(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: bool,
    /// The running program's process group; none once it is reaped.
    group: Option<Pid>,
}

impl Cancellation {
    /// Ends the running program and keeps others from starting.
    pub(crate) fn cancel(&self) {
        let mut state = self.state();
        state.cancelled = true;
        state.kill();
    }

    /// Whether the rendering is given up.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Starts a program in a process group of its own, unless the rendering is given up.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Option<Child>> {
        let mut state = self.state();
        if state.cancelled {
            return Ok(None);
        }
        let child = command.process_group(0).spawn()?;
        state.group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Some(child))
    }

    /// The program's status, if it has ended.
    pub(crate) fn try_wait(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        let mut state = self.state();
        let status = child.try_wait()?;
        if status.is_some() {
            state.group = None;
        }
        Ok(status)
    }

    /// Ends the program and whatever it started.
    pub(crate) fn end(&self, child: &mut Child) {
        self.state().kill();
        // Reaps it. After the signal this does not take long.
        let _ = child.wait();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Kills the group and forgets it: from now on it may be reaped and its number used again.
    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // An error means that it is gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Gives a rendering up when it is dropped.
#[derive(Debug)]
pub(crate) struct CancelOnDrop<'a>(pub(crate) &'a Cancellation);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
