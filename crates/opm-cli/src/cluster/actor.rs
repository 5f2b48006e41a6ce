//! Who acts, and from where: what the lock and the log will say.

use std::fs;

use opm_engine::Actor;
use rustix::process::{Pid, test_kill_process};
use rustix::system::uname;

/// This process, as others should see it.
pub(super) fn actor(user: Option<&str>, pipeline: Option<&str>) -> Actor {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let pid_namespace = fs::read_link("/proc/self/ns/pid").ok();
    Actor {
        who: user.unwrap_or("unknown").to_owned(),
        host: uname().nodename().to_string_lossy().into_owned(),
        pipeline: pipeline.map(str::to_owned),
        pid: u64::from(std::process::id()),
        boot: boot.map(|id| id.trim().to_owned()),
        pid_namespace: pid_namespace.map(|id| id.to_string_lossy().into_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        is_alive,
    }
}

/// Whether a process of this machine is alive. In doubt it is.
fn is_alive(pid: u64) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return true;
    };
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::is_alive;

    #[test]
    fn this_process_is_alive_and_a_reaped_one_is_not() {
        assert!(is_alive(u64::from(std::process::id())));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(u64::from(child.id())));
        assert!(is_alive(0), "no such pid can be asked about");
    }
}
