//! Where a user's files live, by the conventions of the system.
//!
//! On Unix, macOS included, the XDG convention; on Windows the roaming and local application
//! data. Decides only; creates nothing.

use std::path::PathBuf;

use crate::env::{Environment, System};

/// The directory that holds the user's configuration file.
pub(crate) fn config(env: &Environment) -> Option<PathBuf> {
    let base = env.directory(System::XdgConfigHome).or_else(|| {
        if cfg!(windows) {
            env.directory(System::AppData)
        } else {
            env.directory(System::Home).map(|home| home.join(".config"))
        }
    });
    base.map(|base| base.join("opm"))
}

/// The directory that holds the embedded cluster unless another is named.
pub(crate) fn sandbox(env: &Environment) -> Option<PathBuf> {
    let base = env.directory(System::XdgDataHome).or_else(|| {
        if cfg!(windows) {
            env.directory(System::LocalAppData)
        } else {
            env.directory(System::Home)
                .map(|home| home.join(".local/share"))
        }
    });
    base.map(|base| base.join("opm").join("sandbox"))
}

/// The directory that remembers which configuration files the user trusts.
pub(crate) fn trust(env: &Environment) -> Option<PathBuf> {
    let base = env.directory(System::XdgStateHome).or_else(|| {
        if cfg!(windows) {
            env.directory(System::LocalAppData)
        } else {
            env.directory(System::Home)
                .map(|home| home.join(".local/state"))
        }
    });
    base.map(|base| base.join("opm").join("trust"))
}

/// The directory that keeps renderings.
pub(crate) fn renderings(env: &Environment) -> Option<PathBuf> {
    cache(env).map(|cache| cache.join("renderings"))
}

/// The directory that keeps charts that were fetched.
pub(crate) fn charts(env: &Environment) -> Option<PathBuf> {
    cache(env).map(|cache| cache.join("charts"))
}

/// The directory that keeps what clusters serve.
pub(crate) fn discovery(env: &Environment) -> Option<PathBuf> {
    cache(env).map(|cache| cache.join("discovery"))
}

fn cache(env: &Environment) -> Option<PathBuf> {
    let base = env.directory(System::XdgCacheHome).or_else(|| {
        if cfg!(windows) {
            env.directory(System::LocalAppData)
        } else {
            env.directory(System::Home).map(|home| home.join(".cache"))
        }
    });
    base.map(|base| base.join("opm"))
}
