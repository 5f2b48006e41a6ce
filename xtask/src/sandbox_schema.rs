//! `cargo xtask sandbox-schema`: writes the tables that the sandbox is built on, from a real
//! API server's own documents and from the Go types behind its built-in kinds.
//!
//! The documents come from a directory (laid out as in the Kubernetes repository: `openapi-spec/v3`
//! and `discovery`) or, with `--kubectl` and `--kubeconfig`, from a running server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a document that is not what it should be ends the chore"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

const GROUP_VERSIONS: &[&str] = &[
    "v1",
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "networking.k8s.io/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
];

enum Source {
    Directory(PathBuf),
    Server { kubectl: String, kubeconfig: String },
}

impl Source {
    fn openapi(&self, gv: &str) -> Value {
        match self {
            Source::Directory(dir) => {
                let file = format!("{}_openapi.json", file_stem(gv));
                read_json(&dir.join("openapi-spec/v3").join(file))
            }
            Source::Server { .. } => self.get(&format!("/openapi/v3/{}", url_path(gv))),
        }
    }

    fn resources(&self, gv: &str) -> Value {
        match self {
            Source::Directory(dir) => read_json(
                &dir.join("discovery")
                    .join(format!("{}.json", file_stem(gv))),
            ),
            Source::Server { .. } => self.get(&format!("/{}", url_path(gv))),
        }
    }

    fn get(&self, path: &str) -> Value {
        let Source::Server {
            kubectl,
            kubeconfig,
        } = self
        else {
            unreachable!()
        };
        let output = Command::new(kubectl)
            .args(["--kubeconfig", kubeconfig, "get", "--raw", path])
            .output()
            .expect("failed to run kubectl");
        assert!(output.status.success(), "kubectl get --raw {path} failed");
        serde_json::from_slice(&output.stdout).expect("not JSON")
    }
}

fn url_path(gv: &str) -> String {
    if gv.contains('/') {
        format!("apis/{gv}")
    } else {
        format!("api/{gv}")
    }
}

fn file_stem(gv: &str) -> String {
    url_path(gv).replace('/', "__")
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Writes the sandbox's tables of types and resources from a real server's documents.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory with `openapi-spec/v3` and `discovery`, as in the Kubernetes repository.
    #[arg(long, required_unless_present = "kubeconfig")]
    dir: Option<PathBuf>,
    /// The kubectl to ask a running server with.
    #[arg(long, default_value = "kubectl")]
    kubectl: String,
    /// The kubeconfig of a running server.
    #[arg(long)]
    kubeconfig: Option<String>,
}

pub(crate) fn run(args: &Args) -> crate::Outcome {
    let source = match (&args.dir, &args.kubeconfig) {
        (Some(dir), _) => Source::Directory(dir.clone()),
        (None, Some(kubeconfig)) => Source::Server {
            kubectl: args.kubectl.clone(),
            kubeconfig: kubeconfig.clone(),
        },
        (None, None) => return Err("give --dir or --kubeconfig".into()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = root.join("../crates/opm-sandbox/data");
    fs::create_dir_all(&out).expect("cannot create the data directory");

    let flags = zero_flags(&root.join("sandbox-types"));
    let mut types = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    let mut groups = Vec::new();
    for gv in GROUP_VERSIONS {
        let document = source.openapi(gv);
        let schemas = document["components"]["schemas"]
            .as_object()
            .expect("no schemas");
        for (name, schema) in schemas {
            for gvk in schema["x-kubernetes-group-version-kind"]
                .as_array()
                .into_iter()
                .flatten()
            {
                if let Some(key) = kind_key(gvk) {
                    kinds.insert(key, json!(name));
                }
            }
            types
                .entry(name.clone())
                .or_insert_with(|| named_type(name, schema, &flags));
        }
        let mut list = source.resources(gv);
        list["resources"]
            .as_array_mut()
            .expect("no resources")
            .sort_by_key(|r| r["name"].to_string());
        groups.push(list);
    }
    kinds.retain(|_, name| !is_list(&types[name.as_str().unwrap()]));
    write_lines(&out.join("schema.json"), &kinds, &types);
    let text = serde_json::to_string_pretty(&groups).expect("serializable");
    fs::write(out.join("resources.json"), text + "\n")?;
    Ok(())
}

/// Only kinds of the served group-versions that are single objects.
fn kind_key(gvk: &Value) -> Option<String> {
    let (group, version) = (gvk["group"].as_str()?, gvk["version"].as_str()?);
    let gv = if group.is_empty() {
        version.to_string()
    } else {
        format!("{group}/{version}")
    };
    let kind = gvk["kind"].as_str()?;
    let served = GROUP_VERSIONS.contains(&gv.as_str());
    (served && !matches!(kind, "DeleteOptions" | "WatchEvent" | "Status"))
        .then(|| format!("{gv}/{kind}"))
}

fn is_list(named: &Value) -> bool {
    named["fields"]["items"].is_array()
        && named["fields"]["metadata"][0] == "#io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
}

fn zero_flags(program: &Path) -> Value {
    let output = Command::new("go")
        .args(["run", "."])
        .current_dir(program)
        .output()
        .expect("failed to run go");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("not JSON")
}

fn named_type(name: &str, schema: &Value, flags: &Value) -> Value {
    match name {
        "io.k8s.apimachinery.pkg.api.resource.Quantity" => json!("quantity"),
        "io.k8s.apimachinery.pkg.runtime.RawExtension" => json!("atomic"),
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => json!("int-or-string"),
        _ => with_required(name, schema, reference(schema, &flags[name])),
    }
}

/// Fields that the documents call required and the server takes without: it fills them in, or zero
/// is as good as any value.
const FILLED_IN: &[(&str, &str)] = &[
    ("io.k8s.api.apps.v1.ControllerRevision", "revision"),
    ("io.k8s.api.core.v1.Event", "metadata"),
    ("io.k8s.api.core.v1.HTTPHeader", "value"),
    ("io.k8s.api.core.v1.ISCSIPersistentVolumeSource", "lun"),
    ("io.k8s.api.core.v1.ISCSIVolumeSource", "lun"),
    ("io.k8s.api.core.v1.LimitRangeSpec", "limits"),
    ("io.k8s.api.core.v1.SleepAction", "seconds"),
    ("io.k8s.api.core.v1.Sysctl", "value"),
    ("io.k8s.api.discovery.v1.EndpointSlice", "endpoints"),
    ("io.k8s.api.events.v1.Event", "eventTime"),
    ("io.k8s.api.rbac.v1.RoleRef", "apiGroup"),
    ("io.k8s.api.scheduling.v1.PriorityClass", "value"),
    ("io.k8s.api.storage.v1.CSINodeSpec", "drivers"),
    ("io.k8s.api.storage.v1.TokenRequest", "audience"),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion",
        "served",
    ),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion",
        "storage",
    ),
];

