//! Modules of `opm`, made of an application's published files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use opm_testkit::programs::{self, BuildError, Program};
use opm_testkit::{FetchError, cluster_required, skip_without};
use serde_json::{Map, Value, json};

use crate::applications::{Application, Form, Source};

/// The modules of an application: its two versions, and what it needs.
pub(crate) struct Modules {
    from: PathBuf,
    to: PathBuf,
    /// Where both versions are put, one after the other, that no file declares to be one module.
    place: Option<PathBuf>,
    pub(crate) needs: Option<PathBuf>,
    /// What the tool prints for the first version whose format it is, as plain manifests.
    pub(crate) printed: Option<PathBuf>,
}

impl Modules {
    /// Writes them below a directory. Nothing if the machine lacks what that takes, which is noted.
    pub(crate) fn write(application: &Application, dir: &Path) -> Option<Self> {
        let module = |place: &str, source: &Source, name: &str, used_by: &str| {
            let dir = dir.join(place);
            fs::create_dir_all(&dir).unwrap();
            if let Form::Undeclared(places) = source.form {
                undeclared(&fetched(source)?, places, used_by, &dir);
                return Some(dir);
            }
            let component = component(source, &dir)?;
            write(&dir, name, source.module.version, component, used_by);
            Some(dir)
        };
        let name = application.name;
        let is_undeclared = matches!(application.from.form, Form::Undeclared(_));
        let printed = match application.from.form {
            Form::Manifests(_) => None,
            _ => Some(printed(application, &dir.join("printed"))?),
        };
        let needs = match &application.needs {
            Some(source) => Some(module("needs", source, "needs", "")?),
            None => None,
        };
        Some(Self {
            from: module("from", &application.from, name, application.used_by)?,
            to: module("to", &application.to, name, application.used_by)?,
            place: is_undeclared.then(|| dir.join(name)),
            needs,
            printed,
        })
    }

    /// The module of the first version.
    pub(crate) fn from(&self) -> &str {
        self.put(&self.from)
    }

    /// The module of the second version.
    pub(crate) fn to(&self) -> &str {
        self.put(&self.to)
    }

    /// A version, where it is applied from.
    fn put<'s>(&'s self, version: &'s Path) -> &'s str {
        let Some(place) = &self.place else {
            return version.to_str().unwrap();
        };
        if place.exists() {
            fs::remove_dir_all(place).unwrap();
        }
        copy(version, place);
        place.to_str().unwrap()
    }
}

/// One directory with a module of this component. Both versions have the same path, so they are
/// one module wherever they lie.
fn write(dir: &Path, name: &str, version: &str, component: Value, used_by: &str) {
    let path = format!("applications.example.com/{name}@v0");
    let metadata = json!({"name": name, "path": path, "version": version.trim_start_matches('v')});
    let mut components = vec![component];
    if !used_by.is_empty() {
        components.push(json!({"name": "used-by", "manifests": ["used-by.yaml"]}));
        fs::write(dir.join("used-by.yaml"), used_by).unwrap();
    }
    let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
        "metadata": metadata, "components": components});
    fs::write(dir.join("module.yaml"), module.to_string()).unwrap();
}

/// A directory with nothing but manifests.
fn undeclared(from: &Path, places: &[&str], used_by: &str, dir: &Path) {
    for place in places {
        for file in files(&from.join(place)) {
            fs::copy(&file, dir.join(file.file_name().unwrap())).unwrap();
        }
    }
    if !used_by.is_empty() {
        fs::write(dir.join("used-by.yaml"), used_by).unwrap();
    }
}

/// The component of an application's files: its chart, its kustomization, or manifests that are
/// written beside it.
fn component(source: &Source, dir: &Path) -> Option<Value> {
    if let Form::Kustomization(place) = source.form {
        program(Program::Kubectl)?;
        // With everything beside it: its bases lie there.
        let top = Path::new(place).iter().next().unwrap();
        copy(&fetched(source)?.join(top), &dir.join(top));
        return Some(json!({"name": "application", "kustomize": place}));
    }
    if let Form::Chart(place, settings) = source.form {
        program(Program::Helm)?;
        chart(&fetched(source)?.join(place), &dir.join("chart"));
        let set: Map<String, Value> = settings.iter().map(|one| setting(one)).collect();
        return Some(json!({"name": "application", "chart": {"path": "chart", "set": set}}));
    }
    Some(plain(&manifests(source)?, dir))
}

