//! The whole apply flow at the level of plans and records: RFC-0001's scenarios and edge cases,
//! properties, and the parts one by one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail loudly"
)]

mod adopting;
mod checks;
mod deleted;
mod disown;
mod edge_cases;
mod fuzz;
mod guards;
mod history;
mod late;
mod lock;
mod needs;
mod plans;
mod properties;
mod replaced;
mod run;
mod scenarios;
mod set_aside;
mod sizes;
mod target;
mod world;
