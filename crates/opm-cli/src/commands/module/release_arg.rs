//! `RELEASE`: a release, as people name it.

use std::path::PathBuf;
use std::str::FromStr;

use opm_core::ids::ReleaseId;
use opm_core::name::{NamespaceName, ReleaseName};
use opm_engine::request::{ReleaseRef, StatusRequest};
use opm_render::ModuleRef;

use super::rendering;
use crate::cluster::Session;
use crate::error::{CliError, ErrorKind};
use crate::invocation::Invocation;

/// Which release a command is about.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReleaseArgs {
    /// The release: its name, its id, or its module: a directory, or a file of manifests
    #[arg(value_name = "RELEASE")]
    given: ReleaseArg,

    /// With a module's directory: the name of the release; by default the module's name
    #[arg(long, value_name = "RELEASE")]
    name: Option<ReleaseName>,
}

/// The same for commands that take the module in the working directory if nothing is named.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReleaseOrHereArgs {
    /// The release: its name, its id, or its module: a directory, or a file of manifests
    #[arg(value_name = "RELEASE", default_value = ".")]
    given: ReleaseArg,

    /// With a module's directory: the name of the release; by default the module's name
    #[arg(long, value_name = "RELEASE")]
    name: Option<ReleaseName>,
}

impl ReleaseOrHereArgs {
    /// The directory that was given, if one was.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.args().directory()
    }

    /// The same for these.
    pub(crate) async fn open(
        &self,
        invocation: &Invocation<'_>,
        yes: bool,
    ) -> Result<(Session, ReleaseRef, NamespaceName), CliError> {
        self.args().open(invocation, yes).await
    }

    /// A session for reading, and the question how this release stands.
    pub(crate) async fn ask(
        &self,
        scan: bool,
        invocation: &Invocation<'_>,
    ) -> Result<(Session, StatusRequest), CliError> {
        let (session, release, namespace) = self.open(invocation, false).await?;
        let request = StatusRequest {
            release,
            namespace,
            scan,
        };
        Ok((session, request))
    }

    fn args(&self) -> ReleaseArgs {
        ReleaseArgs {
            given: self.given.clone(),
            name: self.name.clone(),
        }
    }
}

/// What was typed for `RELEASE`.
#[derive(Debug, Clone)]
enum ReleaseArg {
    Name(ReleaseName),
    Id(ReleaseId),
    Directory(String),
}

impl FromStr for ReleaseArg {
    type Err = String;

    /// A path has a slash, is `.`, or ends as a manifest does; an id is a UUID; anything else must
    /// be a name.
    fn from_str(given: &str) -> Result<Self, String> {
        let is_file = [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| given.ends_with(ending));
        if given.contains('/') || given == "." || given == ".." || is_file {
            return Ok(Self::Directory(given.to_owned()));
        }
        if let Ok(id) = given.parse() {
            return Ok(Self::Id(id));
        }
        let name = ReleaseName::new(given).map_err(|error| error.to_string())?;
        Ok(Self::Name(name))
    }
}

impl ReleaseArgs {
    /// The directory that was given, if one was.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        match &self.given {
            ReleaseArg::Directory(path) => Some(PathBuf::from(path)).filter(|path| path.is_dir()),
            ReleaseArg::Name(_) | ReleaseArg::Id(_) => None,
        }
    }

    /// A session, the release that is meant, and the namespace to look for it in.
    pub(crate) async fn open(
        &self,
        invocation: &Invocation<'_>,
        yes: bool,
    ) -> Result<(Session, ReleaseRef, NamespaceName), CliError> {
        let release = self.resolve(invocation).await?;
        let session = Session::open(invocation, yes).await?;
        let namespace = session.namespace_or_default()?;
        Ok((session, release, namespace))
    }

    /// The release that is meant. Of a module's directory only what it says about itself is
    /// read, so that a module that does not render can still be named.
    async fn resolve(&self, invocation: &Invocation<'_>) -> Result<ReleaseRef, CliError> {
        let path = match (&self.given, &self.name) {
            (ReleaseArg::Directory(path), _) => path,
            (ReleaseArg::Name(name), None) => return Ok(ReleaseRef::Name(name.clone())),
            (ReleaseArg::Id(id), None) => return Ok(ReleaseRef::Id(*id)),
            (ReleaseArg::Name(_) | ReleaseArg::Id(_), Some(name)) => return Err(named_twice(name)),
        };
        let namespace = rendering::namespace(invocation.settings)?;
        let renderer = rendering::renderer(invocation);
        let module = ModuleRef::read(std::slice::from_ref(path));
        let module = module.map_err(|error| rendering::failure(&error))?;
        let (name, token) = (self.name.as_ref(), invocation.interrupt.token());
        let module = renderer.describe(&module, name, &token).await;
        let module = module.map_err(|error| rendering::failure(&error))?;
        let (name, namespace) =
            opm_render::release(&module, self.name.as_ref(), namespace.as_ref())
                .map_err(|error| rendering::failure(&error))?;
        Ok(ReleaseRef::Module {
            path: module.path,
            name,
            namespace,
        })
    }
}

fn named_twice(name: &ReleaseName) -> CliError {
    let message = "--name goes with the directory of a module, and RELEASE is none";
    CliError::new(ErrorKind::Usage, message).hint(format!(
        "`{name}` alone names a release; a directory has a slash or is `.`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_names_ids_and_directories_apart() {
        let is = |given: &str| match given.parse::<ReleaseArg>() {
            Ok(ReleaseArg::Name(_)) => "name",
            Ok(ReleaseArg::Id(_)) => "id",
            Ok(ReleaseArg::Directory(_)) => "directory",
            Err(_) => "refused",
        };
        for (given, expected) in [
            ("web", "name"),
            ("ba7ef080-f6d7-5049-9ee5-a5e34cd652de", "id"),
            (".", "directory"),
            ("..", "directory"),
            ("./web", "directory"),
            ("/srv/web", "directory"),
            ("web.yaml", "directory"),
            ("Web", "refused"),
            ("", "refused"),
        ] {
            assert_eq!(is(given), expected, "{given:?}");
        }
    }
}
