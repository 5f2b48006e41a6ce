//! Programs of this workspace that a test needs built: cargo builds them and says where they are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use serde_json::Value;

/// The supervisor, beside the running test program, if it is newer than the sources of this crate:
/// asking cargo takes a while, and every test program needs it.
pub(crate) fn fresh_supervisor() -> Option<PathBuf> {
    let running = env::current_exe().ok()?;
    let dirs = running.ancestors().skip(1).take(2);
    let found = dirs
        .map(|dir| dir.join("opm-control-plane"))
        .find(|path| path.is_file())?;
    let built = fs::metadata(&found).and_then(|meta| meta.modified()).ok()?;
    (built > newest(Path::new(env!("CARGO_MANIFEST_DIR")))?).then_some(found)
}

fn newest(dir: &Path) -> Option<SystemTime> {
    let mut latest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(dir).ok()? {
        let entry = entry.ok()?;
        let time = if entry.file_type().ok()?.is_dir() {
            newest(&entry.path())?
        } else {
            entry.metadata().ok()?.modified().ok()?
        };
        latest = latest.max(time);
    }
    Some(latest)
}

/// Builds one binary of the workspace, if it is not up to date, and returns its path.
pub(crate) fn executable(package: &str, binary: &str) -> Result<PathBuf, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--quiet", "--package", package, "--bin", binary])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("failed to run cargo: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "cargo build --package {package} --bin {binary} failed:\n{why}"
        ));
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == binary)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| format!("cargo built {binary} and did not say where"))
}
