//! Objects and modules as the plan means them.

use opm_core::hook::{HELM_HOOK, MARKER};
use opm_core::manifest::Manifest;
use opm_core::name::{ComponentName, ModuleName, ModulePath, NamespaceName, ReleaseName};
use opm_core::rendered::{Component, Module, Rendered};
use serde_json::{Value, json};

use crate::ledger::record_name;
use crate::plan::{HookPlan, Kind, ModulePlan, ObjectPlan, Optional, RECORD_OF_BETA, ReleaseIndex};

/// The namespace of all releases.
pub(crate) const HOME: &str = "default";
/// The other namespace that modules render into.
pub(crate) const ELSEWHERE: &str = "kube-public";
/// The namespace that modules may bring along.
pub(crate) const INSIDE: &str = "n0";
/// What the only Helm release is called.
pub(crate) const HELM_RELEASE: &str = "chart";
/// The group of what the definition defines.
pub(crate) const WIDGETS: &str = "example.com";

impl Kind {
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret | Self::Claim => "v1",
            Self::Deployment => "apps/v1",
            Self::ClusterRole => "rbac.authorization.k8s.io/v1",
            Self::Job => "batch/v1",
            Self::Volume | Self::Namespace => "v1",
            Self::Definition => "apiextensions.k8s.io/v1",
            Self::Widget => "example.com/v1",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::Deployment => "Deployment",
            Self::Claim => "PersistentVolumeClaim",
            Self::ClusterRole => "ClusterRole",
            Self::Job => "Job",
            Self::Volume => "PersistentVolume",
            Self::Namespace => "Namespace",
            Self::Definition => "CustomResourceDefinition",
            Self::Widget => "Widget",
        }
    }

    /// The plural in URLs.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
            Self::Deployment => "deployments",
            Self::Claim => "persistentvolumeclaims",
            Self::ClusterRole => "clusterroles",
            Self::Job => "jobs",
            Self::Volume => "persistentvolumes",
            Self::Namespace => "namespaces",
            Self::Definition => "customresourcedefinitions",
            Self::Widget => "widgets",
        }
    }

    /// The kind of what is at a URL, if modules render it.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let resource = resource(path)?;
        let plural = match resource[..] {
            ["namespaces", _, plural, ..] | [plural, ..] => plural,
            [] => return None,
        };
        Self::ALL.into_iter().find(|kind| kind.plural() == plural)
    }
}

/// The parts of a URL behind the API's version.
fn resource(path: &str) -> Option<Vec<&str>> {
    let mut parts = path.split('/').skip(1);
    let resource = match parts.next() {
        Some("api") => parts.skip(1),
        Some("apis") => parts.skip(2),
        _ => return None,
    };
    Some(resource.collect())
}

/// Whether a URL is that of one object that is no record.
pub(crate) fn names_an_object(path: &str) -> bool {
    let resource = resource(path).unwrap_or_default();
    match resource[..] {
        ["namespaces", _, _, name] => !name.starts_with("opm."),
        ["namespaces", _, _] => false,
        [_, name] => !name.starts_with("opm."),
        _ => false,
    }
}

impl ObjectPlan {
    pub(crate) fn object_name(&self) -> String {
        match (self.kind, self.name) {
            (Kind::Definition, _) => format!("widgets.{WIDGETS}"),
            (_, RECORD_OF_BETA) => record_name(ReleaseIndex(1)).to_owned(),
            (_, name) => format!("n{name}"),
        }
    }

