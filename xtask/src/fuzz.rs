//! Fuzzing: every target for a while. Needs cargo-fuzz; a nightly compiler adds the address
//! sanitizer. The same entry points run on the seeds, and on damaged copies of them, in the ordinary
//! tests.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Outcome;

/// Fuzzes every target, or one
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which target; all of them unless it is given
    target: Option<String>,
    /// For how many seconds each
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

impl Args {
    /// Every target for a minute.
    pub(crate) fn all() -> Self {
        Self {
            target: None,
            seconds: 60,
        }
    }
}

/// The targets: each has seeds.
pub(crate) fn targets() -> std::io::Result<Vec<String>> {
    let seeds = std::fs::read_dir(directory().join("seeds"))?;
    let mut names = Vec::new();
    for seed in seeds {
        names.push(seed?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Why it cannot be fuzzed here, if so.
pub(crate) fn missing() -> Option<&'static str> {
    let there = runs(&["fuzz", "--version"]);
    (!there).then_some("there is no cargo-fuzz: cargo install cargo-fuzz")
}

fn runs(arguments: &[&str]) -> bool {
    let mut cargo = Command::new("cargo");
    let asked = cargo
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(why) = missing() {
        return Err(why.into());
    }
    let all = match &args.target {
        Some(target) => vec![target.clone()],
        None => targets()?,
    };
    for target in all {
        fuzz(&target, args.seconds)?;
    }
    Ok(())
}

fn fuzz(target: &str, seconds: u64) -> Outcome {
    eprintln!("fuzzing {target} for {seconds} s");
    let corpus = directory().join("corpus").join(target);
    std::fs::create_dir_all(&corpus)?;
    // Without unsafe code of our own, a sanitizer looks at the libraries in C only.
    let how: &[&str] = match runs(&["+nightly", "--version"]) {
        true => &["+nightly", "fuzz", "run"],
        false => &["fuzz", "run", "--sanitizer", "none"],
    };
    let status = Command::new("cargo")
        .args(how)
        .arg(target)
        .arg(corpus)
        .arg(directory().join("seeds").join(target))
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        // More than a command may use is a bug.
        .args(["-rss_limit_mb=1024", "-timeout=20", "-verbosity=0"])
        .current_dir(directory())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("fuzzing {target} found something: see fuzz/artifacts").into()),
    }
}

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_seeds_and_every_seed_a_target() {
        let manifest = std::fs::read_to_string(directory().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let bins = manifest["bin"].as_array().unwrap().iter();
        let mut bins: Vec<&str> = bins.map(|bin| bin["name"].as_str().unwrap()).collect();
        bins.sort_unstable();
        assert_eq!(targets().unwrap(), bins);
    }
}
