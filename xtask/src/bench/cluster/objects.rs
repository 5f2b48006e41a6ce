//! What is deployed, in the form that each client reads.
//!
//! Every client gets the same objects. They are made by a rule, so that every run has the same.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use opm_render::yaml;
use serde_json::{Value, json};

use super::matrix::Shape;

/// How many objects stand in one file.
const IN_A_FILE: usize = 50;

/// The state of a module in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    First,
    /// As the first, but for one object.
    OneChanged,
    /// Every object changed, and a tenth of them gone.
    Upgraded,
}

impl Version {
    pub(super) const ALL: [Self; 3] = [Self::First, Self::OneChanged, Self::Upgraded];

    fn directory(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::OneChanged => "one-changed",
            Self::Upgraded => "upgraded",
        }
    }
}

/// Where the module, the chart and the plain files of a workload are.
#[derive(Debug, Clone)]
pub(super) struct Files {
    root: PathBuf,
}

impl Files {
    /// Writes all versions of a workload.
    pub(super) fn write(root: &Path, shape: Shape) -> Result<Self, Box<dyn Error>> {
        let files = Self {
            root: root.to_owned(),
        };
        for version in Version::ALL {
            files.write_version(version, &objects(shape, version))?;
        }
        Ok(files)
    }

    /// Writes one release of many: a ConfigMap with a name of its own.
    pub(super) fn write_release(root: &Path, n: usize) -> Result<Self, Box<dyn Error>> {
        let files = Self {
            root: root.to_owned(),
        };
        files.write_version(Version::First, &[config_map(n, 1)])?;
        Ok(files)
    }

    fn write_version(&self, version: Version, objects: &[Value]) -> Result<(), Box<dyn Error>> {
        let places = [
            self.module(version).join("manifests"),
            self.chart(version).join("templates"),
            self.plain(version),
        ];
        for place in &places {
            fs::create_dir_all(place)?;
        }
        for (n, part) in objects.chunks(IN_A_FILE).enumerate() {
            let text = yaml::write(part)?;
            for place in &places {
                fs::write(place.join(format!("objects-{n:03}.yaml")), &text)?;
            }
        }
        let module = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata:\n  name: bench\n  \
             path: example.com/bench@v0\ncomponents:\n  - name: all\n    manifests: [manifests]\n";
        fs::write(self.module(version).join("module.yaml"), module)?;
        let chart = "apiVersion: v2\nname: bench\nversion: 0.1.0\n";
        Ok(fs::write(self.chart(version).join("Chart.yaml"), chart)?)
    }

    pub(super) fn module(&self, version: Version) -> PathBuf {
        self.root.join("module").join(version.directory())
    }

    pub(super) fn chart(&self, version: Version) -> PathBuf {
        self.root.join("chart").join(version.directory())
    }

    pub(super) fn plain(&self, version: Version) -> PathBuf {
        self.root.join("plain").join(version.directory())
    }
}

/// The objects of a workload.
pub(super) fn objects(shape: Shape, version: Version) -> Vec<Value> {
    let revision = |n: usize, of: usize| match version {
        Version::First => 1,
        Version::OneChanged => 1 + usize::from(n == of / 2),
        Version::Upgraded => 3,
    };
    let kept = |n: usize| match version {
        Version::Upgraded => n - n.div_ceil(10),
        _ => n,
    };
    match shape {
        Shape::ConfigMaps(n) => (0..kept(n))
            .map(|i| config_map(i, revision(i, n)))
            .collect(),
        Shape::Mixed => {
            let services = 10;
            let parts = (0..kept(services)).flat_map(|i| service(i, revision(i, services)));
            parts.chain([ingress(kept(services))]).collect()
        }
        Shape::Releases(n) => (0..n).map(|i| config_map(i, 1)).collect(),
    }
}

fn config_map(n: usize, revision: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": format!("settings-{n:05}"), "labels": { "app": "bench" } },
        "data": { "revision": revision.to_string(), "settings.properties": text(n) },
    })
}

/// About a kilobyte that is not the same twice.
fn text(seed: usize) -> String {
    let line = |i: usize| {
        format!(
            "setting.{i:02}.of.{seed:05}=value-{:08x}\n",
            hash(seed * 64 + i)
        )
    };
    (0..26).map(line).collect()
}

fn hash(n: usize) -> u32 {
    (n as u32).wrapping_mul(2_654_435_761).rotate_left(13) ^ 0x9e37_79b9
}

/// What a service of an application consists of. Its first change touches the settings alone.
fn service(n: usize, revision: usize) -> Vec<Value> {
    let name = format!("service-{n:02}");
    let labels = json!({ "app": name });
    let metadata = json!({ "name": name, "labels": { "app": name } });
    let changed = |value: Value| {
        let mut metadata = value;
        if revision > 2 {
            metadata["annotations"] = json!({ "example.com/revision": revision.to_string() });
        }
        metadata
    };
    vec![
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": changed(metadata.clone()) }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": changed(metadata.clone()),
            "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "watch"] }],
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": changed(metadata.clone()),
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name }],
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": changed(metadata.clone()),
            "type": "Opaque", "data": { "password": "bm90IGEgc2VjcmV0" },
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
            "data": { "revision": revision.to_string(), "settings.properties": text(n) },
        }),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": changed(metadata.clone()),
            "spec": { "selector": labels, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] },
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": changed(metadata),
            "spec": {
                "replicas": 1,
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": {
                        "serviceAccountName": name,
                        "containers": [{
                            "name": "main", "image": "registry.example.com/main:1",
                            "envFrom": [{ "configMapRef": { "name": name } }, { "secretRef": { "name": name } }],
                            "ports": [{ "name": "http", "containerPort": 8080 }],
                            "resources": { "requests": { "cpu": "10m", "memory": "16Mi" } },
                            "readinessProbe": { "httpGet": { "path": "/ready", "port": "http" } },
                        }],
                    },
                },
            },
        }),
    ]
}

fn ingress(services: usize) -> Value {
    let path = |n: usize| {
        json!({
            "path": format!("/{n}"), "pathType": "Prefix",
            "backend": { "service": { "name": format!("service-{n:02}"), "port": { "number": 80 } } },
        })
    };
    let paths: Vec<Value> = (0..services).map(path).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": { "name": "front", "labels": { "app": "front" } },
        "spec": { "rules": [{ "host": "bench.example.com", "http": { "paths": paths } }] },
    })
}
