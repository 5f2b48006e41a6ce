//! Waiting for what is to happen. The one limit is for what hangs; no test judges speed.

use std::time::{Duration, Instant};

/// After this long something hangs, however slow the machine is.
pub const HANG: Duration = Duration::from_secs(600);

/// How often something is looked at while it is waited for.
const INTERVAL: Duration = Duration::from_millis(20);

/// Looks again and again until `look` returns something.
///
/// # Panics
/// When it hangs.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begin.elapsed() < HANG, "waited in vain: {what}");
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Waits until something is so.
///
/// # Panics
/// When it hangs.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    eventually(what, async || is_so().await.then_some(())).await;
}

/// The outcome of a future that ends by itself.
///
/// # Panics
/// When it hangs.
pub async fn unless_it_hangs<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(HANG, future).await;
    outcome.unwrap_or_else(|_| panic!("it hangs: {what}"))
}