    pub(crate) fn namespace(&self) -> Option<&'static str> {
        match (self.housed, self.elsewhere) {
            _ if self.kind.is_cluster_wide() => None,
            (true, _) => Some(INSIDE),
            (false, true) => Some(ELSEWHERE),
            (false, false) => Some(HOME),
        }
    }

    pub(crate) fn is_in(&self, namespace: &str) -> bool {
        self.namespace() == Some(namespace)
    }

    /// The object that a URL names, as somebody else would make it.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let (_, name) = path.rsplit_once("/n")?;
        Some(Self {
            kind: Kind::at(path)?,
            name: name.parse().ok()?,
            elsewhere: path.contains(&format!("/{ELSEWHERE}/")),
            housed: path.contains(&format!("/{INSIDE}/")),
            value: 7,
            stays: false,
            shared: false,
            hook: None,
        })
    }

    /// The URL of all objects beside it.
    pub(crate) fn collection(&self) -> String {
        let version = self.kind.api_version();
        let root = if version == "v1" { "api" } else { "apis" };
        let plural = self.kind.plural();
        match self.namespace() {
            Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{plural}"),
            None => format!("/{root}/{version}/{plural}"),
        }
    }

    /// Its own URL.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.object_name())
    }

    /// The part of it that says `value`.
    pub(crate) fn content(&self, value: u8) -> Value {
        let text = format!("value-{value}");
        match self.kind {
            Kind::ConfigMap => json!({"data": {"text": text}}),
            Kind::Secret => json!({"stringData": {"text": text}}),
            Kind::Deployment => json!({"spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": self.object_name()}},
                "template": {
                    "metadata": {"labels": {"app": self.object_name()}},
                    "spec": {"containers": [{"name": "main", "image": text}]},
                },
            }}),
            Kind::Claim => json!({"spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": if value > 2 { "fast" } else { "slow" },
            }}),
            Kind::Job => json!({"spec": {"template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": text}],
            }}}}),
            Kind::ClusterRole => json!({"rules": [
                {"apiGroups": [""], "resources": [text], "verbs": ["get"]},
            ]}),
            Kind::Volume => json!({"spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": "/data"},
                "mountOptions": [text],
                "storageClassName": "none",
            }}),
            Kind::Namespace => json!({"metadata": {"annotations": {"example.com/text": text}}}),
            Kind::Definition => json!({"spec": {
                "group": WIDGETS,
                "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {
                        "description": text, "type": "object",
                        "x-kubernetes-preserve-unknown-fields": true,
                    }},
                }],
            }}),
            Kind::Widget => json!({"spec": {"text": text}}),
        }
    }

    /// The part of it that says `value`, as the server stores it.
    pub(crate) fn stored_content(&self) -> Value {
        use base64::Engine as _;
        match self.kind {
            Kind::Secret => {
                let text = format!("value-{}", self.value);
                let text = base64::prelude::BASE64_STANDARD.encode(text);
                json!({"data": {"text": text}})
            }
            _ => self.content(self.value),
        }
    }

    pub(crate) fn manifest(&self) -> Value {
        let mut object = self.content(self.value);
        let mut metadata = object["metadata"].take();
        metadata["name"] = json!(self.object_name());
        if let Some(namespace) = self.namespace() {
            metadata["namespace"] = json!(namespace);
        }
        if self.stays {
            metadata["annotations"]["opmodel.dev/prune"] = json!("false");
        }
        if self.shared {
            metadata["annotations"]["opmodel.dev/shared"] = json!("true");
        }
        if let Some(hook) = self.hook {
            let (events, policy) = hook.words();
            metadata["annotations"][MARKER] = json!("helm");
            metadata["annotations"][HELM_HOOK] = json!(events);
            metadata["annotations"]["helm.sh/hook-delete-policy"] = json!(policy);
        }
        if self.hook == Some(HookPlan::Failing) {
            metadata["annotations"]["sandbox.opmodel.dev/simulate"] = json!("fail");
        }
        object["apiVersion"] = json!(self.kind.api_version());
        object["kind"] = json!(self.kind.word());
        object["metadata"] = metadata;
        object
    }
}

impl HookPlan {
    /// When a chart says that it runs, and whether it goes.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Before => ("pre-install,pre-upgrade,pre-rollback", ""),
            Self::After => ("post-install,post-upgrade,post-rollback", ""),
            Self::Leaving => ("pre-delete,post-delete", ""),
            Self::Passing => ("post-install,post-upgrade", "hook-succeeded"),
            Self::Failing => ("post-install,post-upgrade", "hook-failed"),
            Self::Test => ("test", "hook-succeeded"),
        }
    }
}

impl ObjectPlan {
    /// An object of that name that says as little as it can.
    pub(crate) fn bare(&self) -> Value {
        let mut object = self.manifest();
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|key, _| !["data", "stringData", "rules"].contains(&key.as_str()));
        }
        object
    }
}

pub(crate) fn release_name(release: ReleaseIndex) -> ReleaseName {
    ReleaseName::new(release.name()).expect("a valid name")
}

pub(crate) fn home() -> NamespaceName {
    NamespaceName::new(HOME).expect("a valid name")
}

pub(crate) fn module_path(release: ReleaseIndex) -> ModulePath {
    ModulePath::local(&ModuleName::new(release.name()).expect("a valid name"))
}

/// The component that every second object is in.
pub(crate) fn second_component() -> ComponentName {
    ComponentName::new("second").expect("a valid name")
}

impl ModulePlan {
    /// Which optional components an apply selects, if it says so.
    pub(crate) fn selection(&self) -> Option<Vec<ComponentName>> {
        let selected = match self.optional {
            Optional::No | Optional::Unsaid => return None,
            Optional::Selected => true,
            Optional::LeftOut => false,
        };
        let second = selected.then(second_component);
        Some(second.into_iter().collect())
    }

    pub(crate) fn rendered(&self, release: ReleaseIndex) -> Rendered {
        let component = |name: ComponentName, every: usize| {
            Component::new(
                name,
                self.objects
                    .iter()
                    .skip(every)
                    .step_by(2)
                    .map(|object| Manifest::parse(object.manifest()).expect("a valid object"))
                    .collect(),
            )
        };
        let first = ComponentName::new("first").expect("a valid name");
        let mut components = vec![component(first, 0), component(second_component(), 1)];
        if self.in_order {
            components[1].after = vec![components[0].name.clone()];
        }
        components[1].optional = self.optional != Optional::No;
        let values = match self.bulk {
            0 => "{}\n".to_owned(),
            bytes => format!("{{\n\tbulk: \"{}\"\n}}\n", noise(bytes)),
        };
        let module = Module {
            path: module_path(release),
            ..Module::local(ModuleName::new(release.name()).expect("a valid name"))
        };
        Rendered {
            values,
            ..Rendered::new(module, components)
        }
    }
}

/// Text that does not compress well.
fn noise(bytes: usize) -> String {
    let mut rng = fastrand::Rng::with_seed(bytes as u64);
    (0..bytes).map(|_| rng.alphanumeric()).collect()
}
