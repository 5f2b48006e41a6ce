//! The engine as other programs use it: one engine, many callers, on the sandbox.
//!
//! Every use case runs in a task of its own, so the compiler checks that its future is [`Send`]
//! and borrows nothing. No control plane and no `cue` is needed; nothing sleeps, everything
//! waits for what it is about.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect by failing loudly"
)]

mod kit;
mod modules;
mod wire;

mod atomic;
mod callers;
mod cancel;
mod defaults;
mod documents;
mod failures;
mod in_tasks;
mod library_guide;
mod locks;
mod lost_locks;
mod maintenance;
mod many;
mod readers;
mod rollback;
mod use_cases;
