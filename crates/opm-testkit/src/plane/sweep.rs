//! The sweeper: the last process of a control plane.

use std::fs;
use std::io::{self, BufRead as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, setsid};

use super::lease;

/// Waits for the supervisor to end, however it ends, then ends the processes that it named and
/// removes its directory and its socket.
pub fn sweep(dir: &Path, socket: &Path) {
    // Of a session of its own, so that a signal to the test's process group does not reach it.
    let _ = setsid();
    let pids: Vec<i32> = io::stdin()
        .lock()
        .lines()
        .map_while(Result::ok)
        .filter_map(parse)
        .collect();
    for pid in pids {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    remove_socket(socket);
    remove_dir(dir);
}

/// A process that is just dying may still write, or remove something in the middle of it: the
/// directory is gone when it is not there any more, whatever a single try says.
fn remove_dir(dir: &Path) {
    for _ in 0..400 {
        let _ = fs::remove_dir_all(dir);
        if !dir.exists() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is used as a function on owned lines"
)]
fn parse(line: String) -> Option<i32> {
    line.trim().parse().ok()
}

/// A supervisor that stopped in good order has removed its socket, and a new one may have made its
/// own in the same place by now: that one answers, and its socket stays.
fn remove_socket(socket: &Path) {
    let Ok(_nobody_starts) = lease::lock() else {
        return;
    };
    // One that was killed may seem to answer for a moment, until the kernel has closed it.
    for _ in 0..20 {
        if UnixStream::connect(socket).is_err() {
            let _ = fs::remove_file(socket);
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
}
