//! The browser that the page is tried in: installed where it is missing and has to be there.

use std::process::{Command, Stdio};

use opm_testkit::browser::{PACKAGES, missing_browser};

use super::banner;
use crate::Outcome;

/// Installs it where it is required, is missing and may be installed; otherwise says loudly what
/// to install.
pub(super) fn ensure() -> Outcome {
    let Some(missing) = missing_browser() else {
        return Ok(());
    };
    let packages = PACKAGES.join(" ");
    if !opm_testkit::cluster_required() {
        banner(&[
            "NO BROWSER: the tests of the page in one are SKIPPED".to_owned(),
            format!("there is no {missing}: install {packages}"),
        ]);
        return Ok(());
    }
    if !(is_root() && apt(&["--version"])) {
        let how = format!("there is no {missing}: install {packages} with your package manager");
        return Err(how.into());
    }
    eprintln!("apt-get install {packages}");
    let install = [
        &["install", "--yes", "--no-install-recommends"],
        &PACKAGES[..],
    ]
    .concat();
    if apt(&install) || (apt(&["update"]) && apt(&install)) {
        return Ok(());
    }
    Err(format!("apt-get could not install {packages}").into())
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
