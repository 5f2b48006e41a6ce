//! What `helm template` prints, as objects: each with the template it came from.
//!
//! What means one thing to Helm and another to `opm` is put into opm's words here: a chart's
//! hooks are marked as such, and what Helm keeps, `opm` keeps.

use std::borrow::Cow;

use opm_core::hook;
use opm_core::labels::{MANAGED_BY, MANAGED_BY_OPM, PRUNE};
use opm_core::manifest::Manifest;
use serde_json::{Map, Value};

use super::{ChartError, RenderedChart};
use crate::lint::Lint;
use crate::manifests::flat;
use crate::yaml::{self, MemoryBudget, Word};
use crate::zarf::Markers;

const SOURCE: &str = "# Source: ";
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// The objects in what `helm template` printed for the chart that the user calls `shown`.
pub(super) fn read(
    text: &str,
    shown: &str,
    markers: Option<&Markers>,
    memory: &mut MemoryBudget,
) -> Result<RenderedChart, ChartError> {
    let text = markers.map_or(Cow::Borrowed(text), |with| with.readable(text));
    let mut rendered = RenderedChart {
        manifests: Vec::new(),
        words: Vec::new(),
        fetched: None,
    };
    for Printed { source, text } in printed(&text) {
        let place = place(source, shown);
        let documents = yaml::documents_within(text, memory);
        let documents = documents.map_err(|source| ChartError::Yaml {
            place: place.clone(),
            source,
        })?;
        for mut document in documents {
            if let Some(markers) = markers {
                let applied = markers.apply(&mut document.value);
                applied.map_err(|source| ChartError::Marker {
                    place: place.clone(),
                    source,
                })?;
            }
            let lint = |word: Word| Lint::OldBoolean {
                place: place.clone(),
                word: word.word,
                value: word.value,
                is_key: word.is_key,
            };
            rendered.words.extend(document.words.into_iter().map(lint));
            for value in flat(document.value) {
                let manifest = Manifest::parse(in_our_words(value));
                let manifest = manifest.map_err(|source| ChartError::Manifest {
                    place: place.clone(),
                    source,
                })?;
                rendered.manifests.push(manifest.from_template(source));
            }
        }
    }
    Ok(rendered)
}

/// A part of the output that came from one template.
struct Printed<'a> {
    /// As `helm` names it: the chart's name, then the path in it.
    source: &'a str,
    text: &'a str,
}

/// Cuts the output where a document says where it came from. What stands before the first such
/// place is empty.
fn printed(text: &str) -> Vec<Printed<'_>> {
    let mut parts: Vec<Printed<'_>> = Vec::new();
    let marker = format!("---\n{SOURCE}");
    let mut starts: Vec<usize> = text
        .match_indices(&marker)
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'))
        .collect();
    starts.push(text.len());
    for pair in starts.windows(2) {
        let part = &text[pair[0]..pair[1]];
        let source = part[marker.len()..].lines().next().unwrap_or_default();
        parts.push(Printed {
            source: source.trim(),
            text: part,
        });
    }
    if starts.len() == 1 {
        parts.push(Printed { source: "", text });
    }
    parts
}

/// The user's file behind what `helm` calls a template: it names the chart, not its directory.
pub(super) fn place(source: &str, shown: &str) -> String {
    match source.split_once('/') {
        Some((_, path)) => format!("{shown}/{path}"),
        None => shown.to_owned(),
    }
}

/// An object of a chart as `opm` has it.
fn in_our_words(mut value: Value) -> Value {
    let Some(Value::Object(metadata)) = value.get_mut("metadata") else {
        return value;
    };
    if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
        // Every object of a chart says so, and none of them is Helm's.
        if labels.get(MANAGED_BY).is_some_and(|by| by == "Helm") {
            labels.insert(MANAGED_BY.to_owned(), MANAGED_BY_OPM.into());
        }
    }
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        if keeps(annotations) && !annotations.contains_key(PRUNE) {
            annotations.insert(PRUNE.to_owned(), "false".into());
        }
        if annotations.contains_key(hook::HELM_HOOK) {
            annotations.insert(hook::MARKER.to_owned(), "helm".into());
        }
    }
    value
}

fn keeps(annotations: &Map<String, Value>) -> bool {
    let policy = annotations.get(RESOURCE_POLICY).and_then(Value::as_str);
    policy.is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Vec<Manifest> {
        let mut memory = MemoryBudget::default();
        read(text, "charts/pg", None, &mut memory)
            .unwrap()
            .manifests
    }

    #[test]
    fn every_object_knows_its_template() {
        let text = "---\n# Source: pg/crds/a.yaml\n# hello\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
                    apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n\n---\n# Source: pg/templates/c.yaml\n\
                    apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  text: |\n    ---\n    # Source: no\n\
                    ---\n# Source: pg/charts/sub/templates/empty.yaml\n# nothing\n";
        let objects = read_all(text);
        let seen: Vec<(&str, Option<&str>)> = objects
            .iter()
            .map(|one| (one.identity().name.as_str(), one.template()))
            .collect();
        assert_eq!(
            seen,
            [
                ("a", Some("pg/crds/a.yaml")),
                ("b", Some("pg/crds/a.yaml")),
                ("c", Some("pg/templates/c.yaml"))
            ]
        );
        assert!(read_all("").is_empty());
    }

    #[test]
    fn what_helm_says_is_said_in_our_words() {
        let object = |metadata: &str| {
            let text = format!(
                "---\n# Source: pg/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, {metadata}}}\n"
            );
            read_all(&text).remove(0)
        };
        let kept = object("annotations: {helm.sh/resource-policy: keep}");
        assert_eq!(kept.annotation(PRUNE), Some("false"));
        let said =
            object("annotations: {helm.sh/resource-policy: keep, opmodel.dev/prune: 'true'}");
        assert_eq!(said.annotation(PRUNE), Some("true"));
        let hook = object("annotations: {helm.sh/hook: pre-install}");
        assert_eq!(hook.annotation(hook::MARKER), Some("helm"));
        let plain = object("labels: {app.kubernetes.io/managed-by: Helm}");
        assert_eq!(plain.label(MANAGED_BY), Some(MANAGED_BY_OPM));
        assert_eq!(plain.annotation(PRUNE), None);
        let other = object("labels: {app.kubernetes.io/managed-by: me}");
        assert_eq!(other.label(MANAGED_BY), Some("me"));
    }

    #[test]
    fn errors_name_the_users_file() {
        assert_eq!(
            place("pg/templates/a.yaml", "mod/pg-chart"),
            "mod/pg-chart/templates/a.yaml"
        );
        let mut memory = MemoryBudget::default();
        let text = "---\n# Source: pg/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\n";
        let error = read(text, "charts/pg", None, &mut memory)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("charts/pg/templates/a.yaml: "), "{error}");
    }
}
