//! Whether a `kustomize`, or the one inside a `kubectl`, is new enough.

use semver::Version;
use thiserror::Error;

/// The oldest version that is used.
pub(crate) const MINIMUM: Version = Version::new(5, 0, 0);

/// Why a program is not used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KustomizeVersionError {
    /// It says nothing that can be understood.
    #[error("the version of kustomize cannot be told")]
    Unknown,
    /// It is too old.
    #[error("kustomize is {0}, and {MINIMUM} or later is needed")]
    TooOld(Version),
}

/// Checks what `kustomize version` or `kubectl version --client` printed: `v5.4.3`,
/// `{Version:kustomize/v4.5.7 …}`, or a line `Kustomize Version: v5.7.1`.
pub(crate) fn check(said: &str) -> Result<(), KustomizeVersionError> {
    let line = said
        .lines()
        .find(|line| line.contains("Kustomize Version:"));
    let text = line.unwrap_or(said);
    let words = text.split([' ', '/', ':', '{', '\n', '\t']);
    let version = words
        .filter_map(|word| word.strip_prefix('v'))
        .find_map(|word| Version::parse(word).ok());
    // A build of one's own calls itself `(devel)`.
    match version {
        Some(version) if version < MINIMUM => Err(KustomizeVersionError::TooOld(version)),
        Some(_) => Ok(()),
        None if said.contains("(devel)") => Ok(()),
        None => Err(KustomizeVersionError::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_the_programs_print_them() {
        for (said, expected) in [
            ("v5.4.3\n", Ok(())),
            (
                "Client Version: v1.34.4\nKustomize Version: v5.7.1\n",
                Ok(()),
            ),
            ("(devel)\n", Ok(())),
            (
                "{Version:kustomize/v4.5.7 GitCommit:56d BuildDate:2022 GoOs:linux GoArch:amd64}\n",
                Err(KustomizeVersionError::TooOld(Version::new(4, 5, 7))),
            ),
            (
                "Client Version: v1.26.0\nKustomize Version: v4.5.7\n",
                Err(KustomizeVersionError::TooOld(Version::new(4, 5, 7))),
            ),
            ("hello\n", Err(KustomizeVersionError::Unknown)),
        ] {
            assert_eq!(check(said), expected, "{said}");
        }
    }
}
