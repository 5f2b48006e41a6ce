//! `opm mod rbac`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use opm_core::candidate::Candidate;
use opm_core::rights::{PermittedWork, Plurals, ResourceRule, least};
use opm_sandbox::{ApiTypes, KubernetesVersion};
use serde_json::{Value, json};

use super::rendering::{self, RenderArgs, Rendering};
use crate::error::{CliError, ErrorKind, Exit};
use crate::invocation::Invocation;
use crate::ui::Format;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Print the Roles that permit work on a release, and nothing else
///
/// Renders the module and prints the fewest rules with which somebody can apply it (which prunes
/// as well), delete the release, or see its status, by the names of its objects and of the
/// release's own Secrets. No cluster is asked. A module that renders other objects, or another
/// release of it, needs other rules.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    render: RenderArgs,

    /// What is to be permitted
    #[arg(long = "for", value_name = "WORK", value_enum, default_value_t = Work::Apply)]
    work: Work,

    /// Whom to bind the Roles to: `user:NAME`, `group:NAME` or `serviceaccount:NAMESPACE/NAME`;
    /// can be repeated
    #[arg(long, value_name = "SUBJECT")]
    bind: Vec<Subject>,

    /// A directory with CustomResourceDefinitions of kinds that the module uses; can be repeated
    #[arg(long, value_name = "DIR")]
    schemas: Vec<PathBuf>,
}

/// What is to be permitted.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Work {
    Apply,
    Delete,
    Status,
    Controller,
}

impl Work {
    fn word(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Delete => "delete",
            Self::Status => "status",
            Self::Controller => "controller",
        }
    }

    fn purpose(self) -> PermittedWork {
        match self {
            Self::Apply => PermittedWork::Apply,
            Self::Delete => PermittedWork::Delete,
            Self::Status => PermittedWork::Status,
            Self::Controller => PermittedWork::Controller,
        }
    }
}

/// Somebody, as a binding names them.
#[derive(Debug, Clone)]
struct Subject(Value);

impl FromStr for Subject {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let named = |kind: &str, name: &str| {
            Ok(Self(json!({"apiGroup": RBAC, "kind": kind, "name": name})))
        };
        match given.split_once(':') {
            Some(("user", name)) if !name.is_empty() => named("User", name),
            Some(("group", name)) if !name.is_empty() => named("Group", name),
            Some(("serviceaccount", account)) => match account.split_once('/') {
                Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
                    let account =
                        json!({"kind": "ServiceAccount", "namespace": namespace, "name": name});
                    Ok(Self(account))
                }
                _ => {
                    Err("a service account is written as serviceaccount:NAMESPACE/NAME".to_owned())
                }
            },
            _ => Err("write user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME".to_owned()),
        }
    }
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let ui = &invocation.ui;
    let rendering = Rendering::prepare(&args.render, invocation)?;
    let mut types = ApiTypes::of_version(KubernetesVersion::default());
    for directory in &args.schemas {
        for definition in rendering.definitions(directory).await? {
            types.define(&definition.into_value());
        }
    }
    let candidate = rendering::candidate(rendering.load().await?, &args.render);
    let candidate = candidate.map_err(|error| rendering::refused(&error))?;
    for object in &candidate.objects {
        types.define(&Value::Object(object.manifest.object().into_owned()));
    }
    let rules = least(
        args.work.purpose(),
        &candidate,
        &plurals(&candidate, &types),
    );
    let rules = rules.map_err(|unknown| {
        let kinds: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        let message = format!("the resource names of {} are unknown", kinds.join(", "));
        CliError::new(ErrorKind::Invalid, message)
            .hint("--schemas DIR has their CustomResourceDefinitions")
    })?;
    let objects = objects(&candidate, args, &rules);
    let document = || {
        json!({
            "release": super::build::release(&candidate),
            "for": args.work.word(),
            "objects": objects,
        })
    };
    match ui.asked_format() {
        Some(Format::Json) => ui.json(&document())?,
        _ => {
            let text = opm_render::yaml::write(&objects)
                .map_err(|error| CliError::new(ErrorKind::Io, error.to_string()))?;
            ui.verbatim(&text)?;
        }
    }
    Ok(Exit::DONE)
}

fn plurals(candidate: &Candidate, types: &ApiTypes) -> Plurals {
    let hooks = candidate.hooks.iter().map(|hook| &hook.object);
    let objects = candidate.objects.iter().chain(hooks);
    let kinds = objects.map(|object| &object.manifest.identity().group_kind);
    let known =
        kinds.filter_map(|kind| Some((kind.clone(), types.plural(&kind.group, &kind.kind)?)));
    known.collect()
}

/// A Role for each namespace and a ClusterRole, as far as they have rules, and their bindings.
fn objects(candidate: &Candidate, args: &Args, rules: &[ResourceRule]) -> Vec<Value> {
    let owner = &candidate.owner;
    let mut by_namespace: BTreeMap<Option<&str>, Vec<Value>> = BTreeMap::new();
    for rule in rules {
        let place = by_namespace.entry(rule.namespace.as_deref()).or_default();
        place.push(rule.to_json());
    }
    let mut objects = Vec::new();
    for (namespace, rules) in by_namespace {
        let (kind, name) = match namespace {
            Some(_) => (
                "Role",
                format!("opm-{}-{}", owner.release, args.work.word()),
            ),
            // The whole cluster sees it: releases of one name may be in several namespaces.
            None => {
                let name = format!(
                    "opm-{}-{}-{}",
                    owner.namespace,
                    owner.release,
                    args.work.word()
                );
                ("ClusterRole", name)
            }
        };
        let mut metadata = json!({"name": name});
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        let version = format!("{RBAC}/v1");
        objects.push(
            json!({"apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules}),
        );
        if !args.bind.is_empty() {
            let subjects: Vec<&Value> = args.bind.iter().map(|subject| &subject.0).collect();
            objects.push(json!({
                "apiVersion": version,
                "kind": format!("{kind}Binding"),
                "metadata": metadata,
                "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
                "subjects": subjects,
            }));
        }
    }
    objects
}
