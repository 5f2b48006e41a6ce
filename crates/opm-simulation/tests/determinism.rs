//! What may not be used in the code that histories run: a clock, chance or a thread that the seed
//! does not decide. `opm-cluster`'s `clock.rs` is the one place that asks the machine.

#![allow(
    clippy::unwrap_used,
    reason = "tests say what they expect by failing loudly"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Each with the reason.
const FORBIDDEN: &[(&str, &str)] = &[
    ("SystemTime::now", "the wall clock is a port"),
    ("std::time::Instant", "time that passes is tokio's"),
    ("StdInstant", "time that passes is tokio's"),
    ("RandomState", "chance is the machine's"),
    ("new_v4", "chance is the machine's"),
    ("getrandom", "chance is the machine's"),
    ("fastrand", "chance is the machine's"),
    ("std::thread", "histories have one thread"),
    ("thread::spawn", "histories have one thread"),
    ("spawn_blocking", "histories have one thread"),
];

/// Where they may be, and why.
const ALLOWED: &[&str] = &[
    // What the machine is asked for, in one place.
    "opm-cluster/src/clock.rs",
    // Programs that give credentials: no history has any.
    "opm-cluster/src/plugin.rs",
    // What the user's cache keeps of clusters: no history has one.
    "opm-cluster/src/discovery/kept.rs",
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without its tests.
fn shipped(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_seed_decides_everything() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["opm-core", "opm-engine", "opm-cluster"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 100, "the sources were found");
    let mut wrong = Vec::new();
    for path in files {
        let name = path.strip_prefix(&crates).unwrap().display().to_string();
        if ALLOWED.contains(&name.as_str()) {
            continue;
        }
        let code = shipped(&path);
        for (word, why) in FORBIDDEN.iter().filter(|(word, _)| code.contains(word)) {
            wrong.push(format!("{name}: {word}: {why}"));
        }
        for select in code.split("select! {").skip(1) {
            if !select.trim_start().starts_with("biased") {
                wrong.push(format!("{name}: select! that is not biased"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
