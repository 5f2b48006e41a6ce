//! A module reference, `example.com/web@v1.2`, resolved to a directory in `cue`'s cache.
//!
//! `cue` itself resolves, downloads and unpacks; what comes back is the directory of one exact
//! version, which is then rendered like any other.

use std::path::PathBuf;

use semver::Version;
use thiserror::Error;

use super::{CueError, WorkspaceError, fetching};
use crate::context::RenderContext;
use crate::program::{CommandError, Invocation, PrivateDir, ProgramOutput};

/// Why a module cannot be had from its registry.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// No registry has such a module, or such a version of it.
    #[error("no registry has {0}")]
    Missing(String),
    /// The version cannot be told, or the registry did not answer.
    #[error("failed to resolve {reference}: {said}")]
    Resolve {
        /// The reference as given.
        reference: String,
        /// What `cue` says.
        said: String,
    },
    /// The version is no version.
    #[error("{reference}: {version:?} is not a version: use v1.2.3, v1.2, v1 or latest")]
    Version {
        /// The reference as given.
        reference: String,
        /// What stands behind the `@`.
        version: String,
    },
    /// There is no place to download to.
    #[error("no directory for downloaded modules: neither CUE_CACHE_DIR nor HOME is set")]
    NoCache,
}

/// A module in the cache.
#[derive(Debug)]
pub(crate) struct CachedModule {
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// Its exact version, without the `v`.
    pub(crate) version: String,
}

/// Finds the exact version that a reference means, and has `cue` download it if need be.
pub(crate) fn resolve(
    path: &str,
    version: &str,
    context: &RenderContext<'_>,
) -> Result<CachedModule, CueError> {
    let settings = context.settings;
    let reference = format!("{path}@{version}");
    check_version(&reference, version)?;
    let cache = settings
        .cue_cache
        .as_deref()
        .ok_or(RegistryError::NoCache)?;
    let extracted = |exact: &str| cache.join("mod/extract").join(format!("{path}@{exact}"));
    if is_exact(version) && extracted(version).is_dir() {
        return Ok(resolved(extracted(version), version));
    }
    let dir = PrivateDir::create(settings.runtime.as_deref()).map_err(WorkspaceError::from)?;
    let cue = |arguments: &[&str]| -> Result<ProgramOutput, CommandError> {
        let environment = fetching(settings.cue_cache.as_deref());
        let (program, limits) = (settings.cue.as_path(), settings.limits);
        Invocation {
            program,
            search_path: settings.search_path.as_deref(),
            arguments,
            directory: dir.path(),
            environment,
            limits,
            input: None,
        }
        .finish(context)
    };
    let failed = |said: &str| match is_missing(&reference, said) {
        true => RegistryError::Missing(reference.clone()),
        false => RegistryError::Resolve {
            reference: reference.clone(),
            said: said.trim().to_owned(),
        },
    };
    for arguments in [
        &["mod", "init", "opm.internal/main@v0"][..],
        &["mod", "get", &reference],
    ] {
        let output = cue(arguments)?;
        if !output.status.success() {
            return Err(failed(&output.stderr).into());
        }
    }
    let module = std::fs::read_to_string(dir.path().join("cue.mod/module.cue"));
    let exact = exact_version(&module.map_err(WorkspaceError::from)?, path)
        .ok_or_else(|| failed("`cue mod get` recorded no version"))?;
    // Its result does not matter: loading the package is what unpacks the module.
    let loaded = cue(&["export", &format!("{path}@{exact}"), "-e", "metadata"])?;
    match extracted(&exact).is_dir() {
        true => Ok(resolved(extracted(&exact), &exact)),
        false => Err(failed(&loaded.stderr).into()),
    }
}

/// Whether `cue` says that this very module, or version, is not there: it says the same of a
/// dependency.
fn is_missing(reference: &str, said: &str) -> bool {
    said.contains(&format!("{reference}: module not found"))
        || said.contains(&format!("no versions found for module {reference}"))
}

fn resolved(directory: PathBuf, version: &str) -> CachedModule {
    CachedModule {
        directory,
        version: version.trim_start_matches('v').to_owned(),
    }
}

fn is_exact(version: &str) -> bool {
    version
        .strip_prefix('v')
        .is_some_and(|v| Version::parse(v).is_ok())
}

fn check_version(reference: &str, version: &str) -> Result<(), RegistryError> {
    let partial = version.strip_prefix('v').is_some_and(|v| {
        let parts: Vec<&str> = v.split('.').collect();
        let number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        parts.len() <= 2 && parts.iter().all(number)
    });
    match partial || version == "latest" || is_exact(version) {
        true => Ok(()),
        false => Err(RegistryError::Version {
            reference: reference.to_owned(),
            version: version.to_owned(),
        }),
    }
}

/// The version that `deps` gives for a module path, whatever its major version.
fn exact_version(module_file: &str, path: &str) -> Option<String> {
    let wanted = format!("\"{path}@");
    let mut lines = module_file
        .lines()
        .map(str::trim)
        .skip_while(|l| !l.starts_with(&wanted));
    lines.find_map(|line| {
        let value = line.split_once("v: ").map(|(_, value)| value)?;
        let mut strings = serde_json::Deserializer::from_str(value).into_iter::<String>();
        strings.next()?.ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_version_is_read_from_deps() {
        let text = "module: \"opm.internal/main@v0\"\nlanguage: {\n\tversion: \"v0.17.1\"\n}\ndeps: {\n\
            \t\"example.com/a@v0\": {\n\t\tv: \"v0.9.0\"\n\t}\n\t\"example.com/app@v1\": {\n\t\tv: \"v1.2.3\"\n\t}\n}\n";
        assert_eq!(
            exact_version(text, "example.com/app").as_deref(),
            Some("v1.2.3")
        );
        assert_eq!(
            exact_version(text, "example.com/a").as_deref(),
            Some("v0.9.0")
        );
        assert_eq!(exact_version(text, "example.com/b"), None);
        let line = "deps: \"a.b/c@v0\": v: \"v0.1.0\"\n";
        assert_eq!(
            exact_version(line.trim_start_matches("deps: "), "a.b/c").as_deref(),
            Some("v0.1.0")
        );
    }

    #[test]
    fn a_missing_module_is_told_from_a_missing_dependency() {
        for (said, missing) in [
            (
                "graph: a.b/c@v1.0.0: module a.b/c@v1.0.0: module not found",
                true,
            ),
            ("no versions found for module a.b/c@v1.0.0", true),
            (
                "graph: a.b/c@v1.0.0: a.b/lib@v0.1.0: module not found",
                false,
            ),
            ("module a.b/c@v1.0.0: cannot do HTTP request", false),
        ] {
            assert_eq!(is_missing("a.b/c@v1.0.0", said), missing, "{said}");
        }
    }

    #[test]
    fn versions() {
        for good in ["v1.2.3", "v1.2", "v1", "v0", "latest", "v1.0.0-rc.1"] {
            assert!(check_version("r", good).is_ok(), "{good}");
        }
        for bad in ["", "1.2.3", "v", "v1.x", "main", "v1.2.3.4", "../x"] {
            assert!(check_version("r", bad).is_err(), "{bad}");
        }
    }
}
