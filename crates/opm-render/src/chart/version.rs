//! Which `helm` is there, and whether it is new enough.

use std::fmt;

use thiserror::Error;

/// A minor version of Helm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HelmVersion(u64, u64);

/// The oldest that takes every flag that is passed.
pub(super) const CHARTS: HelmVersion = HelmVersion(3, 14);
/// The oldest that looks at a cluster whose objects are not Helm's.
pub(super) const LOOKUP: HelmVersion = HelmVersion(3, 17);

impl fmt::Display for HelmVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Why a `helm` cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HelmVersionError {
    /// It is too old.
    #[error("helm {found} is too old: {} need Helm {need} or later", charts(*need))]
    TooOld {
        /// Its version.
        found: String,
        /// What it takes.
        need: HelmVersion,
    },
    /// What it says is not understood.
    #[error("failed to determine the version of `helm`: `helm version --short` printed {said:?}")]
    Unknown {
        /// The beginning of what it printed.
        said: String,
    },
}

fn charts(need: HelmVersion) -> &'static str {
    match need == LOOKUP {
        true => "charts that look at the cluster",
        false => "charts",
    }
}

/// Checks what `helm version --short` printed: `v3.14.0+gc309b6f`, or less where it was built
/// from source.
pub(super) fn check(printed: &str, need: HelmVersion) -> Result<(), HelmVersionError> {
    let first = printed.lines().next().unwrap_or_default().trim();
    let word = first.strip_prefix('v');
    let mut numbers = word
        .into_iter()
        .flat_map(|word| word.split(['.', '+', '-']));
    let mut number = || numbers.next().and_then(|one| one.parse::<u64>().ok());
    match (number(), number()) {
        (Some(major), Some(minor)) if HelmVersion(major, minor) >= need => Ok(()),
        (Some(_), Some(_)) => Err(HelmVersionError::TooOld {
            found: word.unwrap_or_default().chars().take(40).collect(),
            need,
        }),
        _ => Err(HelmVersionError::Unknown {
            said: first.chars().take(80).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (printed, expected) in [
            ("v4.3\n", ""),
            ("v4.0.0+g1234567\n", ""),
            ("v3.14.0+gc309b6f\n", ""),
            ("v3.19.2-rc.1+g1\n", ""),
            (
                "v3.13.3+gabc\n",
                "helm 3.13.3+gabc is too old: charts need Helm 3.14 or later",
            ),
            (
                "Client: v2.17.0+ga690bad\n",
                "failed to determine the version of `helm`: `helm version --short` printed \"Client: v2.17.0+ga690bad\"",
            ),
            (
                "",
                "failed to determine the version of `helm`: `helm version --short` printed \"\"",
            ),
        ] {
            let error = check(printed, CHARTS).err().map(|e| e.to_string());
            assert_eq!(error.unwrap_or_default(), expected, "{printed}");
        }
        assert_eq!(check("v3.17.0", LOOKUP), Ok(()));
        assert_eq!(
            check("v3.16.4", LOOKUP).unwrap_err().to_string(),
            "helm 3.16.4 is too old: charts that look at the cluster need Helm 3.17 or later"
        );
    }
}
