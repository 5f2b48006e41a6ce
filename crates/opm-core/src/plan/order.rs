//! The order in which objects are applied, and the order in which they go.
//!
//! RFC-0001's weights are what a digest sorts by, so they never change. They leave out what the
//! objects of real modules need of one another; the table here stands on top of them, and decides
//! alone in which order objects are sent. Objects go in its reverse, with three exceptions that
//! hold across the stages of components: custom resources go first, while the controllers that
//! clean up after them still run; then what makes the API server call a workload, because its
//! calls would fail without that workload; and Namespaces go last of all.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::{ComponentOrder, Guard, StaleObject, StaleOrigin, stages};
use crate::identity::{GroupKind, Identity};
use crate::record::{Change, Record};
use crate::scope::builtin;
use crate::weight::{DEFAULT_WEIGHT, weight};

const ADMISSION: &str = "admissionregistration.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const RESOURCE: &str = "resource.k8s.io";
const STORAGE: &str = "storage.k8s.io";

/// Kinds whose place is not the one of their weight.
struct Row {
    rank: i32,
    /// Group and kind.
    kinds: &'static [(&'static str, &'static str)],
}

/// Ranks are on the scale of the weights, so that a row says what it comes after and before.
const ROWS: &[Row] = &[
    // A pod that names a class which is not there is refused, and the controller that wants to
    // create it gives up for a while. A claim or an Ingress without its class gets the default
    // one, for good.
    Row {
        rank: 1,
        kinds: &[
            ("scheduling.k8s.io", "PriorityClass"),
            ("node.k8s.io", "RuntimeClass"),
            (NETWORKING, "IngressClass"),
            (STORAGE, "StorageClass"),
            (STORAGE, "VolumeAttributesClass"),
            (STORAGE, "CSIDriver"),
            (RESOURCE, "DeviceClass"),
        ],
    },
    // Limits hold only for what is created after them.
    Row {
        rank: 2,
        kinds: &[("", "ResourceQuota"), ("", "LimitRange")],
    },
    // A pod that starts before its policy can be reached by everybody until it comes.
    Row {
        rank: 3,
        kinds: &[(NETWORKING, "NetworkPolicy")],
    },
    // Pods mount it, like a ConfigMap.
    Row {
        rank: 15,
        kinds: &[("certificates.k8s.io", "ClusterTrustBundle")],
    },
    // Their parameters may be ConfigMaps, and what they judge comes after them.
    Row {
        rank: 16,
        kinds: &[
            (ADMISSION, "ValidatingAdmissionPolicy"),
            (ADMISSION, "MutatingAdmissionPolicy"),
        ],
    },
    // A binding names a policy, and puts it in force.
    Row {
        rank: 17,
        kinds: &[
            (ADMISSION, "ValidatingAdmissionPolicyBinding"),
            (ADMISSION, "MutatingAdmissionPolicyBinding"),
        ],
    },
    // Pods wait for the claims that they name.
    Row {
        rank: 20,
        kinds: &[
            (RESOURCE, "ResourceClaim"),
            (RESOURCE, "ResourceClaimTemplate"),
        ],
    },
    // They belong to a Service of their name.
    Row {
        rank: 51,
        kinds: &[("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice")],
    },
    // They run what a Deployment runs, and may serve what the next rows need.
    Row {
        rank: 100,
        kinds: &[("", "Pod"), ("", "ReplicationController")],
    },
    // A workload serves it, and objects of its kinds come after it.
    Row {
        rank: 300,
        kinds: &[("apiregistration.k8s.io", "APIService")],
    },
];

/// Workloads of the module may serve the webhooks of its kinds, and its controllers what their
/// objects ask for: a custom resource comes after everything that every cluster has.
const CUSTOM_RESOURCE: i32 = 2000;

/// Where a kind stands in the order of applying: what has the same rank may go at the same time.
pub fn rank(group_kind: &GroupKind) -> i32 {
    let of = |row: &&Row| {
        let mut kinds = row.kinds.iter();
        kinds.any(|(group, kind)| group_kind.is(group, kind))
    };
    match ROWS.iter().find(of) {
        Some(row) => row.rank,
        None => match weight(group_kind) {
            DEFAULT_WEIGHT if is_custom(group_kind) => CUSTOM_RESOURCE,
            weight => weight,
        },
    }
}

/// Whether a kind comes from a CustomResourceDefinition or an aggregated API.
pub fn is_custom(group_kind: &GroupKind) -> bool {
    builtin(group_kind).is_none()
}

/// The order of applying within a stage: rank, group, kind, namespace, name.
pub fn apply_order(a: &Identity, b: &Identity) -> Ordering {
    let by_rank = rank(&a.group_kind).cmp(&rank(&b.group_kind));
    by_rank.then_with(|| a.cmp(b))
}

/// What goes before what, whatever stage it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Departure {
    /// Its controller has to be there still, and its webhooks have to answer.
    CustomResource,
    /// The API server calls a workload for it.
    Callback,
    Ordinary,
    /// Controllers watch the kinds that it defines.
    Definition,
    /// Everything else may live in it.
    Namespace,
}

impl Departure {
    fn of(group_kind: &GroupKind) -> Self {
        match (group_kind.group.as_str(), group_kind.kind.as_str()) {
            ("apiregistration.k8s.io", "APIService")
            | (ADMISSION, "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
                Self::Callback
            }
            _ => match Guard::of(group_kind) {
                Some(Guard::Namespace) => Self::Namespace,
                Some(Guard::Crd) => Self::Definition,
                _ if is_custom(group_kind) => Self::CustomResource,
                _ => Self::Ordinary,
            },
        }
    }
}

/// Sorts stale objects into the order in which they go.
pub(super) fn sort(
    stale: &mut [StaleObject],
    stored: Option<&Record>,
    rendered: &HashMap<String, usize>,
) {
    let recorded = stored
        .and_then(Record::current)
        .map(recorded_stages)
        .unwrap_or_default();
    let newest = recorded.values().max().copied().unwrap_or_default();
    let stage = |stale: &StaleObject| {
        let component = stale.entry.component.as_str();
        let known = recorded.get(component).or_else(|| match stale.origin {
            StaleOrigin::Inventory => None,
            // It was never recorded, so the only order it was applied in is one like the
            // rendered one.
            StaleOrigin::Pending { .. } | StaleOrigin::Kept(_) => rendered.get(component),
        });
        known.copied().unwrap_or(newest)
    };
    stale.sort_by(|a, b| {
        let (x, y) = (&a.entry.identity, &b.entry.identity);
        let departure = |identity: &Identity| Departure::of(&identity.group_kind);
        departure(x)
            .cmp(&departure(y))
            .then_with(|| stage(b).cmp(&stage(a)))
            .then_with(|| apply_order(y, x))
    });
}

/// The stage of every component of a recorded change. A record that knows only RFC-0001 names no
/// order, and counts as one stage.
fn recorded_stages(change: &Change) -> HashMap<String, usize> {
    let entries = change.entries().iter();
    let mut after: HashMap<&str, &[String]> = entries
        .map(|recorded| (recorded.entry.component.as_str(), &[][..]))
        .collect();
    // A component that others come after may have no objects.
    after.extend(
        change
            .order
            .values()
            .flatten()
            .map(|name| (name.as_str(), &[][..])),
    );
    let ordered = change.order.iter();
    after.extend(ordered.map(|(name, before)| (name.as_str(), before.as_slice())));
    let components = after.into_iter().map(|(name, after)| ComponentOrder {
        name: name.to_owned(),
        after: after.to_vec(),
    });
    stages(&components.collect::<Vec<_>>()).unwrap_or_default()
}
