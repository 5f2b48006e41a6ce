//! Server-side apply: typed values, sets of fields, merging and ownership.
//!
//! Pure: no storage, no HTTP, no clock. It follows the semantics of the structured merge that the
//! real API server uses; the conformance suite holds the two side by side.

pub(crate) mod compare;
pub(crate) mod crd_schema;
pub(crate) mod encode;
pub(crate) mod fieldset;
pub(crate) mod managed;
pub(crate) mod merge;
pub(crate) mod path;
pub(crate) mod quantity;
pub(crate) mod remove;
pub(crate) mod schema;
pub(crate) mod to_set;
pub(crate) mod typed;
pub(crate) mod updater;
pub(crate) mod validate;
pub(crate) mod value;
