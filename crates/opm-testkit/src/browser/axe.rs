//! The accessibility checker axe-core, which only tests use: `npm` downloads it once, at the
//! pinned version, into the cache.

use std::fs;
use std::process::{Command, Stdio};

use super::on_path;
use crate::programs::cache_root;
use crate::skip::skip_without_browser;

/// The version that decides.
const AXE_VERSION: &str = "4.14.0";

/// Its script. None, and a note, where it cannot be had.
///
/// # Panics
/// When it has to be had, and cannot.
#[must_use]
pub fn axe_source() -> Option<String> {
    let dir = cache_root().join(format!("axe-core-{AXE_VERSION}"));
    let file = dir.join("node_modules/axe-core/axe.min.js");
    if !file.is_file() {
        if on_path("npm").is_none() {
            skip_without_browser("npm to download axe-core with");
            return None;
        }
        fs::create_dir_all(&dir).unwrap();
        // One at a time: several tests may want it at once.
        let lock = fs::File::create(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        if !file.is_file() {
            let package = format!("axe-core@{AXE_VERSION}");
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit"])
                .args(["--no-fund", "--silent", &package])
                .arg("--prefix")
                .arg(&dir)
                .current_dir(&dir)
                .stdin(Stdio::null());
            let done = npm.stdout(Stdio::null()).status();
            if !done.is_ok_and(|status| status.success()) || !file.is_file() {
                skip_without_browser(&format!("{package}: npm cannot download it"));
                return None;
            }
        }
    }
    Some(fs::read_to_string(file).unwrap())
}
