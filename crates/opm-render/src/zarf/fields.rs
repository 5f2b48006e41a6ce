//! Which fields a package definition may have, and what becomes of them: a table, and the walk
//! along it. What Zarf ignores is ignored; what it does not know is named.

use serde_json::Value;

/// A field, and what becomes of it.
struct Field(&'static str, Rule);

enum Rule {
    /// It is carried out, or is of no effect on a cluster.
    Known,
    /// A mapping with fields of its own.
    Inside(&'static [Field]),
    /// A list of such mappings.
    Items(&'static [Field]),
    /// It is not carried out, and the objects are the same without it.
    LeftOut(&'static str),
    /// The objects would be others than Zarf's.
    Refused(&'static str),
}

use Rule::{Inside, Items, Known, LeftOut, Refused};

const ACTIONS: &str = "actions are not run";
const IMAGES: &str = "images are neither packed nor pushed; the cluster pulls them itself";
const PACKAGE_VALUES: &str = "package values and Go templates are not filled in";

const PACKAGE: &[Field] = &[
    Field("apiVersion", Known),
    Field("kind", Known),
    Field("metadata", Inside(METADATA)),
    Field("build", Known),
    Field("documentation", Known),
    Field("components", Known),
    Field("constants", Items(CONSTANT)),
    Field("variables", Items(VARIABLE)),
    Field("values", Refused(PACKAGE_VALUES)),
];

const METADATA: &[Field] = &[
    Field("name", Known),
    Field("description", Known),
    Field("version", Known),
    Field("url", Known),
    Field("image", Known),
    Field("uncompressed", Known),
    Field("architecture", Known),
    Field("yolo", Known),
    Field("authors", Known),
    Field("documentation", Known),
    Field("source", Known),
    Field("vendor", Known),
    Field("annotations", Known),
    Field("allowNamespaceOverride", Known),
    Field("aggregateChecksum", Known),
];

const CONSTANT: &[Field] = &[
    Field("name", Known),
    Field("value", Known),
    Field("description", Known),
    Field("autoIndent", Known),
    Field("pattern", Known),
];

const VARIABLE: &[Field] = &[
    Field("name", Known),
    Field("default", Known),
    Field("description", Known),
    Field("prompt", Known),
    Field("sensitive", Known),
    Field("autoIndent", Known),
    Field("pattern", Known),
    Field("type", Known),
];

const COMPONENT: &[Field] = &[
    Field("name", Known),
    Field("description", Known),
    Field("default", Known),
    Field("required", Known),
    Field("group", Known),
    Field("cosignKeyPath", Known),
    Field("only", Inside(ONLY)),
    Field("import", Inside(IMPORT)),
    Field("manifests", Items(MANIFEST)),
    Field("charts", Items(CHART)),
    Field("images", LeftOut(IMAGES)),
    Field("imageArchives", LeftOut(IMAGES)),
    Field("imageTars", LeftOut(IMAGES)),
    Field("repos", LeftOut("Git repositories are not brought along")),
    Field("dataInjections", LeftOut("no data is put into containers")),
    Field("files", LeftOut("no files are put on this machine")),
    Field("scripts", LeftOut("scripts are not run")),
    Field("actions", Inside(ACTION_SETS)),
    Field(
        "healthChecks",
        LeftOut("single objects are not waited for; every object of a component is"),
    ),
    Field("extensions", LeftOut("extensions are not rendered")),
];

const ONLY: &[Field] = &[
    Field("localOS", Known),
    Field("flavor", Known),
    Field(
        "cluster",
        Inside(&[Field("architecture", Known), Field("distros", Known)]),
    ),
];

const IMPORT: &[Field] = &[
    Field("name", Known),
    Field("path", Known),
    Field("url", Refused("packages are not fetched")),
];

const ACTION_SETS: &[Field] = &[
    Field("onCreate", LeftOut(ACTIONS)),
    Field("onDeploy", LeftOut(ACTIONS)),
    Field("onRemove", LeftOut(ACTIONS)),
];

const MANIFEST: &[Field] = &[
    Field("name", Known),
    Field("namespace", Known),
    Field("files", Known),
    Field("kustomizations", Known),
    Field("kustomizeAllowAnyDirectory", Known),
    Field("enableKustomizePlugins", Refused("plugins are off")),
    Field("noWait", Known),
    Field("serverSideApply", Known),
    Field("template", Refused(PACKAGE_VALUES)),
];

const CHART: &[Field] = &[
    Field("name", Known),
    Field("version", Known),
    Field("url", Known),
    Field("repoName", Known),
    Field(
        "gitPath",
        Refused("charts in Git repositories are not fetched"),
    ),
    Field("localPath", Known),
    Field("namespace", Known),
    Field("releaseName", Known),
    Field("noWait", Known),
    Field("valuesFiles", Known),
    Field(
        "variables",
        Items(&[
            Field("name", Known),
            Field("description", Known),
            Field("path", Known),
        ]),
    ),
    Field("values", Refused(PACKAGE_VALUES)),
    Field("schemaValidation", Known),
    Field("serverSideApply", Known),
];

/// Something in a definition that is worth telling.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The way to it.
    pub(super) path: Vec<String>,
    pub(super) kind: FindingKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FindingKind {
    /// Nobody knows the field.
    Unknown,
    /// It is not carried out.
    LeftOut(&'static str),
    /// It cannot be left out.
    Refused(&'static str),
}

impl Finding {
    /// The field, from the thing that was looked at.
    pub(super) fn field(&self, above: usize) -> String {
        self.path[above..].join(".")
    }
}

/// What is worth telling about a package, its components left out.
pub(super) fn of_package(package: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    walk(package, PACKAGE, &[], &mut findings);
    findings
}

/// What is worth telling about a component, which stands at `path`.
pub(super) fn of_component(component: &Value, path: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    walk(component, COMPONENT, path, &mut findings);
    findings
}

fn walk(value: &Value, fields: &[Field], path: &[String], findings: &mut Vec<Finding>) {
    let Value::Object(given) = value else {
        return;
    };
    for (key, value) in given {
        let path = [path, std::slice::from_ref(key)].concat();
        let rule = fields.iter().find(|field| field.0 == key);
        let kind = match rule.map(|field| &field.1) {
            _ if is_empty(value) || key.starts_with("x-") => continue,
            Some(Known) => continue,
            Some(Inside(fields)) => {
                walk(value, fields, &path, findings);
                continue;
            }
            Some(Items(fields)) => {
                for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                    let path = [path.as_slice(), &[at.to_string()]].concat();
                    walk(item, fields, &path, findings);
                }
                continue;
            }
            Some(LeftOut(why)) => FindingKind::LeftOut(why),
            Some(Refused(why)) => FindingKind::Refused(why),
            None => FindingKind::Unknown,
        };
        findings.push(Finding { path, kind });
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_unknown_or_not_carried_out_is_found() {
        let component = json!({
            "name": "web", "x-note": {"a": 1}, "images": ["nginx"], "files": [],
            "actions": {"onDeploy": {"after": [{"cmd": "ls"}]}, "onRemove": {"before": []}},
            "charts": [{"name": "c"}, {"name": "d", "valueFiles": ["v.yaml"], "gitPath": "x"}],
            "wait": true,
        });
        let found = of_component(&component, &["components".to_owned(), "0".to_owned()]);
        let found: Vec<(String, FindingKind)> = found
            .into_iter()
            .map(|one| (one.field(2), one.kind))
            .collect();
        assert_eq!(
            found,
            [
                ("actions.onDeploy".to_owned(), FindingKind::LeftOut(ACTIONS)),
                (
                    "charts.1.gitPath".to_owned(),
                    FindingKind::Refused("charts in Git repositories are not fetched")
                ),
                ("charts.1.valueFiles".to_owned(), FindingKind::Unknown),
                ("images".to_owned(), FindingKind::LeftOut(IMAGES)),
                ("wait".to_owned(), FindingKind::Unknown),
            ]
        );
        let package = json!({"kind": "x", "x-mdx": "y", "metadata": {"nmae": "z"}});
        let found = of_package(&package);
        assert_eq!(found[0].field(0), "metadata.nmae");
        assert_eq!(found.len(), 1);
    }
}
