//! What must be known of a CUE module before `cue` runs: its path and its package.
//!
//! Both are read with a few string searches, not with a CUE parser; `cue` itself checks the rest.

use std::path::Path;

use thiserror::Error;

use crate::module_dir::{DirError, ModuleDir};

/// Why a directory with a cue.mod is no module.
#[derive(Debug, Error)]
pub enum CueModuleError {
    /// A file cannot be read.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// The module's path is missing.
    #[error("{0}: the line `module: \"…\"` is missing")]
    NoPath(String),
    /// There is no CUE file beside cue.mod.
    #[error("{0}: no CUE file has a package clause")]
    NoPackage(String),
    /// The CUE files beside cue.mod belong to several packages, and none is called module.cue.
    #[error(
        "{path}: its files belong to the packages {packages}; opm renders the package of module.cue, which is missing"
    )]
    Packages {
        /// The module's directory.
        path: String,
        /// The packages' names.
        packages: String,
    },
    /// Replacements lead outside the module.
    #[error("{0}: local replacements are not supported, they lead out of the module's directory")]
    LocalModule(String),
    /// A name that opm needs for itself.
    #[error("{0}: the name is reserved for opm")]
    Reserved(String),
}

/// What a module's files say before they are evaluated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CueModule {
    /// The module's path with its major version.
    pub(crate) path: String,
    /// The package of the files beside cue.mod.
    pub(crate) package: String,
}

/// Reads path and package of the module in a directory.
pub(crate) fn read(dir: &ModuleDir) -> Result<CueModule, CueModuleError> {
    let file = Path::new("cue.mod/module.cue");
    let shown = dir.shown(file);
    if dir.has("cue.mod/local-module.cue") {
        return Err(CueModuleError::LocalModule(
            dir.shown(Path::new("cue.mod/local-module.cue")),
        ));
    }
    let path = module_path(&dir.read(file)?).ok_or(CueModuleError::NoPath(shown))?;
    Ok(CueModule {
        path,
        package: package(dir)?,
    })
}

/// Where a module says what it renders to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeclaredComponents {
    /// Some file of it names `#components`.
    Here,
    /// No file of it does; it may come from a module that it imports.
    Nowhere,
    /// Its objects are in `timoni`, as modules for Timoni have them.
    Timoni,
}

/// Whether the files of a module's package name `#components`.
pub(crate) fn declared(dir: &ModuleDir) -> Result<DeclaredComponents, CueModuleError> {
    let mut declared = DeclaredComponents::Nowhere;
    for file in dir.list(Path::new(""))? {
        if file.extension().is_none_or(|e| e != "cue") || !dir.resolve(&file)?.is_file() {
            continue;
        }
        let text = dir.read(&file)?;
        if text.contains("#components") {
            return Ok(DeclaredComponents::Here);
        }
        if text
            .lines()
            .any(|line| line.trim_end().starts_with("timoni: {"))
        {
            declared = DeclaredComponents::Timoni;
        }
    }
    Ok(declared)
}

/// The value of `module`, with the major version that `cue` assumes when there is none.
fn module_path(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let line = line.trim_start();
        let after = line
            .strip_prefix("module")
            .or_else(|| line.strip_prefix("\"module\""))?;
        after.trim_start().strip_prefix(':')
    })?;
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
    let path = values.next()?.ok()?;
    match path.contains('@') {
        true => Some(path),
        false => Some(format!("{path}@v0")),
    }
}

fn package(dir: &ModuleDir) -> Result<String, CueModuleError> {
    let main = Path::new("module.cue");
    if dir.has("module.cue") {
        let text = dir.read(main)?;
        let found = package_clause(&text).map(|(at, end)| text[at..end].to_owned());
        return found.ok_or_else(|| CueModuleError::NoPackage(dir.shown(main)));
    }
    let mut packages = Vec::new();
    for file in dir.list(Path::new(""))? {
        if file.extension().is_some_and(|e| e == "cue") && dir.resolve(&file)?.is_file() {
            let text = dir.read(&file)?;
            packages.extend(package_clause(&text).map(|(at, end)| text[at..end].to_owned()));
        }
    }
    packages.sort();
    packages.dedup();
    match packages.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(CueModuleError::NoPackage(dir.given().display().to_string())),
        _ => Err(CueModuleError::Packages {
            path: dir.given().display().to_string(),
            packages: packages.join(", "),
        }),
    }
}

/// Where the name in a file's package clause begins and ends. The clause may follow comments and
/// attributes only.
pub(crate) fn package_clause(text: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        if let Some(name) = code
            .strip_prefix("package")
            .filter(|n| n.starts_with([' ', '\t']))
        {
            let begin = at + (line.len() - name.len()) + (name.len() - name.trim_start().len());
            let length = text[begin..].find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let end = length.map_or(text.len(), |length| begin + length);
            return (end > begin).then_some((begin, end));
        }
        if !(code.trim_end().is_empty() || code.starts_with("//") || code.starts_with('@')) {
            return None;
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (text, expected) in [
            (
                "module: \"a.b/c@v1\"\nlanguage: version: \"v0.15.0\"\n",
                Some("a.b/c@v1"),
            ),
            ("// hello\nmodule:   \"a.b/c\" // x\n", Some("a.b/c@v0")),
            ("\"module\": \"a.b/c@v0\"", Some("a.b/c@v0")),
            ("language: version: \"v0.15.0\"\n", None),
            ("modules: \"x\"\n", None),
            ("module: 5", None),
        ] {
            assert_eq!(module_path(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn packages() {
        for (text, expected) in [
            ("package web\n", Some("web")),
            (
                "// c\n\n@extern(embed)\n\npackage  web // x\nimport \"a\"\n",
                Some("web"),
            ),
            ("package web", Some("web")),
            ("a: 1\npackage web\n", None),
            ("packages: 1\n", None),
            ("", None),
        ] {
            let found = package_clause(text).map(|(at, end)| &text[at..end]);
            assert_eq!(found, expected, "{text}");
        }
    }
}
