//! Which `cue` is there, and whether it is new enough.

use semver::Version;
use thiserror::Error;

/// The oldest `cue` that reads modules as `opm` needs it.
pub(crate) const MINIMUM: Version = Version::new(0, 15, 0);

/// Why a `cue` cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum VersionError {
    /// It is too old.
    #[error("cue {found} is too old: opm needs {MINIMUM} or later")]
    TooOld {
        /// Its version.
        found: Version,
    },
    /// What it says is not understood.
    #[error("failed to determine the version of `cue`: `cue version` printed {said:?}")]
    Unknown {
        /// The beginning of what it printed.
        said: String,
    },
}

/// Checks what `cue version` printed. A build from source says `(devel)` and is trusted.
pub(crate) fn check(printed: &str) -> Result<(), VersionError> {
    let first = printed.lines().next().unwrap_or_default();
    let said = || VersionError::Unknown {
        said: first.chars().take(80).collect(),
    };
    let word = first.strip_prefix("cue version ").ok_or_else(said)?.trim();
    if word == "(devel)" {
        return Ok(());
    }
    let found = word
        .strip_prefix('v')
        .and_then(|v| Version::parse(v).ok())
        .ok_or_else(said)?;
    // A pre-release of the minimum has what the minimum has.
    let release = Version::new(found.major, found.minor, found.patch);
    match release < MINIMUM {
        true => Err(VersionError::TooOld { found }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn versions() {
        for (printed, expected) in [
            ("cue version v0.17.1\n\ngo version go1.26\n", ""),
            ("cue version v0.15.0\n", ""),
            ("cue version v0.15.0-alpha.1\n", ""),
            ("cue version (devel)\n", ""),
            ("cue version v1.0.0", ""),
            (
                "cue version v0.14.2\n",
                "cue 0.14.2 is too old: opm needs 0.15.0 or later",
            ),
            (
                "cue version 0.17.1\n",
                "failed to determine the version of `cue`: `cue version` printed \"cue version 0.17.1\"",
            ),
            (
                "",
                "failed to determine the version of `cue`: `cue version` printed \"\"",
            ),
        ] {
            let error = check(printed)
                .err()
                .map(|e| e.to_string())
                .unwrap_or_default();
            assert_eq!(error, expected, "{printed}");
        }
    }
}
