//! Many threads at once: exactly one of several conflicting writers wins, and a reader sees
//! what was before or what is after, never a mixture.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use opm_core::feature::{Choice, FeatureError, FeatureStore, Mode};

use crate::samples::{feature, name};

const ROUNDS: usize = 200;
const WRITERS: usize = 8;
const READERS: usize = 4;
/// So many features in one call that a half-done one would be noticed.
const WIDTH: usize = 32;

fn names(group: usize) -> Vec<String> {
    (0..WIDTH).map(|n| format!("group-{group}-{n}")).collect()
}

/// All features, on; then a reader counts how many it sees.
fn choices(group: usize) -> Vec<Choice> {
    names(group)
        .iter()
        .map(|n| Choice::enable(name(n)))
        .collect()
}

/// Counts are 0 or all, and never fall.
fn watch(store: &FeatureStore, names: &[String], done: &AtomicUsize) {
    let mut last = 0;
    loop {
        let finished = done.load(Ordering::Acquire) == WRITERS;
        let snapshot = store.snapshot();
        let seen = names
            .iter()
            .filter(|n| snapshot.is_enabled(n.as_str()))
            .count();
        assert!(seen == 0 || seen == WIDTH, "saw {seen} of {WIDTH}");
        assert!(seen >= last, "what was set has gone");
        last = seen;
        // Asked one by one, an early "on" is followed by "on" for all that came with it.
        let mut alone = names.iter().map(|n| store.is_enabled(n.as_str()));
        assert!(alone.by_ref().skip_while(|on| !on).all(|on| on), "half set");
        if finished {
            assert_eq!(last, WIDTH, "the writers are done");
            return;
        }
    }
}

/// Runs writers that all try the same at the same moment, beside readers; gives how many won.
fn race(
    store: &FeatureStore,
    watched: &[String],
    write: impl Fn(usize) -> Result<(), FeatureError> + Sync,
) -> Vec<Result<(), FeatureError>> {
    let (start, done) = (Barrier::new(WRITERS + READERS), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                start.wait();
                watch(store, watched, &done);
            });
        }
        let (start, done, write) = (&start, &done, &write);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    start.wait();
                    let result = write(writer);
                    done.fetch_add(1, Ordering::Release);
                    result
                })
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    })
}

#[test]
fn one_of_many_first_choices_wins() {
    for _ in 0..ROUNDS {
        let store = FeatureStore::empty();
        let results = race(&store, &names(0), |_| store.set(choices(0)));
        assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1);
        let loser = |r: &Result<(), _>| {
            matches!(
                r,
                Ok(())
                    | Err(FeatureError::Duplicate {
                        mode: Mode::User,
                        ..
                    })
            )
        };
        assert!(results.iter().all(loser), "{results:?}");
        assert_eq!(store.snapshot().all_user().len(), WIDTH);
    }
}

#[test]
fn one_of_many_first_defaults_wins() {
    for _ in 0..ROUNDS {
        let store = FeatureStore::empty();
        let defaults = || {
            names(0)
                .into_iter()
                .map(|n| feature(&n, true))
                .collect::<Vec<_>>()
        };
        let results = race(&store, &names(0), |_| store.set_default(defaults()));
        assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1);
        assert!(
            results
                .iter()
                .all(|r| matches!(r, Ok(()) | Err(FeatureError::DefaultsSet)))
        );
    }
}

#[test]
fn writers_of_different_features_all_win() {
    for _ in 0..ROUNDS {
        let store = FeatureStore::empty();
        let results = race(&store, &names(3), |writer| store.set(choices(writer)));
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(store.snapshot().all_user().len(), WRITERS * WIDTH);
    }
}
