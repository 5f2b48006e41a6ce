//! Everything that the use cases need from the outside, as one thing.

use super::{Clock, Cluster, SecretStore};

/// A cluster, the store of its releases' records, and the clocks.
///
/// The engine is shared by any number of runs; what belongs to one of them (the identity it acts
/// as, the warnings the server sends it, the Secret values that its messages must not show) is in
/// the copy that [`for_run`](Self::for_run) makes.
pub trait Backend: Cluster + SecretStore + Clock {
    /// The same backend for one run, which acts as this user if one is named.
    #[must_use]
    fn for_run(&self, act_as: Option<&str>) -> Self
    where
        Self: Sized;
}
