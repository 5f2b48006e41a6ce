//! HTTP in and out: requests read into plain values, answers written back. No semantics here.

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod guard;
pub(crate) mod reply;
pub(crate) mod route;
pub(crate) mod serve;
pub(crate) mod service;
