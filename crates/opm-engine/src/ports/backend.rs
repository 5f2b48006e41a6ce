//! Everything that the use cases need from the outside, as one thing.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Clock, Cluster, SecretStore};

/// A cluster, the store of its releases' records, and the clocks.
///
/// The engine is shared by any number of runs; what belongs to one of them (the identity it acts
/// as, the warnings the server sends it, the Secret values that its messages must not show) is in
/// the copy that [`for_run`](Self::for_run) makes.
pub trait Backend: Cluster + SecretStore + Clock {
    /// The same backend for one run, which acts as this user if one is named.
    #[must_use]
    fn for_run(&self, act_as: Option<&str>) -> Arc<dyn Backend>;

    /// The same backend for the same run, whose looks, lists and discovery end as soon as this
    /// is cancelled, in the middle of a list too. What became of a write can still be looked up.
    #[must_use]
    fn with_reads_until(&self, cancel: Option<CancellationToken>) -> Arc<dyn Backend>;
}
