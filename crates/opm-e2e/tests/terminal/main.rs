//! What a person sees: `opm` on a real pseudo-terminal, at several widths, with and without
//! colours, while it works, asks and is interrupted.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "scenarios fail loudly"
)]

mod interrupts;
mod live;
mod prompts;
mod tables;
mod watching;
