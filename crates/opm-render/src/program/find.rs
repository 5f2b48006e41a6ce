//! Where a program is that `opm` starts: one absolute path, known before its environment is made.
//!
//! A child may see an environment without PATH, and runs in a directory that is not the user's,
//! so the operating system must not be the one who looks. Nothing is ever taken from the working
//! directory: an empty or relative entry in PATH would let a cloned repository name the program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use thiserror::Error;

/// Why a program cannot be started.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ProgramError {
    /// There is no such program.
    #[error("the program `{}` was not found", .0.display())]
    NotFound(PathBuf),
    /// What is there cannot be run.
    #[error("`{}` is not an executable file", .0.display())]
    NotExecutable(PathBuf),
}

/// The absolute path of a program: of a plain name the first executable file that the absolute
/// directories of `search_path` hold, of a path that file itself.
pub(crate) fn find(program: &Path, search_path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    let not_found = || ProgramError::NotFound(program.to_owned());
    if program.is_absolute() {
        return match (is_executable(program), program.exists()) {
            (true, _) => Ok(program.to_owned()),
            (false, true) => Err(ProgramError::NotExecutable(program.to_owned())),
            (false, false) => Err(not_found()),
        };
    }
    if program.components().count() != 1 {
        return Err(not_found());
    }
    std::env::split_paths(search_path.unwrap_or_default())
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(program))
        .find(|file| is_executable(file))
        .ok_or_else(not_found)
}

/// The absolute path of a program of this name in the user's PATH.
pub fn find_program(name: &str) -> Result<PathBuf, ProgramError> {
    find(Path::new(name), std::env::var_os("PATH").as_deref())
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A directory with an executable file, a plain one, and a directory of the program's name.
    fn directories() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, mode) in [("good/tool", 0o755), ("plain/tool", 0o644)] {
            let file = root.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::create_dir_all(root.path().join("directory/tool")).unwrap();
        root
    }

    #[test]
    fn the_first_executable_file_in_an_absolute_directory() {
        let root = directories();
        let at = |name: &str| root.path().join(name).display().to_string();
        let found = |path: &str| find(Path::new("tool"), Some(OsStr::new(path)));
        let all = [at("missing"), at("directory"), at("plain"), at("good")].join(":");
        assert_eq!(found(&all).unwrap(), root.path().join("good/tool"));
        for nothing in [String::new(), at("plain"), at("directory")] {
            assert_eq!(
                found(&nothing),
                Err(ProgramError::NotFound("tool".into())),
                "{nothing:?}"
            );
        }
        assert!(find(Path::new("tool"), None).is_err());
    }

    /// The tests' working directory is this crate's, which has such files.
    #[test]
    fn never_from_the_working_directory() {
        for path in ["", ":", ".", "src", "../../..", "::/nowhere"] {
            let path = Some(OsStr::new(path));
            assert!(find(Path::new("Cargo.toml"), path).is_err());
            assert!(find(Path::new("./Cargo.toml"), path).is_err());
            assert!(find(Path::new("src/lib.rs"), path).is_err());
        }
    }

    #[test]
    fn a_path_is_that_file_or_none() {
        let root = directories();
        let good = root.path().join("good/tool");
        assert_eq!(find(&good, None).unwrap(), good);
        for (path, message) in [
            ("plain/tool", "is not an executable file"),
            ("directory/tool", "is not an executable file"),
            ("missing", "was not found"),
        ] {
            let error = find(&root.path().join(path), None).unwrap_err();
            assert!(error.to_string().ends_with(message), "{error}");
        }
    }
}
