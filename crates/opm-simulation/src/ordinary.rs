//! What an ordinary run takes: fresh histories for every commit, and for each commit the same.

use std::process::Command;

/// How many histories there are: about a minute of one core.
pub const HISTORIES: u64 = 2_000;

/// Where they begin where there is no commit to go by.
const WITHOUT_COMMIT: u64 = 30_000;

/// The seed of the first one, by a revision of the checkout that this was built from.
pub fn first_seed(revision: &str) -> u64 {
    let commit = Command::new("git")
        .args(["rev-parse", "--verify", "--quiet", revision])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let hash = commit.ok().filter(|said| said.status.success());
    let hash = hash.and_then(|said| String::from_utf8(said.stdout).ok());
    hash.and_then(|hash| seed_of(&hash))
        .unwrap_or(WITHOUT_COMMIT)
}

/// Twelve digits of a hash: short enough to be told.
fn seed_of(hash: &str) -> Option<u64> {
    u64::from_str_radix(hash.get(..12)?, 16).ok()
}
