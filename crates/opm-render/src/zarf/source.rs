//! A zarf.yaml, read: what it holds, and where in it something stands.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{ZarfError, ZarfProblem};
use super::markers;
use super::types;
use crate::module_dir::ModuleDir;
use crate::yaml::{self, Position};

/// The file by which Zarf knows a package definition.
pub(crate) const FILE: &str = "zarf.yaml";

const API_VERSION: &str = "zarf.dev/v1alpha1";
const KIND: &str = "ZarfPackageConfig";

/// Where something stands. The line is looked for when it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    package: Rc<PackageSource>,
    path: Vec<String>,
}

impl Spot {
    pub(super) fn new(package: &Rc<PackageSource>, path: &[String]) -> Self {
        Self {
            package: Rc::clone(package),
            path: path.to_vec(),
        }
    }

    /// File, line and column.
    pub(super) fn place(&self) -> String {
        self.package.place(&self.path)
    }
}

/// A zarf.yaml.
#[derive(Debug)]
pub(super) struct PackageSource {
    /// What messages call it.
    pub(super) shown: String,
    /// Its directory, from the root of what may be read.
    pub(super) directory: PathBuf,
    /// Its text, with markers as they can be read.
    pub(super) text: String,
    line: u64,
    /// What it holds, with markers as they can be read.
    pub(super) value: Value,
}

impl PackageSource {
    /// Reads the definition in a directory of what may be read.
    pub(super) fn read(dir: &ModuleDir, directory: &Path) -> Result<Self, ZarfError> {
        let file = directory.join(FILE);
        let shown = dir.shown(&file);
        let text = dir.read(&file);
        let text = text.map_err(|error| ZarfProblem::File(error).at(shown.clone()))?;
        let text = markers::readable(&text).into_owned();
        let documents = yaml::documents(&text).map_err(|error| {
            let place = match error.position() {
                Some(at) => format!("{shown}:{}:{}", at.line, at.column),
                None => shown.clone(),
            };
            ZarfProblem::Shape(error.to_string()).at(place)
        })?;
        let [document] = <[_; 1]>::try_from(documents).map_err(|_| {
            let why = "a package definition is one document, and a mapping".to_owned();
            ZarfProblem::Shape(why).at(shown.clone())
        })?;
        let source = Self {
            shown,
            directory: directory.to_owned(),
            text,
            line: document.line,
            value: document.value,
        };
        source.check_header()?;
        Ok(source)
    }

    /// Another kind, or another version of this one, would mean something else.
    fn check_header(&self) -> Result<(), ZarfError> {
        let text = |key: &str| match self.value.get(key) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let (version, kind) = (text("apiVersion"), text("kind"));
        if !version.is_empty() && version != API_VERSION {
            return Err(self.wrong(&["apiVersion"], ZarfProblem::ApiVersion(version)));
        }
        match kind == KIND {
            true => Ok(()),
            false => Err(self.wrong(&["kind"], ZarfProblem::Kind(kind))),
        }
    }

    /// Where a field stands, or what is nearest above it.
    pub(super) fn position<S: AsRef<str>>(&self, path: &[S]) -> Option<Position> {
        let path: Vec<String> = path.iter().map(|step| step.as_ref().to_owned()).collect();
        yaml::locate::field(&self.text, self.line, &path)
    }

    /// The same, with the file.
    pub(super) fn place<S: AsRef<str>>(&self, path: &[S]) -> String {
        match self.position(path) {
            Some(at) => format!("{}:{}:{}", self.shown, at.line, at.column),
            None => self.shown.clone(),
        }
    }

    /// What is wrong with a field.
    pub(super) fn wrong<S: AsRef<str>>(&self, path: &[S], problem: ZarfProblem) -> ZarfError {
        problem.at(self.place(path))
    }

    /// A part of it, as a type of its own.
    pub(super) fn part<T: DeserializeOwned>(
        &self,
        path: &[String],
        value: &Value,
    ) -> Result<T, ZarfError> {
        types::read(value).map_err(|why| self.wrong(path, ZarfProblem::Shape(why)))
    }

    /// The items of a list; none if it is not there.
    pub(super) fn items<'v>(
        &self,
        path: &[String],
        value: Option<&'v Value>,
    ) -> Result<&'v [Value], ZarfError> {
        match value {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(self.wrong(path, ZarfProblem::Shape("it must be a list".to_owned()))),
        }
    }
}
