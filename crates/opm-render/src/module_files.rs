//! A module whose files are texts already, as those in a ConfigMap are: written to a directory of
//! this process alone, for as long as it is rendered.

use std::collections::BTreeMap;

use crate::error::RenderError;
use crate::module_dir::DirError;
use crate::program::PrivateDir;
use crate::settings::RenderSettings;
use crate::source::ModuleRef;

/// The files of a module. Dropping it removes them.
#[derive(Debug)]
pub struct ModuleFiles {
    directory: PrivateDir,
}

impl ModuleFiles {
    /// Writes files, by their names. A name leads nowhere else.
    pub fn write(
        files: &BTreeMap<String, String>,
        settings: &RenderSettings,
    ) -> Result<Self, RenderError> {
        let failed = |path: &str, source| {
            RenderError::Dir(DirError::Io {
                path: path.to_owned(),
                source,
            })
        };
        let directory = PrivateDir::create(settings.runtime.as_deref());
        let directory = directory.map_err(|error| failed("a temporary directory", error))?;
        for (name, text) in files {
            if name.contains('/') || name.starts_with('.') {
                let why = std::io::Error::other("a file's name has no `/` and begins with no `.`");
                return Err(failed(name, why));
            }
            let written = directory.write(name, text);
            written.map_err(|error| failed(name, error))?;
        }
        Ok(Self { directory })
    }

    /// The module, to be rendered.
    pub fn module(&self) -> ModuleRef {
        ModuleRef::Directory(self.directory.path().to_owned())
    }

    /// A message about the module without the directory, which is another one each time.
    pub fn without_directory(&self, message: &str) -> String {
        let path = self.directory.path().display().to_string();
        let below = format!("{path}/");
        message.replace(&below, "").replace(&path, "the module")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_there_for_as_long_as_they_are_held() {
        let files = BTreeMap::from([("module.yaml".to_owned(), "text".to_owned())]);
        let written = ModuleFiles::write(&files, &RenderSettings::default()).unwrap();
        let ModuleRef::Directory(path) = written.module() else {
            panic!("a directory");
        };
        assert_eq!(
            std::fs::read_to_string(path.join("module.yaml")).unwrap(),
            "text"
        );
        let message = format!("{}/module.yaml:1:1: no; {}", path.display(), path.display());
        let told = written.without_directory(&message);
        assert_eq!(told, "module.yaml:1:1: no; the module");
        drop(written);
        assert!(!path.exists());
    }

    #[test]
    fn no_name_leads_elsewhere() {
        for name in ["../x", "/etc/x", "a/b", ".opm_lock"] {
            let files = BTreeMap::from([(name.to_owned(), String::new())]);
            assert!(
                ModuleFiles::write(&files, &RenderSettings::default()).is_err(),
                "{name}"
            );
        }
    }
}
