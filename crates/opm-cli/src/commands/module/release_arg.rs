//! `RELEASE`: a release, as people name it.

use std::path::PathBuf;
use std::str::FromStr;

use opm_core::ids::ReleaseId;
use opm_core::name::ReleaseName;
use opm_engine::request::ReleaseRef;
use opm_render::ModuleRef;

use super::rendering;
use crate::error::CliError;
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::Ui;

/// What was typed for `RELEASE`.
#[derive(Debug, Clone)]
pub(crate) enum ReleaseArg {
    Name(ReleaseName),
    Id(ReleaseId),
    Directory(String),
}

impl FromStr for ReleaseArg {
    type Err = String;

    /// A path has a slash or is `.`; an id is a UUID; anything else must be a name.
    fn from_str(given: &str) -> Result<Self, String> {
        if given.contains('/') || given == "." || given == ".." {
            return Ok(Self::Directory(given.to_owned()));
        }
        if let Ok(id) = given.parse() {
            return Ok(Self::Id(id));
        }
        let name = ReleaseName::new(given).map_err(|error| error.to_string())?;
        Ok(Self::Name(name))
    }
}

impl ReleaseArg {
    /// The directory that was given, if one was.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        match self {
            Self::Directory(path) => Some(PathBuf::from(path)),
            Self::Name(_) | Self::Id(_) => None,
        }
    }

    /// The release that is meant. Of a module's directory only what it says about itself is
    /// read, so that a module that does not render can still be named.
    pub(crate) async fn resolve(
        &self,
        settings: &Settings,
        ui: &Ui,
        interrupt: &Interrupt,
    ) -> Result<ReleaseRef, CliError> {
        let path = match self {
            Self::Name(name) => return Ok(ReleaseRef::Name(name.clone())),
            Self::Id(id) => return Ok(ReleaseRef::Id(*id)),
            Self::Directory(path) => path,
        };
        let namespace = rendering::namespace(settings)?;
        let renderer = rendering::renderer(settings, ui);
        let directory = ModuleRef::Directory(path.into());
        let module = renderer.describe(&directory, &interrupt.token()).await;
        let module = module.map_err(|error| rendering::failure(&error))?;
        let (name, namespace) = opm_render::release(&module, None, namespace.as_ref())
            .map_err(|error| rendering::failure(&error))?;
        Ok(ReleaseRef::Module {
            path: module.path,
            name,
            namespace,
        })
    }
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
            ("Web", "refused"),
            ("", "refused"),
        ] {
            assert_eq!(is(given), expected, "{given:?}");
        }
    }
}
