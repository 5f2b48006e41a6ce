//! Files of published Go modules, downloaded once into the cache: a module's archive holds all that
//! its repository has in that directory, manifests, kustomizations and charts too.
//!
//! Go's own module cache keeps them, in a directory of ours, by module and version.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;
use thiserror::Error;

use crate::programs::cache_root;

/// A version of a Go module, and the hash of what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoModule {
    /// The path, as in `sigs.k8s.io/gateway-api`.
    pub path: &'static str,
    /// The version, as in `v1.5.1`.
    pub version: &'static str,
    /// The hash of its files, as Go writes it: `h1:…`.
    pub sum: &'static str,
}

/// Why the files of a module are not there.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum FetchError {
    #[error("no `go` command, which downloads the applications")]
    NoGo(#[source] io::Error),
    #[error("{module} is neither in the cache nor to be had: {why}")]
    Unavailable { module: String, why: String },
    #[error("{module} is {found}, and {pinned} is expected")]
    Sum {
        module: String,
        found: String,
        pinned: &'static str,
    },
}

/// What `go mod download -json` says.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Download {
    dir: Option<PathBuf>,
    sum: String,
    error: Option<String>,
}

impl GoModule {
    /// Whether its files are there already.
    pub fn is_cached(&self) -> bool {
        let module = format!("{}@{}", self.path, self.version);
        cache_root().join("modules").join(module).is_dir()
    }

    /// The directory with the module's files, downloaded if the cache does not have it.
    pub fn fetch(&self) -> Result<PathBuf, FetchError> {
        let module = format!("{}@{}", self.path, self.version);
        let cache = cache_root().join("modules");
        let output = Command::new("go")
            .args(["mod", "download", "-json", &module])
            .current_dir(std::env::temp_dir())
            .env("GOMODCACHE", &cache)
            .env("GO111MODULE", "on")
            .env("GOWORK", "off")
            .env("GOFLAGS", "-modcacherw")
            // The pinned hash decides what is right.
            .env("GONOSUMDB", "*")
            .stdin(Stdio::null())
            .output()
            .map_err(FetchError::NoGo)?;
        let told: Download = serde_json::from_slice(&output.stdout).unwrap_or_default();
        // A module that wants a newer Go is downloaded all the same.
        let dir = told.dir.unwrap_or_else(|| cache.join(&module));
        if told.sum.is_empty() || !dir.is_dir() {
            let said = String::from_utf8_lossy(&output.stderr);
            let why = told.error.unwrap_or_else(|| said.trim().to_owned());
            return Err(FetchError::Unavailable { module, why });
        }
        match told.sum == self.sum {
            true => Ok(dir),
            false => Err(FetchError::Sum {
                module,
                found: told.sum,
                pinned: self.sum,
            }),
        }
    }
}
