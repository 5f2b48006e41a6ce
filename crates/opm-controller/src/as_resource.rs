//! A release that somebody would apply, as the resource that asks for the same.

use std::collections::BTreeMap;

use opm_core::time::duration_words;
use opm_engine::request::{Adopt, ApplyOptions, ApplyRequest};
use serde_json::{Map, Value, json};

/// Where the module of a resource comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilesSource {
    /// A CUE module in a registry.
    Reference(String),
    /// Files, which an object of this name gets.
    Files {
        /// The object's name.
        name: String,
        /// The files by name.
        files: BTreeMap<String, String>,
        /// Whether they hold what only a Secret should; else it is a ConfigMap.
        secret: bool,
    },
}

/// The objects that ask a controller for what a request asks the engine for: the one that holds
/// the files, if there are any, and the resource. Only what is not the default is said.
pub fn resource_of(
    request: &ApplyRequest,
    source: &FilesSource,
    values: Option<Value>,
) -> Vec<Value> {
    let (name, namespace) = (request.name.as_str(), request.namespace.as_str());
    let mut objects = Vec::new();
    let module = match source {
        FilesSource::Reference(reference) => json!({ "reference": reference }),
        FilesSource::Files {
            name,
            files,
            secret,
        } => {
            let (kind, data, key) = match secret {
                true => ("Secret", "stringData", "secret"),
                false => ("ConfigMap", "data", "configMap"),
            };
            let mut object = json!({"apiVersion": "v1", "kind": kind,
                "metadata": {"name": name, "namespace": namespace}});
            object[data] = json!(files);
            objects.push(object);
            json!({ key: {"name": name} })
        }
    };
    let mut spec = Map::from_iter([("module".to_owned(), module)]);
    let values = values.map(|values| ("values".to_owned(), values));
    spec.extend(values);
    spec.extend(said(request));
    objects.push(
        json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "ModuleRelease",
        "metadata": {"name": name, "namespace": namespace}, "spec": spec}),
    );
    objects
}

fn said(request: &ApplyRequest) -> Map<String, Value> {
    let (options, usual) = (&request.options, ApplyOptions::default());
    let mut spec = Map::new();
    let mut say = |key: &str, value: Value| spec.insert(key.to_owned(), value);
    if let Some(selection) = &request.selection {
        let names: Vec<&str> = selection.iter().map(|name| name.as_str()).collect();
        say("components", json!(names));
    }
    if options.no_prune {
        say("prune", json!(false));
    }
    if request.atomic {
        say("atomic", json!(true));
    } else if options.wait {
        say("wait", json!(true));
    }
    if options.timeout != usual.timeout {
        say("timeout", json!(duration_words(options.timeout)));
    }
    if options.max_history != usual.max_history {
        say("maxHistory", json!(options.max_history));
    }
    if options.force_conflicts {
        say("forceConflicts", json!(true));
    }
    match &options.adopt {
        Adopt::None => {}
        Adopt::All => {
            say("adopt", json!(["*"]));
        }
        Adopt::Named(named) => {
            let named: Vec<String> = named.iter().map(ToString::to_string).collect();
            say("adopt", json!(named));
        }
    }
    let guards = [
        ("namespaces", options.guards.namespaces),
        ("persistentVolumeClaims", options.guards.volume_claims),
        ("persistentVolumes", options.guards.volumes),
        ("customResourceDefinitions", options.guards.crds),
    ];
    let lifted = guards.into_iter().filter(|(_, lifted)| *lifted);
    let lifted: Map<String, Value> = lifted
        .map(|(kind, _)| (kind.to_owned(), json!(true)))
        .collect();
    if !lifted.is_empty() {
        say("guards", Value::Object(lifted));
    }
    spec
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::request::apply_request;
    use crate::request::tests::rendered;
    use crate::resource::ModuleRelease;
    use opm_core::name::{ComponentName, NamespaceName, ReleaseName};

    #[test]
    fn a_resource_asks_for_what_the_request_asked_for() {
        let name = ReleaseName::new("web").unwrap();
        let namespace = NamespaceName::new("games").unwrap();
        let mut request = ApplyRequest::new(rendered(), name, namespace);
        let reference = FilesSource::Reference("example.com/web@v1.2.3".to_owned());
        let plain = resource_of(&request, &reference, None);
        assert_eq!(plain.len(), 1);
        let module = json!({"module": {"reference": "example.com/web@v1.2.3"}});
        assert_eq!(plain[0]["spec"], module, "nothing but what has to be said");

        request.selection = Some(vec![ComponentName::new("metrics").unwrap()]);
        request.atomic = true;
        request.options.wait = true;
        request.options.preflight = true;
        request.options.no_prune = true;
        request.options.timeout = Duration::from_secs(90);
        request.options.max_history = 3;
        request.options.force_conflicts = true;
        request.options.adopt = Adopt::Named(vec!["Service/web".parse().unwrap()]);
        request.options.guards.volume_claims = true;
        let source = |secret| FilesSource::Files {
            name: "web-module".to_owned(),
            files: BTreeMap::from([("a.yaml".to_owned(), "text".to_owned())]),
            secret,
        };
        let hidden = resource_of(&request, &source(true), None);
        assert_eq!(hidden[0]["kind"], "Secret");
        assert_eq!(
            hidden[1]["spec"]["module"],
            json!({"secret": {"name": "web-module"}})
        );
        let files = source(false);
        let objects = resource_of(&request, &files, Some(json!({"port": 80})));
        assert_eq!(objects[0]["data"], json!({"a.yaml": "text"}));
        assert_eq!(objects[1]["spec"]["values"], json!({"port": 80}));
        let resource: ModuleRelease = serde_json::from_value(objects[1].clone()).unwrap();
        let again = apply_request(&resource, rendered()).unwrap();
        assert!(
            again.options.quiet,
            "a controller writes nothing where nothing is to do"
        );
        request.options.quiet = true;
        assert_eq!(format!("{again:?}"), format!("{request:?}"));
    }
}
