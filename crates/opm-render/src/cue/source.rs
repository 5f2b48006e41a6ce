//! The CUE text that opm adds to a module to evaluate it.
//!
//! The module is imported by a package of opm's own and instantiated there. Done inside the
//! module's package, either unknown values would pass or `#config.x` would not see given ones.

use std::fmt::Write;

use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::values::Value;

use super::module_file::CueModule;
use crate::values::{AssignedValue, Assignment, KeyPath, Pick, Segment};

/// The namespace of release ids (DNS, "opmodel.dev").
const RELEASE_IDS: &str = "c1cbe76d-5687-5a47-bfe6-83b081b15413";

/// Makes the names that a module may leave out resolvable. Nothing here is open (`...`): that
/// would open the module's `#config`.
pub(super) fn defaults(package: &str) -> String {
    format!(
        "package {package}\n\n\
         #release: {{name: string, namespace: string, id: string}}\n\
         #config: {{}}\n\
         #components: {{}}\n\
         values: #config\n"
    )
}

/// Instantiates the module and picks what is wanted of it: `opm` is the rendering, `described` what
/// the module says about itself without any values. Of the latter only what tells its release
/// apart must evaluate; the rest is left out if it does not.
pub(super) fn render(
    module: &CueModule,
    name: Option<&ReleaseName>,
    namespace: Option<&NamespaceName>,
) -> String {
    let CueModule { path, package } = module;
    let identity = path.split('@').next().unwrap_or(path);
    let name = name.map_or("m.metadata.name".to_owned(), |name| quoted(name.as_str()));
    let namespace = namespace.map_or(DEFAULT_NAMESPACE.to_owned(), |n| quoted(n.as_str()));
    format!(
        r#"package opm_render

import (
	"list"
	"uuid"
	m "{path}:{package}"
)

_known: ["name", "version", "defaultNamespace", "description"]
_name: {name}
_namespace: {namespace}

_config: m.#config
_in: {{}}
_inst: m & {{
	values: _in
	#config: values
	#release: {{
		name: _name
		namespace: _namespace
		id: uuid.SHA1("{RELEASE_IDS}", "{identity}:\(_name):\(_namespace)")
	}}
	metadata: {{name!: string, version?: string, defaultNamespace?: string, description?: string, ...}}
	#components: [string]: {{resources!: [string]: {{...}}, after?: [...string], optional?: bool, ...}}
}}

opm: {{
	metadata: {{for k, v in _inst.metadata if list.Contains(_known, k) {{(k): v}}}}
	release: _inst.#release
	values: _inst.#config
	components: {{for c, x in _inst.#components {{
		(c): {{
			resources: x.resources
			for k, v in x if k == "after" || k == "optional" {{(k): v}}
		}}
	}}}}
}}
described: {{
	name: string & m.metadata.name
	for k, v in m.metadata if k == "defaultNamespace" {{(k): v}}
	for k, v in m.metadata if list.Contains(_known, k) if v != _|_ {{(k): v}}
}}
fetched: true
"#
    )
}

const DEFAULT_NAMESPACE: &str =
    r#"[if m.metadata.defaultNamespace != _|_ {m.metadata.defaultNamespace}, "default"][0]"#;

/// Takes a values file in, whether it holds the values themselves or has them under `values`.
pub(super) fn values_file(number: usize) -> String {
    let file = format!("_f{number}");
    format!("_in: [if [for k, _ in {file} {{k}}] == [\"values\"] {{{file}.values}}, {file}][0]\n")
}

/// The module's `#config` for values files that mention it, as in `values: #config & {…}`.
pub(super) fn config_for_values(module: &CueModule) -> String {
    let CueModule { path, package } = module;
    format!("package opm_values\n\nimport m \"{path}:{package}\"\n\n#config: m.#config\n")
}

/// The assignments, one per line, so that a position tells which it is. What a later one replaces
/// is left out.
pub(super) fn assignments(assignments: &[Assignment], picks: &Pick, first: usize) -> String {
    let mut text = String::from("package opm_render\n");
    for (number, Assignment { key, value, .. }) in assignments.iter().enumerate() {
        let chosen = match value {
            AssignedValue::Text(text) => quoted(text),
            AssignedValue::Either { literal, text } => {
                let text = quoted(text);
                let fits = |value: &str| {
                    format!(
                        "if (_config & {}).{} != _|_ {{{value}}}",
                        at(key, value),
                        selector(key)
                    )
                };
                // A literal that fits, else the text if that does, else an error for the literal.
                format!("[{}, {}, {literal}][0]", fits(literal), fits(&text))
            }
        };
        // Writing to a String does not fail.
        let _ = match picks.of_layer(first + number) {
            None => writeln!(text, "_s{number}: _"),
            Some(_) if picks.has_all_of(first + number, &shape(value)) => {
                writeln!(text, "_in: {}", at(key, &chosen))
            }
            Some(part) => writeln!(text, "_s{number}: {chosen}, _in: {part}"),
        };
    }
    text
}

/// What an assignment gives, as far as it matters to merging. Only `cue` reads every literal: one
/// that is neither a struct nor a list might as well be a text.
pub(super) fn shape(value: &AssignedValue) -> Value {
    match value {
        AssignedValue::Text(text) => Value::String(text.clone()),
        AssignedValue::Either { literal, text } => {
            Value::from_cue(literal).unwrap_or_else(|| Value::String(text.clone()))
        }
    }
}

/// The line of the first assignment in [`assignments`].
pub(super) const FIRST_ASSIGNMENT: usize = 2;

/// `value` at a path: structs around it, and lists that leave other items open.
fn at(key: &KeyPath, value: &str) -> String {
    key.0
        .iter()
        .rev()
        .fold(value.to_owned(), |inner, segment| match segment {
            Segment::Field(field) => format!("{{{}: {inner}}}", quoted(field)),
            Segment::Index(index) => format!("[{}{inner}, ...]", "_, ".repeat(*index)),
        })
}

/// A path as a selector.
fn selector(key: &KeyPath) -> String {
    let parts = key.0.iter().map(|segment| match segment {
        Segment::Field(field) => format!(".{}", quoted(field)),
        Segment::Index(index) => format!("[{index}]"),
    });
    parts.collect::<String>().trim_start_matches('.').to_owned()
}

/// A text as a CUE string on one line.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_cue()
}
