//! Where a module is and which format it has.

use std::fmt;
use std::path::PathBuf;

use crate::error::RenderError;
use crate::module_dir::ModuleDir;
use crate::undeclared::{self, Found, GivenManifests};
use crate::{yaml_module, zarf};

/// A module as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleRef {
    /// A directory.
    Directory(PathBuf),
    /// A CUE module in a registry, such as `example.com/web@v1.2.3`.
    Registry {
        /// Its path, without version.
        path: String,
        /// A version, a major version (`v1`), a minor one (`v1.2`), or `latest`.
        version: String,
    },
    /// Manifests that are read already.
    Manifests(GivenManifests),
}

impl ModuleRef {
    /// What the words of a command line mean: a directory, a reference, or files (`-` is standard
    /// input), which are read. A file that defines its directory stands for that directory.
    pub fn read(given: &[String]) -> Result<Self, RenderError> {
        match given {
            [one] if undeclared::is_file(one) && undeclared::defines_directory(one) => {
                let parent = PathBuf::from(one).parent().map(PathBuf::from);
                let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
                Ok(Self::Directory(parent.unwrap_or_else(|| ".".into())))
            }
            [one] if !undeclared::is_file(one) => Ok(Self::parse(one)),
            [] => Ok(Self::Directory(".".into())),
            files => Ok(Self::Manifests(GivenManifests::read(files)?)),
        }
    }

    /// What `given` means: a directory if there is one, else a reference if it looks like one.
    pub fn parse(given: &str) -> Self {
        let directory = PathBuf::from(given);
        match given.split_once('@') {
            Some((path, version)) if looks_remote(path) && !directory.exists() => Self::Registry {
                path: path.to_owned(),
                version: version.to_owned(),
            },
            _ => Self::Directory(directory),
        }
    }
}

/// A registry path begins with a domain name: `./a@b` and `a@b` are directories.
fn looks_remote(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    path.contains('/') && first.contains('.') && !first.starts_with('.')
}

impl fmt::Display for ModuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Registry { path, version } => write!(f, "{path}@{version}"),
            Self::Manifests(given) => given.fmt(f),
        }
    }
}

/// The format of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Format {
    /// `cue.mod/module.cue` is there.
    Cue,
    /// `module.yaml` is there.
    Yaml,
    /// No module file is there, but `zarf.yaml`, which names whatever else lies beside it.
    Zarf,
    /// No module file is there, but something that can be one.
    Undeclared(Found),
}

impl Format {
    /// The format of the module in a directory, told by the files it must have.
    pub(crate) fn of(dir: &ModuleDir) -> Result<Self, RenderError> {
        let path = || dir.given().display().to_string();
        match (dir.has("cue.mod"), dir.has(yaml_module::FILE)) {
            (true, false) => Ok(Self::Cue),
            (false, true) => Ok(Self::Yaml),
            (true, true) => Err(RenderError::TwoFormats { path: path() }),
            (false, false) if dir.has("module.yml") => {
                Err(RenderError::NearlyAModule { path: path() })
            }
            (false, false) if dir.has(zarf::FILE) => Ok(Self::Zarf),
            (false, false) => match Found::within(dir)? {
                Some(found) => Ok(Self::Undeclared(found)),
                None => Err(RenderError::NotAModule {
                    path: path(),
                    below: undeclared::below(dir),
                }),
            },
        }
    }
}
