//! The environment variables that `opm` reads: all of them, in one registry.
//!
//! The environment is read once, into a value; everything else asks that value. The colour
//! conventions `NO_COLOR` and `CLICOLOR_FORCE` are honoured by the terminal library.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A variable of the user's system that is not ours but has a say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    /// The user's home.
    Home,
    /// Where configuration lives, by the XDG convention.
    XdgConfigHome,
    /// Where data lives, by the XDG convention.
    XdgDataHome,
    /// Where state lives, by the XDG convention.
    XdgStateHome,
    /// Where caches live, by the XDG convention.
    XdgCacheHome,
    /// Who is logged in.
    User,
    /// What the terminal is.
    Term,
    /// Where configuration lives on Windows.
    AppData,
    /// Where data lives on Windows.
    LocalAppData,
}

impl System {
    fn name(self) -> &'static str {
        match self {
            Self::Home => "HOME",
            Self::User => "USER",
            Self::Term => "TERM",
            Self::XdgConfigHome => "XDG_CONFIG_HOME",
            Self::XdgDataHome => "XDG_DATA_HOME",
            Self::XdgStateHome => "XDG_STATE_HOME",
            Self::XdgCacheHome => "XDG_CACHE_HOME",
            Self::AppData => "APPDATA",
            Self::LocalAppData => "LOCALAPPDATA",
        }
    }
}

/// How long a release's lock is good for without renewal: for tests, which cannot wait half a
/// minute.
pub(crate) const LOCK_TTL: &str = "OPM_LOCK_TTL";

/// How large a release's Secret may become before parts of it move into Secrets of their own: for
/// tests, which cannot make everything large.
pub(crate) const RECORD_LIMIT: &str = "OPM_RECORD_LIMIT";

/// By how many seconds the wall clock of this machine is taken to be wrong: for tests, which
/// cannot set it. Negative when it is behind.
pub(crate) const CLOCK_SHIFT: &str = "OPM_CLOCK_SHIFT";

/// How long one request, all its attempts, and a credential plugin may take: for tests, which
/// cannot wait as long as people do.
pub(crate) const PATIENCE: &str = "OPM_PATIENCE";

/// The environment as it was when `opm` started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn of_this_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// A variable by name. One that is set to nothing counts as not set: that is how scripts
    /// and pipelines switch a variable off.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// What the system says who is logged in.
    pub(crate) fn user(&self) -> Option<String> {
        let name = self.get(System::User.name())?;
        Some(name.to_string_lossy().into_owned())
    }

    /// Whether the terminal, if there is one, does what it is told beside printing lines.
    pub(crate) fn has_capable_terminal(&self) -> bool {
        self.get(System::Term.name())
            .is_some_and(|term| term != "dumb")
    }

    /// A directory that the system names. Relative ones are ignored, as the XDG convention asks.
    pub(crate) fn directory(&self, variable: System) -> Option<PathBuf> {
        self.get(variable.name())
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}
