//! Which programs render, where they keep what they download, and how much they may use.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::program::Limits;

/// How other programs render modules. Plain manifests need none of it.
#[derive(Debug, Clone)]
pub struct RenderSettings {
    /// The `cue` program: an absolute path, or a name that is looked for in the search path.
    pub cue: PathBuf,
    /// Where `cue` keeps downloaded modules; none when there is no home directory.
    pub cue_cache: Option<PathBuf>,
    /// The `helm` program, as `cue` is given.
    pub helm: PathBuf,
    /// Directories as in PATH. Those that are not absolute are passed over.
    pub search_path: Option<OsString>,
    /// Where files go that live as long as the session, and that nobody else can read.
    pub runtime: Option<PathBuf>,
    /// How much each program may use.
    pub limits: Limits,
    /// Where charts that were fetched are kept; nothing if they are fetched each time.
    pub charts: Option<PathBuf>,
    /// Where renderings are kept; nothing if none are to be.
    pub renderings: Option<PathBuf>,
}

impl Default for RenderSettings {
    /// The programs in this process's PATH.
    fn default() -> Self {
        Self {
            cue: PathBuf::from("cue"),
            cue_cache: None,
            helm: PathBuf::from("helm"),
            search_path: std::env::var_os("PATH"),
            runtime: None,
            limits: Limits::default(),
            charts: None,
            renderings: None,
        }
    }
}

/// A variable that cannot be understood.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{variable} must be a whole number of {unit} above 0")]
pub struct SettingsError {
    /// The variable.
    pub variable: &'static str,
    /// What it counts.
    pub unit: &'static str,
}

impl RenderSettings {
    /// Reads PATH, OPM_CUE, OPM_HELM, OPM_RENDER_TIMEOUT (seconds), OPM_RENDER_MEMORY (MiB), which were
    /// OPM_CUE_TIMEOUT and OPM_CUE_MEMORY once, and, as `cue` does, CUE_CACHE_DIR, and
    /// XDG_RUNTIME_DIR, from variables that are looked up by name. Neither renderings
    /// nor fetched charts are kept.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingsError> {
        let number = |name, unit| match variable(name) {
            None => Ok(None),
            Some(text) => match text.to_str().and_then(|t| t.parse::<u64>().ok()) {
                Some(number) if number > 0 => Ok(Some(number)),
                _ => Err(SettingsError {
                    variable: name,
                    unit,
                }),
            },
        };
        let mut limits = Limits::default();
        for name in ["OPM_CUE_TIMEOUT", "OPM_RENDER_TIMEOUT"] {
            if let Some(seconds) = number(name, "seconds")? {
                limits.time = Duration::from_secs(seconds);
            }
        }
        for name in ["OPM_CUE_MEMORY", "OPM_RENDER_MEMORY"] {
            if let Some(mebibytes) = number(name, "MiB")? {
                limits.memory = mebibytes.saturating_mul(1 << 20);
            }
        }
        let cue = variable("OPM_CUE").map_or_else(|| PathBuf::from("cue"), meant_from_here);
        let helm = variable("OPM_HELM").map_or_else(|| PathBuf::from("helm"), meant_from_here);
        let cue_cache =
            variable("CUE_CACHE_DIR").map_or_else(|| user_cache(&variable), |p| Some(p.into()));
        Ok(Self {
            cue,
            cue_cache,
            helm,
            search_path: variable("PATH"),
            runtime: variable("XDG_RUNTIME_DIR").map(PathBuf::from),
            limits,
            charts: None,
            renderings: None,
        })
    }
}

/// Programs run in a directory of their own, where a relative path would mean something else.
fn meant_from_here(program: OsString) -> PathBuf {
    let path = PathBuf::from(program);
    match path.components().count() > 1 {
        true => std::path::absolute(&path).unwrap_or(path),
        false => path,
    }
}

/// Where `cue` looks when CUE_CACHE_DIR is not set.
fn user_cache(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = || variable("HOME").map(PathBuf::from);
    let base = match cfg!(target_os = "macos") {
        true => home().map(|home| home.join("Library/Caches")),
        false => variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| home().map(|home| home.join(".cache"))),
    };
    base.map(|base| base.join("cue"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<RenderSettings, SettingsError> {
        RenderSettings::from_variables(|name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.into())
        })
    }

    #[test]
    fn variables_win_over_defaults() {
        let settings = read(&[
            ("OPM_CUE", "/opt/cue"),
            ("OPM_CUE_TIMEOUT", "9"),
            ("OPM_RENDER_TIMEOUT", "7"),
            ("OPM_CUE_MEMORY", "256"),
            ("CUE_CACHE_DIR", "/c"),
            ("HOME", "/h"),
        ])
        .unwrap();
        assert_eq!(settings.cue, PathBuf::from("/opt/cue"));
        assert_eq!(settings.limits.time, Duration::from_secs(7));
        assert_eq!(settings.limits.memory, 256 << 20);
        assert_eq!(settings.cue_cache, Some(PathBuf::from("/c")));
        let settings = read(&[]).unwrap();
        assert_eq!(
            (settings.cue, settings.cue_cache),
            (PathBuf::from("cue"), None)
        );
        for bad in ["0", "-1", "many", ""] {
            let error = read(&[("OPM_CUE_MEMORY", bad)]).unwrap_err();
            assert_eq!(
                error.to_string(),
                "OPM_CUE_MEMORY must be a whole number of MiB above 0"
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_cache_is_where_cue_looks() {
        let settings = read(&[("HOME", "/h")]).unwrap();
        assert_eq!(settings.cue_cache, Some(PathBuf::from("/h/.cache/cue")));
        let settings = read(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]).unwrap();
        assert_eq!(settings.cue_cache, Some(PathBuf::from("/x/cue")));
    }
}
