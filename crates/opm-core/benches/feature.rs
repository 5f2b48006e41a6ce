//! What it costs to ask whether a feature is on: a few nanoseconds, so that nobody has a reason
//! to ask once and carry a copy around.

#![allow(clippy::print_stdout, reason = "a benchmark reports what it measured")]

use std::hint::black_box;
use std::time::Instant;

use opm_core::feature::{Choice, Defaults, Feature, FeatureError, FeatureName, FeatureSet};
use opm_core::feature::{FeatureStore, FeatureVersion, SANDBOX, Stage, global};

const CALLS: u32 = 2_000_000;
const ROUNDS: usize = 9;

/// The median time of one call, in nanoseconds.
fn nanoseconds(mut call: impl FnMut() -> bool) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                black_box(call());
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn feature(number: usize) -> Result<Feature, FeatureError> {
    Ok(Feature {
        name: FeatureName::new(format!("some-feature-{number}"))?,
        description: "Is measured.".to_owned(),
        enabled: true,
        since: FeatureVersion::new(0, 1, 0),
        until: None,
        stage: Stage::Beta,
        owner: "the benchmark".to_owned(),
        proposal: None,
    })
}

fn report(what: &str, call: impl FnMut() -> bool) {
    println!("{what:<52} {:>6.1} ns", nanoseconds(call));
}

fn main() -> Result<(), FeatureError> {
    println!("is_enabled, median of {ROUNDS} rounds of {CALLS} calls");
    let shipped = FeatureSet::shipped();
    report("the shipped set, a default", || {
        shipped.is_enabled(black_box(&SANDBOX))
    });
    let chosen = shipped
        .clone()
        .with_choices([Choice::disable(SANDBOX.clone())])?;
    report("the shipped set, a choice", || {
        chosen.is_enabled(black_box(&SANDBOX))
    });
    report("the shipped set, an unknown name", || {
        shipped.is_enabled(black_box("unknown"))
    });
    for size in [30, 300] {
        let features = (0..size).map(feature).collect::<Result<Vec<_>, _>>()?;
        let set = FeatureSet::new(Defaults::new(features)?, Default::default());
        let name = format!("some-feature-{}", size / 2);
        report(&format!("a set of {size}, a default"), || {
            set.is_enabled(black_box(&name))
        });
    }
    report("the global store, a default", || {
        global::is_enabled(black_box(&SANDBOX))
    });
    let store = FeatureStore::shipped();
    store.set([Choice::enable(FeatureName::new("first")?)])?;
    store.set([Choice::disable(SANDBOX.clone())])?;
    report("a store set twice, a choice of the second time", || {
        store.is_enabled(black_box(&SANDBOX))
    });
    Ok(())
}