fn plain(manifests: &[String], dir: &Path) -> Value {
    fs::create_dir_all(dir.join("manifests")).unwrap();
    for (n, text) in manifests.iter().enumerate() {
        fs::write(dir.join(format!("manifests/{n:03}.yaml")), text).unwrap();
    }
    json!({"name": "application", "manifests": ["manifests"]})
}

/// `a.b=true`, as a name and a value.
fn setting(given: &str) -> (String, Value) {
    let (name, value) = given.split_once('=').unwrap();
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    (name.to_owned(), value)
}

/// A directory with nothing but a chart of these files.
pub(crate) fn bare_chart(source: &Source, place: &str, dir: &Path) -> Option<String> {
    program(Program::Helm)?;
    chart(&fetched(source)?.join(place), dir);
    Some(dir.display().to_string())
}

/// A chart's files, as they are released.
fn chart(from: &Path, to: &Path) {
    copy(from, to);
    // Some fill in their versions only when they are released.
    let unreleased = to.join("Chart.template.yaml");
    if unreleased.is_file() {
        fs::rename(unreleased, to.join("Chart.yaml")).unwrap();
    }
}

/// The module of plain manifests that the tool whose format it is prints for the first version.
fn printed(application: &Application, dir: &Path) -> Option<PathBuf> {
    fs::create_dir_all(dir).unwrap();
    let component = match application.from.form {
        Form::Chart(place, settings) => plain(&[template(application, place, settings)?], dir),
        _ => plain(&manifests(&application.from)?, dir),
    };
    let version = application.from.module.version;
    write(
        dir,
        application.name,
        version,
        component,
        application.used_by,
    );
    Some(dir.to_owned())
}

/// What `helm template` prints.
fn template(application: &Application, place: &str, settings: &[&str]) -> Option<String> {
    let copied = tempfile::tempdir().unwrap();
    chart(&fetched(&application.from)?.join(place), copied.path());
    let mut helm = Command::new(program(Program::Helm)?);
    helm.args(["template", application.name])
        .arg(copied.path())
        .args(["--namespace", application.namespace, "--include-crds"])
        .args(["--kube-version", "1.34.0"]);
    for setting in settings {
        helm.args(["--set", setting]);
    }
    Some(output(&mut helm))
}

/// The files of a published version.
fn fetched(source: &Source) -> Option<PathBuf> {
    match source.module.fetch() {
        Ok(dir) => Some(dir),
        Err(error @ FetchError::Sum { .. }) => panic!("{error}"),
        Err(error) => {
            skip_without(&format!("real application to try: {error}"));
            None
        }
    }
}

fn manifests(source: &Source) -> Option<Vec<String>> {
    let dir = fetched(source)?;
    match source.form {
        Form::Manifests(places) | Form::Undeclared(places) => {
            let files = places.iter().flat_map(|place| files(&dir.join(place)));
            Some(
                files
                    .map(|file| fs::read_to_string(file).unwrap())
                    .collect(),
            )
        }
        Form::Kustomization(place) => {
            let kubectl = program(Program::Kubectl)?;
            let place = dir.join(place);
            let text = output(Command::new(kubectl).arg("kustomize").arg(place));
            Some(vec![text])
        }
        Form::Chart(..) => None,
    }
}

/// The manifests at a place: one file, or those of a directory, sorted.
fn files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let entries =
        fs::read_dir(place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A program that renders, built if it is not there.
fn program(program: Program) -> Option<PathBuf> {
    match programs::ensure(&[program]) {
        Ok(()) => program.find(),
        Err(BuildError::NoGo) if !cluster_required() => {
            skip_without(&format!("{} to render with", program.name()));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn output(command: &mut Command) -> String {
    // A home of nobody's: what a user configured for these programs is not ours.
    let home = tempfile::tempdir().unwrap();
    let output = command.env("HOME", home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}
