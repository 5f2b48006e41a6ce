//! Owns a control plane for the tests, so that it stops whatever happens to them.
//!
//! `supervise` runs it and stops it when nobody uses it any more; `sweep` outlives `supervise` for
//! a moment and removes what that left behind. Both are started by the test kit, not by hand.
#![allow(clippy::print_stderr, reason = "a program of the tests")]

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["supervise", socket, purpose] => opm_testkit::supervise(socket.as_ref(), purpose),
        ["sweep", dir, socket] => opm_testkit::sweep(dir.as_ref(), socket.as_ref()),
        _ => {
            eprintln!("usage: opm-control-plane supervise SOCKET PURPOSE | sweep DIR SOCKET");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
