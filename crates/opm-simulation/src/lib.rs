//! The engine's real code, with the request and retry layer below it, in a simulated world.
//!
//! A [`Plan`] is drawn from a seed: clients, what they do, what goes wrong, who meddles. [`run`]
//! lets it happen on a single thread, in time that passes only when everybody waits, over the
//! sandbox in memory. The world keeps a ledger of everything that really happened, and `rules`
//! says what must hold of it. The same seed gives the same history, to the last byte.

#![expect(
    clippy::expect_used,
    reason = "a world that cannot be made is a mistake of its maker"
)]

mod client;
mod commands;
mod coverage;
mod finale;
mod ledger;
mod machine;
mod meddler;
mod mistakes;
mod modules;
mod network;
pub mod ordinary;
mod plan;
pub mod rules;
mod server;
mod shrink;
mod truth;

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::task::JoinSet;

pub use coverage::{Coverage, Visit};
pub use ledger::{Figures, Violation};
pub use mistakes::Mistake;
pub use plan::Plan;
pub use shrink::shrink;

use client::Client;
use machine::{MachineClock, WorldTime};
use server::Server;

/// What became of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// What must not have happened.
    pub violations: Vec<Violation>,
    /// All of it as numbered lines.
    pub story: String,
    /// Some figures.
    pub figures: Figures,
    /// Where it has been.
    pub coverage: Coverage,
}

/// Lets a plan happen, with clients that make this mistake.
pub fn run(plan: &Plan, mistake: Option<Mistake>) -> History {
    let happened = catch_unwind(AssertUnwindSafe(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(happen(plan, mistake))
    }));
    happened.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default();
        History {
            violations: vec![Violation {
                rule: rules::NO_PANIC,
                at: 0,
                text: text.clone(),
            }],
            story: text,
            figures: Figures::default(),
            coverage: Coverage::default(),
        }
    })
}

async fn happen(plan: &Plan, mistake: Option<Mistake>) -> History {
    let time = WorldTime::begin();
    let server = Server::start(time, plan.seed, plan.weather.clone());
    let mut work = JoinSet::new();
    for (index, planned) in plan.clients.iter().enumerate() {
        let clock = MachineClock {
            error: planned.clock_error,
            rate: planned.clock_rate,
        };
        let client = Client::new(index, &server, clock, plan, mistake);
        let steps = planned.steps.clone();
        work.spawn(async move { client.work(&steps).await });
    }
    work.spawn(meddler::meddle(server.clone(), plan.meddling.clone()));
    while let Some(ended) = work.join_next().await {
        if let Err(error) = ended {
            let text = error.to_string();
            server
                .ledger()
                .violate(rules::NO_PANIC, time.millis(), text);
        }
    }
    if server.ledger().violations.is_empty() {
        finale::bring_to_order(&server, plan, mistake).await;
    }
    let ledger = server.ledger();
    History {
        violations: ledger.violations.clone(),
        story: ledger.story(),
        figures: ledger.figures,
        coverage: ledger.coverage.clone(),
    }
}
