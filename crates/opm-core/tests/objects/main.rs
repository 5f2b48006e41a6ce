//! Single objects and their bytes: names, manifests, order, digests, ids, labels, values, diffs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by failing"
)]

mod candidate;
mod canonical;
mod diff;
mod diff_properties;
mod fuzz;
mod golden;
mod hooks;
mod immutable;
mod labels;
mod left_out;
mod manifest;
mod names;
mod normal;
mod order;
mod properties;
mod refusals;
mod restore;
mod scope;
mod values;

use opm_core::manifest::Manifest;
use serde_json::Value;

/// A manifest from JSON that is known to be one.
fn manifest(value: Value) -> Manifest {
    Manifest::parse(value).unwrap()
}

/// A manifest that is nothing but an identity. An empty namespace is none.
fn bare(api_version: &str, kind: &str, namespace: &str, name: &str) -> Manifest {
    manifest(serde_json::json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
    }))
}
