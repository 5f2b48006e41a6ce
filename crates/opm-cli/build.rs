//! Tells a release build of which commit it is, if it is built in its own repository.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A development build would be built anew with every commit.
    if env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // A copy of these files inside of another repository is not of its commits.
    if git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_none() {
        return;
    }
    let commit = git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]);
    let date = git(&["show", "-s", "--format=%cs", "HEAD"]);
    if let (Some(commit), Some(date)) = (commit, date) {
        println!("cargo::rustc-env=OPM_BUILD_COMMIT={commit}");
        println!("cargo::rustc-env=OPM_BUILD_DATE={date}");
    }
    // Whether files were changed since the commit is told of all that goes in.
    for path in ["../../Cargo.lock", "..", "../../deploy"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// What git answers, if there is a git and it has an answer.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
