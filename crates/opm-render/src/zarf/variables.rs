//! Variables and constants: what a release gives over what a package declares, and what markers
//! stand for.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opm_core::nearest::{did_you_mean, nearest};
use opm_core::values::Value;
use serde_json::{Value as Json, json};

use super::compose::{Composed, Declared};
use super::error::{ZarfError, ZarfProblem};
use super::markers::{self, Replacement};
use super::types::{PackageVariable, VariableKind};
use crate::module_dir::ModuleDir;
use crate::substitution::{MAX_BYTES, SubstitutionError};
use crate::values::{OwnValues, ResolveError, Schema, Segment, Values, resolve};

/// Values that are no variables: for whom a package is rendered.
pub(super) const TARGETS: [&str; 3] = ["architecture", "flavor", "localOS"];

/// The values of a release, as they are given.
#[derive(Debug, Default)]
pub(super) struct GivenValues {
    given: BTreeMap<String, Value>,
    /// Those of an earlier change, where they are the ones to start from.
    recorded: BTreeMap<String, Value>,
}

impl GivenValues {
    /// Reads them. All that is assigned is a text, whatever it looks like, as variables are.
    pub(super) fn read(values: &Values, shown: &str) -> Result<Self, ResolveError> {
        let names = values
            .assignments
            .iter()
            .filter_map(|one| match one.key.0.as_slice() {
                [Segment::Field(name)] => Some((name.clone(), Value::String(String::new()))),
                _ => None,
            });
        let own = Value::Struct(names.collect());
        let fields = |values: &Values, own: &Value| {
            let own = OwnValues {
                value: own,
                place: shown,
            };
            Ok(match resolve(own, values, None)? {
                Value::Struct(fields) => fields,
                _ => BTreeMap::new(),
            })
        };
        let (mut now, mut before) = (values.clone(), values.clone());
        now.base = None;
        before.files.clear();
        before.assignments.clear();
        let mut given = fields(&now, &own)?;
        // What was only there to make a text of it is not given.
        given.retain(|_, value| *value != Value::Null);
        Ok(Self {
            given,
            recorded: fields(&before, &Value::Struct(BTreeMap::new()))?,
        })
    }

    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.given.get(name).or_else(|| self.recorded.get(name))
    }

    /// A value that is a text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(markers::as_text)
    }
}

/// What markers in manifests and charts stand for.
#[derive(Clone)]
pub(crate) struct Markers {
    known: Arc<BTreeMap<String, MarkerValue>>,
    set_by_actions: Arc<BTreeSet<String>>,
    /// How many bytes values have put into the manifests.
    used: Arc<AtomicUsize>,
}

#[derive(Clone)]
struct MarkerValue {
    value: Value,
    auto_indent: bool,
}

impl fmt::Debug for Markers {
    /// Without the values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Markers").field(&self.known.keys()).finish()
    }
}

impl Markers {
    /// The text with its markers as they can be read.
    pub(crate) fn readable<'t>(&self, text: &'t str) -> Cow<'t, str> {
        markers::readable(text)
    }

    /// Replaces the markers in a document that was read from such a text.
    pub(crate) fn apply(&self, document: &mut Json) -> Result<(), SubstitutionError> {
        markers::replace(document, &|name| self.lookup(name))
    }

    fn lookup(&self, name: &str) -> Result<Replacement<'_>, SubstitutionError> {
        if let Some(known) = self.known.get(name) {
            let bytes = markers::as_text(&known.value).map_or(640, |text| 64 + text.len());
            let used = self.used.fetch_add(bytes, Ordering::Relaxed);
            if used.saturating_add(bytes) > MAX_BYTES {
                let limit = MAX_BYTES >> 20;
                let problem = format!(
                    "{} puts more than {limit} MiB into the manifests",
                    markers::shown(name)
                );
                return Err(SubstitutionError::of_marker(problem, None, String::new()));
            }
            return Ok(Replacement::Value {
                value: Cow::Borrowed(&known.value),
                auto_indent: known.auto_indent,
            });
        }
        let (problem, hint) = self.unknown(name);
        let problem = format!("{} {problem}", markers::shown(name));
        Err(SubstitutionError::of_marker(problem, hint, String::new()))
    }

    fn unknown(&self, name: &str) -> (&'static str, Option<String>) {
        match name.split_once('_') {
            Some(("VAR", variable)) if self.set_by_actions.contains(variable) => (
                "is set by an action, and actions are not run",
                Some(format!("--set {variable}=… gives it")),
            ),
            Some(("VAR" | "CONST", _)) => {
                let near = nearest(name, self.known.keys().map(String::as_str));
                let shown: Vec<String> = near.iter().take(1).map(|n| markers::shown(n)).collect();
                let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
                ("is declared nowhere in the package", did_you_mean(&shown))
            }
            Some(("PKG", _)) => (
                "stands in a file; package templates count in zarf.yaml alone",
                Some("declare a constant with it, and use that".to_owned()),
            ),
            _ => (
                "is a value of a cluster that Zarf has prepared, which opm does not have",
                None,
            ),
        }
    }
}

