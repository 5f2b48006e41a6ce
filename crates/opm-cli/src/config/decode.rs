//! A configuration document, read key by key, so that an error can name the key and an unknown
//! one can be answered with the one that was meant.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::error::{CliError, ErrorKind};
use crate::settings::{Key, Layer, Origin, choice, entries, named, namespace, verbosity};
use opm_core::nearest::{did_you_mean, nearest};

/// Reads a document. `path` is where it came from.
pub(super) fn layer(path: &Path, document: &Value) -> Result<Layer, CliError> {
    let origin = Origin::File(path.to_owned());
    let fields = match document {
        Value::Null => &Map::new(),
        Value::Object(fields) => fields,
        _ => {
            let message = format!("{} does not hold keys and values", path.display());
            return Err(CliError::new(ErrorKind::Config, message));
        }
    };
    let mut file = Reader {
        path,
        origin,
        layer: Layer::default(),
        verbose: None,
        quiet: None,
    };
    for (name, value) in fields {
        file.top(name, value)?;
    }
    file.layer.verbosity = verbosity(&file.origin, file.verbose, file.quiet)?;
    Ok(file.layer)
}

struct Reader<'a> {
    path: &'a Path,
    origin: Origin,
    layer: Layer,
    verbose: Option<u8>,
    quiet: Option<bool>,
}

impl Reader<'_> {
    fn top(&mut self, name: &str, value: &Value) -> Result<(), CliError> {
        match (name, value) {
            ("features", Value::Object(fields)) => fields
                .iter()
                .try_for_each(|(inner, value)| self.known(&format!("features.{inner}"), value)),
            ("features", Value::Null) => Ok(()),
            ("features", _) => {
                Err(self.invalid_path("features", "expected the keys enable and disable"))
            }
            _ => self.known(name, value),
        }
    }

    fn known(&mut self, path: &str, value: &Value) -> Result<(), CliError> {
        match Key::from_config(path) {
            // A key without a value says nothing, as a commented one does.
            Some(_) if value.is_null() => Ok(()),
            Some(key) => self.set(key, value),
            None => Err(self.unknown(path)),
        }
    }

    fn set(&mut self, key: Key, value: &Value) -> Result<(), CliError> {
        match key {
            Key::Kubeconfig => self.layer.kubeconfig = Some(self.file(key, value)?),
            Key::Context => self.layer.context = Some(self.text(key, value)?.to_owned()),
            Key::Namespace => {
                self.layer.namespace = Some(namespace(&self.origin, self.text(key, value)?)?);
            }
            Key::As => self.layer.as_user = Some(self.text(key, value)?.to_owned()),
            Key::Sandbox => self.layer.sandbox = Some(self.switch(key, value)?),
            Key::SandboxDir => self.layer.sandbox_dir = Some(self.file(key, value)?),
            Key::Output => self.layer.output = Some(self.word(key, value)?),
            Key::Verbose => self.verbose = Some(self.count(key, value)?),
            Key::Quiet => self.quiet = Some(self.switch(key, value)?),
            Key::Color => self.layer.color = Some(self.word(key, value)?),
            Key::Events => self.layer.events = Some(self.switch(key, value)?),
            Key::LogEntries => {
                self.layer.log_entries = Some(entries(&self.origin, value.as_u64())?);
            }
            Key::RetiredManagers => {
                self.layer.retired_managers = Some(named(self.list(key, value)?));
            }
            Key::Review => self.layer.review = Some(self.word(key, value)?),
            Key::Preflight => self.layer.preflight = Some(self.switch(key, value)?),
            Key::RenderCache => self.layer.render_cache = Some(self.switch(key, value)?),
            Key::DiscoveryCache => self.layer.discovery_cache = Some(self.switch(key, value)?),
            Key::FeatureEnable => self.layer.feature_enable = self.list(key, value)?,
            Key::FeatureDisable => self.layer.feature_disable = self.list(key, value)?,
            Key::Config => return Err(self.unknown("config")),
        }
        Ok(())
    }

    fn text<'v>(&self, key: Key, value: &'v Value) -> Result<&'v str, CliError> {
        value
            .as_str()
            .ok_or_else(|| self.expected(key, "text", value))
    }

    /// A path; a relative one is meant from where the file is, wherever `opm` is started.
    fn file(&self, key: Key, value: &Value) -> Result<PathBuf, CliError> {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        Ok(directory.join(self.text(key, value)?))
    }

    fn switch(&self, key: Key, value: &Value) -> Result<bool, CliError> {
        value
            .as_bool()
            .ok_or_else(|| self.expected(key, "true or false", value))
    }

    fn word<T: ValueEnum>(&self, key: Key, value: &Value) -> Result<T, CliError> {
        choice(&self.origin, key, self.text(key, value)?)
    }

    fn count(&self, key: Key, value: &Value) -> Result<u8, CliError> {
        let number = value.as_u64().and_then(|number| u8::try_from(number).ok());
        number
            .or_else(|| value.as_bool().map(u8::from))
            .ok_or_else(|| self.expected(key, "a small number, true or false", value))
    }

    fn list(&self, key: Key, value: &Value) -> Result<Vec<String>, CliError> {
        let items = value
            .as_array()
            .ok_or_else(|| self.expected(key, "a list of names", value))?;
        items
            .iter()
            .map(|item| self.text(key, item).map(str::to_owned))
            .collect()
    }

    fn expected(&self, key: Key, what: &str, value: &Value) -> CliError {
        self.origin
            .invalid(key, &format!("expected {what}, found {value}"))
    }

    fn invalid_path(&self, path: &str, why: &str) -> CliError {
        let message = format!(
            "the key `{path}` in {} is not valid: {why}",
            self.path.display()
        );
        CliError::new(ErrorKind::Config, message)
    }

    fn unknown(&self, path: &str) -> CliError {
        let message = format!("unknown key `{path}` in {}", self.path.display());
        let error = CliError::new(ErrorKind::Config, message);
        let known = Key::ALL.iter().filter_map(|key| key.config());
        match did_you_mean(&nearest(path, known)) {
            Some(suggestion) => error.hint(suggestion),
            None => error.hint("`opm config init` writes a file that has every key, commented"),
        }
    }
}
