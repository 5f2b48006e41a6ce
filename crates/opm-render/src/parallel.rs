//! Work on many things at once, on as many threads as the machine has cores for.
//!
//! Results come in the order of the things, whoever was done first.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// More threads than these are not worth their stacks.
const MAX_THREADS: usize = 8;
/// What reading text takes at most, many times over.
const STACK: usize = 4 << 20;

/// What `work` makes of each thing; nothing as soon as it makes nothing of one of them.
pub(crate) fn map<T: Sync, R: Send>(
    things: &[T],
    work: impl Fn(&T) -> Option<R> + Sync,
) -> Option<Vec<R>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cores.min(MAX_THREADS).min(things.len());
    if threads < 2 {
        return things.iter().map(work).collect();
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take_turns = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(at) else { return };
            let Some(result) = work(thing) else {
                // Nobody needs the rest.
                next.fetch_max(things.len(), Ordering::Relaxed);
                return;
            };
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            let builder = thread::Builder::new().name("parse".to_owned());
            // A thread that cannot be had is one less.
            let _ = builder.stack_size(STACK).spawn_scoped(scope, take_turns);
        }
        take_turns();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if done.len() < things.len() {
        return None;
    }
    done.sort_unstable_by_key(|(at, _)| *at);
    Some(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_are_in_the_order_of_the_things() {
        let things: Vec<u64> = (0..1000).collect();
        let busy = |n: &u64| {
            let work = (0..(n % 7) * 1000).fold(0, |sum: u64, one| sum.wrapping_add(one));
            (work < u64::MAX).then_some(n * 2)
        };
        let expected: Vec<u64> = things.iter().map(|n| n * 2).collect();
        assert_eq!(map(&things, busy), Some(expected));
    }

    #[test]
    fn one_failure_is_the_failure_of_all() {
        let things: Vec<u64> = (0..100).collect();
        assert_eq!(map(&things, |n| (*n != 57).then_some(*n)), None);
        assert_eq!(map(&[], |n: &u64| Some(*n)), Some(Vec::new()));
    }
}
