//! The scenarios: RFC-0001's, its edge cases, and everything that may go wrong.
//!
//! Ordinary tier, with samples of the matrices; whole matrices in the full tier; thousands of objects
//! on request.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "scenarios fail loudly"
)]

mod adopting;
mod another_module;
mod api_services;
mod api_versions;
mod atomic;
mod bad_charts;
mod beforehand;
mod below;
mod change_records;
mod chart_hooks;
mod chart_lookups;
mod charts;
mod controller_delete;
mod controller_drift;
mod controller_end;
mod controller_fairness;
mod controller_faults;
mod controller_hostile;
mod controller_install;
mod controller_kills;
mod controller_kubectl;
mod controller_life;
mod controller_managed;
mod controller_operation;
mod controller_registry;
mod controller_replicas;
mod controller_tenancy;
mod counters;
mod damages;
mod delete_order;
mod deleted;
mod diff;
mod diff_hidden;
mod diff_then_apply;
mod disturbed;
mod early_failure;
mod edges;
mod exit_codes;
mod faults;
mod features;
mod fetched_charts;
mod few_requests;
mod flows;
mod forged_records;
mod given_values;
mod history;
mod hooks_beforehand;
mod interrupts;
mod kept_renderings;
mod kills;
mod kustomizations;
mod large;
mod last_words;
mod least_rights;
mod letting_go;
mod list;
mod lost;
mod messages;
mod not_up_yet;
mod operator;
mod order;
mod outcomes;
mod ownership;
mod packages;
mod page;
mod plain_manifests;
mod races;
mod record;
mod remembered_kinds;
mod repair;
mod restart;
mod reviewed_plans;
mod rfc;
mod rfc_unsolved;
mod rights;
mod rollback;
mod rollback_kills;
mod rollback_refused;
mod shared;
mod short_names;
mod status;
mod status_drift;
mod status_edits;
mod status_failed_runs;
mod status_health;
mod status_rights;
mod status_watch;
mod table;
mod told_once;
mod transfer;
mod unchanged;
mod zarf;
mod zarf_bad;
mod zarf_choices;
