//! Everything that `opm` decides, decided in one place.
//!
//! This crate is pure: no async runtime, no Kubernetes client, no file system, no environment,
//! no clock. Time, feature flags and observations of the cluster arrive as arguments; what
//! should happen next leaves as values.

#![deny(missing_docs)]

pub mod api_error;
pub mod autoscale;
pub mod below;
pub mod candidate;
pub mod canonical;
pub mod check;
pub mod diff;
pub mod digest;
pub mod drift;
pub mod entry;
pub mod event;
pub mod failure;
pub mod feature;
pub mod generated;
pub mod health;
pub mod history;
pub mod hook;
pub mod identity;
pub mod ids;
pub mod immutable;
pub mod labels;
pub mod managed;
pub mod manifest;
pub mod name;
pub mod nearest;
pub mod observation;
pub mod owned;
pub mod packed;
pub mod plan;
pub mod printable;
pub mod protocol;
pub mod reach;
pub mod record;
pub mod rendered;
pub mod repair;
pub mod review;
pub mod rights;
pub mod scope;
mod short_names;
pub mod status;
pub mod takeover;
pub mod time;
pub mod values;
pub mod weight;
pub mod words;
