//! Which `helm` is there, and whether it is new enough.

use thiserror::Error;

/// The oldest minor version of Helm 3 that takes every flag that is passed.
const MINIMUM: (u64, u64) = (3, 14);

/// Why a `helm` cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HelmVersionError {
    /// It is too old.
    #[error("helm {found} is too old: charts need Helm {}.{} or later", MINIMUM.0, MINIMUM.1)]
    TooOld {
        /// Its version.
        found: String,
    },
    /// What it says is not understood.
    #[error("failed to determine the version of `helm`: `helm version --short` printed {said:?}")]
    Unknown {
        /// The beginning of what it printed.
        said: String,
    },
}

/// Checks what `helm version --short` printed: `v3.14.0+gc309b6f`, or less where it was built
/// from source.
pub(super) fn check(printed: &str) -> Result<(), HelmVersionError> {
    let first = printed.lines().next().unwrap_or_default().trim();
    let word = first.strip_prefix('v');
    let mut numbers = word
        .into_iter()
        .flat_map(|word| word.split(['.', '+', '-']));
    let mut number = || numbers.next().and_then(|one| one.parse::<u64>().ok());
    match (number(), number()) {
        (Some(major), Some(minor)) if (major, minor) >= MINIMUM => Ok(()),
        (Some(_), Some(_)) => Err(HelmVersionError::TooOld {
            found: word.unwrap_or_default().chars().take(40).collect(),
        }),
        _ => Err(HelmVersionError::Unknown {
            said: first.chars().take(80).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

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
            let error = check(printed).err().map(|e| e.to_string());
            assert_eq!(error.unwrap_or_default(), expected, "{printed}");
        }
    }
}
