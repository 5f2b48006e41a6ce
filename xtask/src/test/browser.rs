//! The browser that the page is tried in: installed where it is missing.

use std::process::{Command, Stdio};

use opm_testkit::browser::{PACKAGES, missing_browser};

use super::banner;
use crate::Outcome;

/// Installs it where it is missing, nothing may be skipped, and it may be installed; otherwise says
/// loudly what to install.
pub(super) fn ensure() -> Outcome {
    let Some(missing) = missing_browser() else {
        return Ok(());
    };
    let packages = PACKAGES.join(" ");
    let wanted = opm_testkit::cluster_required() || opm_testkit::browser_required();
    if wanted && install() {
        return Ok(());
    }
    let how = format!("there is no {missing}: install {packages} with your package manager");
    if opm_testkit::browser_required() {
        return Err(how.into());
    }
    banner(&[
        "NO BROWSER: the tests of the page in one are SKIPPED".to_owned(),
        how,
    ]);
    Ok(())
}

fn install() -> bool {
    if !(is_root() && apt(&["--version"])) {
        return false;
    }
    eprintln!("apt-get install {}", PACKAGES.join(" "));
    let install = [
        &["install", "--yes", "--no-install-recommends"],
        &PACKAGES[..],
    ]
    .concat();
    apt(&install) || (apt(&["update"]) && apt(&install))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

fn apt(arguments: &[&str]) -> bool {
    let mut apt = Command::new("apt-get");
    apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    let done = apt.stdin(Stdio::null()).stdout(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}