/// The type, with the fields that an object is refused without.
fn with_required(name: &str, schema: &Value, mut named: Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter(|field| {
        let filled_in = |(of, one): &(&str, &str)| *of == name && field.as_str() == Some(*one);
        !FILLED_IN.iter().any(filled_in)
    });
    let required: Vec<Value> = required.cloned().collect();
    if !required.is_empty() && named.get("fields").is_some() {
        named["required"] = json!(required);
    }
    named
}

/// The compact form of a type; the sandbox's `apply::schema` reads it.
fn reference(schema: &Value, flags: &Value) -> Value {
    if let Some(target) = ref_target(schema) {
        let named = format!("#{target}");
        return match schema["x-kubernetes-map-type"].as_str() {
            Some(kind) => json!({"ref": named, "atomic": kind == "atomic"}),
            None => json!(named),
        };
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, flags),
        Some("array") => list(schema),
        Some("integer") => json!("integer"),
        Some("number") => json!("number"),
        Some("boolean") => json!("boolean"),
        Some("string") => json!(match schema["format"].as_str() {
            None => "string",
            Some("byte") => "byte",
            Some("date-time") => "time",
            Some("int-or-string") => "int-or-string",
            Some(_) => "untyped",
        }),
        _ => json!("any"),
    }
}

fn ref_target(schema: &Value) -> Option<&str> {
    let direct = schema["$ref"].as_str();
    let single = schema["allOf"].as_array().filter(|a| a.len() == 1);
    let target = direct.or_else(|| single.and_then(|a| a[0]["$ref"].as_str()))?;
    target.rsplit('/').next()
}

fn object(schema: &Value, flags: &Value) -> Value {
    let atomic = schema["x-kubernetes-map-type"] == "atomic";
    let mut out = Map::new();
    if atomic {
        out.insert("atomic".into(), json!(true));
    }
    let Some(properties) = schema["properties"].as_object() else {
        let element = schema.get("additionalProperties").filter(|v| v.is_object());
        out.insert(
            "map".into(),
            element.map_or(json!("any"), |e| reference(e, &Value::Null)),
        );
        return Value::Object(out);
    };
    let fields = properties.iter().map(|(name, property)| {
        let mut field = vec![
            reference(property, &Value::Null),
            flags.get(name).cloned().unwrap_or(json!("p")),
        ];
        if let Some(default) = property.get("default").filter(|d| !d.is_object()) {
            field.push(default.clone());
        }
        (name.clone(), Value::Array(field))
    });
    out.insert("fields".into(), Value::Object(fields.collect()));
    Value::Object(out)
}

fn list(schema: &Value) -> Value {
    let element = reference(&schema["items"], &Value::Null);
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => json!({"list": element, "set": true}),
        Some("map") => json!({"list": element, "keys": schema["x-kubernetes-list-map-keys"]}),
        Some(_) => json!({"list": element}),
        None => match (
            schema["x-kubernetes-patch-strategy"].as_str(),
            schema["x-kubernetes-patch-merge-key"].as_str(),
        ) {
            (Some(s), Some(key)) if s.contains("merge") => json!({"list": element, "keys": [key]}),
            (Some(s), None) if s.contains("merge") => json!({"list": element, "set": true}),
            _ => json!({"list": element}),
        },
    }
}

/// One type per line, so that a change of Kubernetes version reads as a diff.
fn write_lines(path: &Path, kinds: &BTreeMap<String, Value>, types: &BTreeMap<String, Value>) {
    let lines = |entries: &BTreeMap<String, Value>| {
        let all: Vec<_> = entries
            .iter()
            .map(|(k, v)| format!("{}:{v}", json!(k)))
            .collect();
        all.join(",\n")
    };
    let text = format!(
        "{{\"kinds\":{{\n{}\n}},\n\"types\":{{\n{}\n}}}}\n",
        lines(kinds),
        lines(types)
    );
    fs::write(path, text).expect("cannot write the table");
}
