//! Rendered modules, from YAML in strings.

use opm_core::manifest::Manifest;
use opm_core::name::{ComponentName, ModuleName, NamespaceName, ReleaseName};
use opm_core::rendered::{Component, Module, Rendered};
use opm_engine::request::{ApplyRequest, ReleaseRef};

/// A module with these components, each with its objects.
pub(crate) fn module(name: &str, components: &[(&str, &str)]) -> Rendered {
    let name = ModuleName::new(name).unwrap();
    Rendered::new(
        Module::local(name),
        components
            .iter()
            .map(|(name, yaml)| component(name, yaml))
            .collect(),
    )
}

fn component(name: &str, yaml: &str) -> Component {
    let documents = opm_render::yaml::documents(yaml).unwrap();
    let manifests = documents.into_iter();
    let manifests = manifests.map(|document| Manifest::parse(document.value).unwrap());
    Component::new(ComponentName::new(name).unwrap(), manifests.collect())
}

/// The same module, in which the second component waits for the first.
pub(crate) fn in_order(mut rendered: Rendered) -> Rendered {
    let first = rendered.components[0].name.clone();
    rendered.components[1].after = vec![first];
    rendered
}

pub(crate) fn config(name: &str, value: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: {value:?}}}\n"
    )
}

pub(crate) fn claim(name: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\n\
         spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}\n"
    )
}

/// A Deployment whose pods have this label, and to which the sandbox does this.
pub(crate) fn deployment(name: &str, label: &str, simulate: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\n\
         metadata: {{name: {name}}}\n\
         spec:\n  selector: {{matchLabels: {{app: {label}}}}}\n  template:\n    \
         metadata:\n      labels: {{app: {label}}}\n      \
         annotations: {{sandbox.opmodel.dev/simulate: {simulate:?}}}\n    \
         spec: {{containers: [{{name: main, image: example.com/main}}]}}\n"
    )
}

/// A Deployment that becomes ready.
pub(crate) fn workload(name: &str) -> String {
    deployment(name, name, "")
}

pub(crate) fn namespace(name: &str) -> NamespaceName {
    NamespaceName::new(name).unwrap()
}

/// An apply of a module as a release of its name, in a namespace that comes along.
pub(crate) fn apply(rendered: Rendered, into: &str) -> ApplyRequest {
    let name = ReleaseName::new(rendered.module.name.as_str()).unwrap();
    ApplyRequest {
        create_namespace: true,
        ..ApplyRequest::new(rendered, name, namespace(into))
    }
}

/// A release by its name.
pub(crate) fn release(name: &str) -> ReleaseRef {
    ReleaseRef::Name(ReleaseName::new(name).unwrap())
}
