//! The layers of a CUE module's values: its own, then files, then assignments.
//!
//! Each file is there for `cue` as it is. What a layer's text means is told by `opm` where it is
//! plain data, by `cue` where it is not; a layer that refers to `#config`, or has constraints, is
//! no data at all, and is unified with the rest instead of merged.

use std::path::Path;

use opm_core::values::Value;

use super::module_file::CueModuleError;
use super::source;
use crate::Inputs;
use crate::module_dir::ModuleDir;
use crate::values::{Assignment, Layer, Pick, PlainValues, ValuesFile, ValuesFormat};

/// The module's own values.
pub(super) const OWN: &str = "values.cue";

/// Evaluates a package in a directory, if it is plain data.
pub(super) type Export<'a> = dyn Fn(&Path, &str) -> Option<Value> + 'a;

/// The module's own values, unless others take their place.
pub(super) fn own_values(
    module: &ModuleDir,
    inputs: &Inputs,
) -> Result<Option<ValuesFile>, CueModuleError> {
    if inputs.values.base.is_some() || !module.has(OWN) {
        return Ok(None);
    }
    let path = Path::new(OWN);
    Ok(Some(ValuesFile {
        shown: module.shown(path),
        format: ValuesFormat::Cue,
        text: module.read(path).map_err(CueModuleError::Dir)?,
    }))
}

/// The layers that are files.
#[derive(Debug, Default)]
pub(super) struct Layers {
    files: Vec<FileLayer>,
    /// Whether the first layer is what the others come over.
    has_base: bool,
}

#[derive(Debug)]
struct FileLayer {
    import: String,
    /// Where `cue` finds it, as CUE text.
    field: String,
    content: LayerContent,
}

#[derive(Debug)]
enum LayerContent {
    Plain(PlainValues),
    /// More than data: unified with the rest.
    Constraints,
    /// It needs the module's package, and is in there.
    InModule,
}

impl LayerContent {
    fn of(plain: Option<PlainValues>) -> Self {
        plain.map_or(Self::Constraints, Self::Plain)
    }

    fn plain(&self) -> Option<&PlainValues> {
        match self {
            Self::Plain(plain) => Some(plain),
            Self::Constraints | Self::InModule => None,
        }
    }
}

impl Layers {
    /// The number of the layer that comes next, or of the first assignment behind all files.
    pub(super) fn next(&self) -> usize {
        self.files.len()
    }

    /// The first layer, if there is one now, is what the others come over.
    pub(super) fn base_is_known(&mut self) {
        self.has_base = !self.files.is_empty();
    }

    /// The last layer is part of the module's package.
    pub(super) fn leave_to_module(&mut self) {
        if let Some(last) = self.files.last_mut() {
            last.content = LayerContent::InModule;
        }
    }

    /// Whether a file is read by `cue` as data.
    pub(super) fn embeds(&self) -> bool {
        self.files.iter().any(|file| file.field.contains("@embed"))
    }

    /// Adds a CUE file, whose package has this path; says whether it is plain data.
    pub(super) fn add_package(
        &mut self,
        file: &ValuesFile,
        path: &str,
        evaluated: impl FnOnce() -> Option<Value>,
    ) -> bool {
        let number = self.next();
        let plain = file.plain().or_else(|| {
            let may_be = !has_constraints(&file.text);
            may_be.then(evaluated).flatten().map(PlainValues::of_file)
        });
        self.add(FileLayer {
            import: format!("import v{number} \"{path}:opm_values\"\n"),
            field: format!("_f{number}: v{number}\n"),
            content: LayerContent::of(plain),
        })
    }

    /// Adds a YAML or JSON file under this name; says whether its values can be told.
    pub(super) fn add_data(&mut self, file: &ValuesFile, name: &str) -> bool {
        let number = self.next();
        self.add(FileLayer {
            import: String::new(),
            field: format!("_f{number}: _ @embed(file={name})\n"),
            content: LayerContent::of(file.plain()),
        })
    }

    fn add(&mut self, layer: FileLayer) -> bool {
        let is_plain = layer.content.plain().is_some();
        self.files.push(layer);
        is_plain
    }

    /// What the layers and the assignments come to.
    pub(super) fn picks(&self, assignments: &[Assignment]) -> Pick {
        let mut pick = Pick::nothing();
        for (number, file) in self.files.iter().enumerate() {
            let Some(plain) = file.content.plain() else {
                continue;
            };
            let layer = Layer {
                number,
                reference: &reference(number, plain),
                value: &plain.value,
            };
            pick = match number == 0 && self.has_base {
                true => Pick::base(layer),
                false => pick.under(layer),
            };
        }
        for (number, assignment) in assignments.iter().enumerate() {
            let layer = Layer {
                number: self.next() + number,
                reference: &format!("_s{number}"),
                value: &source::shape(&assignment.value),
            };
            pick = pick.assigned(&assignment.key, layer);
        }
        pick
    }

    /// The files' part of the values, as CUE text: whole files where nothing is taken from them.
    pub(super) fn to_cue(&self, picks: &Pick, package: &str) -> String {
        let attribute = if self.embeds() {
            "@extern(embed)\n\n"
        } else {
            ""
        };
        let (mut imports, mut fields) = (String::new(), String::new());
        for (number, file) in self.files.iter().enumerate() {
            let values = match &file.content {
                LayerContent::InModule => continue,
                LayerContent::Constraints => source::values_file(number),
                LayerContent::Plain(plain) if picks.has_all_of(number, &plain.value) => {
                    format!("_in: {}\n", reference(number, plain))
                }
                LayerContent::Plain(_) => match picks.of_layer(number) {
                    Some(part) => format!("_in: {part}\n"),
                    None => String::new(),
                },
            };
            imports.push_str(&file.import);
            fields.push_str(&file.field);
            fields.push_str(&values);
        }
        format!("{attribute}package {package}\n\n{imports}\n{fields}")
    }
}

fn reference(number: usize, plain: &PlainValues) -> String {
    let nested = if plain.is_nested { ".values" } else { "" };
    format!("_f{number}{nested}")
}

/// Whether a CUE text has what is more than data: definitions, disjunctions, bounds. What is
/// inside texts and comments does not count.
fn has_constraints(text: &str) -> bool {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let token = match c {
            '"' | '\'' => super::masking::quoted(rest).len(),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '#' | '|' | '&' | '<' | '>' | '=' => return true,
            c => c.len_utf8(),
        };
        rest = rest.get(token..).unwrap_or_default();
    }
    false
}