/// What a package's variables come to.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The values of the release, as they are recorded.
    pub(super) values: Value,
    pub(super) markers: Markers,
    variables: BTreeMap<String, Value>,
}

impl Resolved {
    /// The value of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }
}

/// Puts together what is given and what is declared.
pub(super) fn resolved(
    dir: &ModuleDir,
    package: &Composed,
    given: &GivenValues,
    templates: &BTreeSet<String>,
    shown: &str,
) -> Result<Resolved, ZarfError> {
    refuse_unknown(package, given, templates, shown)?;
    let mut known = BTreeMap::new();
    let mut variables = BTreeMap::new();
    let mut missing: Vec<&Declared<PackageVariable>> = Vec::new();
    for declared in &package.variables {
        let variable = &declared.value;
        let value = match (given.get(&variable.name), &variable.default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => Value::String(default_text(dir, declared, default)?),
            (None, None) => {
                missing.push(declared);
                continue;
            }
        };
        check_pattern(&variable.name, variable.pattern.as_deref(), &value)
            .map_err(|problem| problem.at(declared.spot.place()))?;
        let marker = MarkerValue {
            value: value.clone(),
            auto_indent: variable.auto_indent,
        };
        known.insert(format!("VAR_{}", variable.name), marker);
        variables.insert(variable.name.clone(), value);
    }
    if let Some(first) = missing.first() {
        let names = missing.iter().map(|one| one.value.name.clone()).collect();
        return Err(ZarfProblem::MissingValues(names).at(first.spot.place()));
    }
    for declared in &package.constants {
        let constant = &declared.value;
        let value = Value::String(constant.value.clone());
        check_pattern(&constant.name, constant.pattern.as_deref(), &value)
            .map_err(|problem| problem.at(declared.spot.place()))?;
        let marker = MarkerValue {
            value,
            auto_indent: constant.auto_indent,
        };
        known.insert(format!("CONST_{}", constant.name), marker);
    }
    let mut set_by_actions = BTreeSet::new();
    for name in package.set_by_actions.union(&package.chart_variables) {
        match given.get(name) {
            _ if variables.contains_key(name) => {}
            Some(value) => {
                let marker = MarkerValue {
                    value: value.clone(),
                    auto_indent: false,
                };
                known.insert(format!("VAR_{name}"), marker);
                variables.insert(name.clone(), value.clone());
            }
            None if !package.set_by_actions.contains(name) => {}
            None => _ = set_by_actions.insert(name.clone()),
        }
    }
    let others = templates.iter().map(String::as_str).chain(TARGETS);
    let others = others.filter_map(|name| Some((name.to_owned(), given.get(name)?.clone())));
    let mut values: BTreeMap<String, Value> = others.collect();
    values.extend(variables.clone());
    Ok(Resolved {
        values: Value::Struct(values),
        markers: Markers {
            known: Arc::new(known),
            set_by_actions: Arc::new(set_by_actions),
            used: Arc::default(),
        },
        variables,
    })
}

/// What is given and nothing takes is a mistake; what is recorded may be of an earlier version.
fn refuse_unknown(
    package: &Composed,
    given: &GivenValues,
    templates: &BTreeSet<String>,
    shown: &str,
) -> Result<(), ZarfError> {
    let declared = package.variables.iter().map(|one| one.value.name.as_str());
    let others = package.set_by_actions.iter().chain(templates);
    let others = others.chain(&package.chart_variables);
    let known: BTreeSet<&str> = declared.chain(others.map(String::as_str)).collect();
    let taken = |name: &str| known.contains(name) || TARGETS.contains(&name);
    let unknown = given.given.keys().filter(|name| !taken(name));
    let unknown: Vec<String> = unknown.cloned().collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => {
            let known = known.into_iter().map(str::to_owned).collect();
            Err(ZarfProblem::UnknownValues(unknown, known).at(shown))
        }
    }
}

/// The default of a variable, which may be in a file.
fn default_text(
    dir: &ModuleDir,
    declared: &Declared<PackageVariable>,
    default: &str,
) -> Result<String, ZarfError> {
    match declared.value.kind {
        VariableKind::File if !default.is_empty() => {
            let path = declared.directory.join(Path::new(default));
            let text = dir.read(&path);
            text.map_err(|error| ZarfProblem::File(error).at(declared.spot.place()))
        }
        _ => Ok(default.to_owned()),
    }
}

fn check_pattern(name: &str, pattern: Option<&str>, value: &Value) -> Result<(), ZarfProblem> {
    let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else {
        return Ok(());
    };
    let schema = Schema::new(&json!({"type": "string", "pattern": pattern}))
        .map_err(|_| ZarfProblem::BadPattern(pattern.to_owned(), name.to_owned()))?;
    let text = markers::as_text(value);
    let text = text.ok_or_else(|| ZarfProblem::PatternOfStructure(name.to_owned()))?;
    match schema.check(&Value::String(text)).is_empty() {
        true => Ok(()),
        false => Err(ZarfProblem::Pattern {
            name: name.to_owned(),
            pattern: pattern.to_owned(),
        }),
    }
}
