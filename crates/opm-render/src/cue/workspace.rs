//! The temporary directory in which `cue` sees a module and what opm adds to it.
//!
//! It holds a link to every entry of the module and generated files beside them, so that nothing
//! is written into the module, which may be read-only. It also knows the way back: which of the
//! user's files a position in it means.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::layers::{self, Layers};
use super::masking::Masking;
use super::module_file::{CueModule, CueModuleError, package_clause};
use super::source;
use crate::Inputs;
use crate::module_dir::{DirError, ModuleDir};
use crate::program::{LOCK, PrivateDir};
use crate::values::{ValuesFile, ValuesFormat};

/// The generated package's directory, and the argument that names it.
pub(super) const PACKAGE: &str = "opm_render";
const DEFAULTS: &str = "opm_gen.cue";
const ASSIGNMENTS: &str = "opm_set.cue";
/// What `cue` calls its standard input.
const STANDARD_INPUT: &str = "-";
/// The generated package file by file, and what comes by standard input.
const FILES_AND_INPUT: [&str; 4] = [
    "./opm_render/render.cue",
    "./opm_render/values.cue",
    "cue:",
    STANDARD_INPUT,
];
/// The generated package as a directory.
const DIRECTORY: [&str; 1] = ["./opm_render"];

/// Why the temporary directory cannot be made.
#[derive(Debug, Error)]
#[error("failed to write to a temporary directory: {0}")]
pub struct WorkspaceError(#[from] std::io::Error);

/// A module prepared for `cue`.
#[derive(Debug)]
pub(crate) struct Workspace {
    dir: PrivateDir,
    /// What of the values may be shown.
    masking: Masking,
    /// The module's directory as the user named it.
    module: PathBuf,
    /// Names of copied values files and what the user calls them.
    values: Vec<(String, ValuesOrigin)>,
    /// The assignments, in the order of their lines.
    assignments: Vec<String>,
    /// Their text, where `cue` can read it from its standard input.
    input: Option<String>,
}

/// Where the text of a copied values file comes from.
#[derive(Debug)]
struct ValuesOrigin {
    shown: String,
    /// How many columns of the first line are not the user's.
    shift: usize,
}

impl Workspace {
    /// Links the module's files and writes opm's own. `export` evaluates a package by itself.
    pub(crate) fn create(
        module: &ModuleDir,
        cue: &CueModule,
        inputs: &Inputs,
        runtime: Option<&Path>,
        export: &layers::Export<'_>,
    ) -> Result<Self, super::CueError> {
        let dir = PrivateDir::create(runtime).map_err(WorkspaceError)?;
        link_entries(module, dir.path())?;
        let mut workspace = Self {
            dir,
            masking: Masking::new(&inputs.values, module),
            module: module.given().to_owned(),
            values: Vec::new(),
            assignments: Vec::new(),
            input: None,
        };
        workspace.generate(cue, inputs)?;
        let layers = workspace.add_layers(module, cue, inputs, export)?;
        workspace.add_values(&layers, inputs)?;
        Ok(workspace)
    }

    /// The directory to run `cue` in.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What `cue` said, without the values that the user gave.
    pub(crate) fn masked(&self, said: &str) -> String {
        self.masking.apply(said)
    }

    /// The arguments that name the generated package, and what comes by standard input.
    pub(crate) fn package(&self) -> (&'static [&'static str], Option<&str>) {
        match &self.input {
            Some(input) => (&FILES_AND_INPUT, Some(input)),
            None => (&DIRECTORY, None),
        }
    }

    fn generate(&mut self, cue: &CueModule, inputs: &Inputs) -> Result<(), WorkspaceError> {
        self.write(DEFAULTS, &source::defaults(&cue.package))?;
        self.dir.create_dir(PACKAGE)?;
        let render = source::render(cue, inputs.name.as_ref(), inputs.namespace.as_ref());
        self.write(&format!("{PACKAGE}/render.cue"), &render)?;
        Ok(())
    }

    /// Writes every layer's file, the module's own first, and finds out what is in it. Values of
    /// the module that are not plain data stay where they are, in the module's package.
    fn add_layers(
        &mut self,
        module: &ModuleDir,
        cue: &CueModule,
        inputs: &Inputs,
        export: &layers::Export<'_>,
    ) -> Result<Layers, super::CueError> {
        let mut layers = Layers::default();
        let own = layers::own_values(module, inputs)?;
        match (&inputs.values.base, &own) {
            (Some(base), _) => {
                self.add_layer(&mut layers, base, cue, export)?;
            }
            // With nothing over them, they are best read by `cue`.
            (None, Some(_)) if inputs.values.is_empty() => {
                self.link(module, Path::new(layers::OWN))?;
            }
            (None, Some(own)) => {
                if !self.add_layer(&mut layers, own, cue, export)? {
                    layers.leave_to_module();
                    self.link(module, Path::new(layers::OWN))?;
                }
            }
            (None, None) => {}
        }
        layers.base_is_known();
        for file in inputs.values.files.iter().filter(|file| !file.is_blank()) {
            self.add_layer(&mut layers, file, cue, export)?;
        }
        Ok(layers)
    }

    /// Writes a layer's file; says whether it is plain data.
    fn add_layer(
        &mut self,
        layers: &mut Layers,
        file: &ValuesFile,
        cue: &CueModule,
        export: &layers::Export<'_>,
    ) -> Result<bool, WorkspaceError> {
        let number = layers.next();
        match file.format {
            ValuesFormat::Cue => {
                self.add_package(number, file, cue)?;
                let path = cue.path.replacen('@', &format!("/{PACKAGE}/v{number}@"), 1);
                let package = format!("./{PACKAGE}/v{number}");
                let evaluated = || export(self.dir.path(), &package);
                Ok(layers.add_package(file, &path, evaluated))
            }
            ValuesFormat::Yaml | ValuesFormat::Json => {
                let name = self.add_data(number, file)?;
                Ok(layers.add_data(file, &name))
            }
        }
    }

    /// Writes what the layers and the assignments come to.
    fn add_values(&mut self, layers: &Layers, inputs: &Inputs) -> Result<(), WorkspaceError> {
        let given = &inputs.values.assignments;
        let picks = layers.picks(given);
        self.write(
            &format!("{PACKAGE}/values.cue"),
            &layers.to_cue(&picks, PACKAGE),
        )?;
        self.assignments = given
            .iter()
            .map(|assignment| assignment.shown.clone())
            .collect();
        let text = source::assignments(given, &picks, layers.next());
        // Files by name are no module to `cue`, and only those of a module can be embedded.
        match given.is_empty() || layers.embeds() {
            true => self.write(&format!("{PACKAGE}/{ASSIGNMENTS}"), &text),
            false => {
                self.input = Some(text);
                Ok(())
            }
        }
    }

    fn link(&self, module: &ModuleDir, entry: &Path) -> Result<(), super::CueError> {
        let resolved = module.resolve(entry).map_err(CueModuleError::Dir)?;
        symlink(resolved, self.dir.path().join(entry)).map_err(WorkspaceError)?;
        Ok(())
    }

    /// A CUE file becomes a package of its own, under a name that opm chooses.
    fn add_package(
        &mut self,
        number: usize,
        file: &ValuesFile,
        cue: &CueModule,
    ) -> Result<(), WorkspaceError> {
        let (text, shift) = match package_clause(&file.text) {
            Some((begin, end)) => (
                format!("{}opm_values{}", &file.text[..begin], &file.text[end..]),
                0,
            ),
            None => {
                let clause = "package opm_values, ";
                (format!("{clause}{}", file.text), clause.len())
            }
        };
        let directory = format!("{PACKAGE}/v{number}");
        let name = format!("opm_values_{number}.cue");
        self.dir.create_dir(&directory)?;
        if file.text.contains("#config") {
            let text = source::config_for_values(cue);
            self.write(&format!("{directory}/opm_config.cue"), &text)?;
        }
        self.write(&format!("{directory}/{name}"), &text)?;
        self.values.push((
            name,
            ValuesOrigin {
                shown: file.shown.clone(),
                shift,
            },
        ));
        Ok(())
    }

    fn add_data(&mut self, number: usize, file: &ValuesFile) -> Result<String, WorkspaceError> {
        let ending = if file.format == ValuesFormat::Json {
            "json"
        } else {
            "yaml"
        };
        let name = format!("opm_values_{number}.{ending}");
        self.write(&format!("{PACKAGE}/{name}"), &file.text)?;
        let origin = ValuesOrigin {
            shown: file.shown.clone(),
            shift: 0,
        };
        self.values.push((name.clone(), origin));
        Ok(name)
    }

    fn write(&self, relative: &str, text: &str) -> Result<(), WorkspaceError> {
        Ok(self.dir.write(relative, text)?)
    }

    /// What a position that `cue` names means to the user; none if it is opm's own business.
    pub(crate) fn origin(&self, file: &str, line: usize, column: usize) -> Option<Origin> {
        let name = file.rsplit('/').next().unwrap_or(file);
        if let Some((_, origin)) = self.values.iter().find(|(copy, _)| copy == name) {
            let shift = if line == 1 { origin.shift } else { 0 };
            let column = column.saturating_sub(shift).max(1);
            return Some(Origin::Values(format!("{}:{line}:{column}", origin.shown)));
        }
        if name == ASSIGNMENTS || file == STANDARD_INPUT {
            let assignment = line.checked_sub(source::FIRST_ASSIGNMENT)?;
            return self
                .assignments
                .get(assignment)
                .cloned()
                .map(Origin::Values);
        }
        let relative = file.strip_prefix("./").unwrap_or(file);
        if name == DEFAULTS || relative.starts_with(PACKAGE) {
            return None;
        }
        if let Some((_, dependency)) = file.split_once("/mod/extract/") {
            return Some(Origin::Module(format!("{dependency}:{line}:{column}")));
        }
        let shown = match self.module.as_os_str() == "." {
            true => PathBuf::from(relative),
            false => self.module.join(relative),
        };
        let place = format!("{}:{line}:{column}", shown.display());
        match relative {
            "values.cue" => Some(Origin::Values(place)),
            _ => Some(Origin::Module(place)),
        }
    }
}

/// A path in a workspace that does not exist, for what `cue` must not find.
pub(super) fn nowhere(directory: &Path) -> PathBuf {
    directory.join("opm_nowhere")
}

/// A place in the user's files, or the flag that stands for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Where the module declares something.
    Module(String),
    /// Where a value is given.
    Values(String),
}

/// Links every entry at the top of the module, except what must not take part: the repository's
/// own data, and values, which are layers.
fn link_entries(module: &ModuleDir, target: &Path) -> Result<(), super::CueError> {
    for entry in module.list(Path::new("")).map_err(CueModuleError::Dir)? {
        let name = entry.to_string_lossy();
        if name == DEFAULTS || name == PACKAGE || name == LOCK {
            return Err(CueModuleError::Reserved(module.shown(&entry)).into());
        }
        let is_values = name.starts_with("values") && name.ends_with(".cue");
        if name == ".git" || is_values {
            continue;
        }
        let resolved = module
            .resolve(&entry)
            .map_err(|e: DirError| CueModuleError::Dir(e))?;
        symlink(resolved, target.join(&entry)).map_err(WorkspaceError)?;
    }
    Ok(())
}
