//! The scenarios: RFC-0001's, its edge cases, and everything that may go wrong.

mod edges;
mod faults;
mod kills;
mod outcomes;
mod ownership;
mod record;
mod rfc;
mod rfc_unsolved;
