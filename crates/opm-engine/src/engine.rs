//! The engine: every use case, over one backend, for any number of callers at a time.
//!
//! Nothing of one call is kept here: each becomes a `Run`, which has its own copy of the
//! backend, its own cancellation and its own lock. The use cases themselves are in the files and
//! directories of their names.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use opm_core::feature::FeatureSet;
use opm_core::health::Health;
use opm_core::identity::Identity;
pub use opm_core::protocol::Timing;
use opm_core::record::DEFAULT_LOG_ENTRIES;
use opm_core::record::size::MAX_RECORD_BYTES;
use opm_core::takeover::RetiredManagers;
use tracing::Instrument as _;

use crate::actor::Actor;
use crate::diff::DiffReport;
use crate::failure::Failure;
use crate::history::{Comparison, History, ShownManifests, ShownValues};
use crate::list::{ListObserver, Listing};
use crate::ports::{Backend, Caller, Renderer};
use crate::repair::RepairReport;
use crate::report::{Release, Report};
use crate::request::{
    ApplyRequest, CompareRequest, DeleteRequest, ForgetRequest, HistoryRequest, ListRequest,
    LogRequest, ObjectRequest, PruneRequest, RepairRequest, RollbackRequest, ShowRequest,
    StatusRequest, TestRequest, UnlockRequest,
};
use crate::run::Run;
use crate::status::{
    LogObserver, ObjectReport, ReleaseEvents, ReleaseLogs, ReleaseTree, Status, StatusObserver,
};

/// What holds for every use case.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who acts.
    pub actor: Actor,
    /// How long locks are good for.
    pub timing: Timing,
    /// How large the release's Secret may become before parts of it move into record Secrets.
    pub record_limit: usize,
    /// How many deployments a release's log remembers.
    pub log_entries: usize,
    /// The tools whose managed fields a release takes over with an object.
    pub retired_managers: RetiredManagers,
    /// The feature flags in force, by name. Recorded with each change.
    pub features: BTreeMap<String, bool>,
}

impl Settings {
    /// The settings of an actor, with everything else as it is when nobody says otherwise.
    pub fn of(actor: Actor) -> Self {
        Self::with_features(actor, &FeatureSet::shipped())
    }

    /// The same, with these features.
    pub fn with_features(actor: Actor, features: &FeatureSet) -> Self {
        Self {
            actor,
            timing: Timing::default(),
            record_limit: MAX_RECORD_BYTES,
            log_entries: DEFAULT_LOG_ENTRIES,
            retired_managers: RetiredManagers::default(),
            features: features.states(),
        }
    }
}

/// The use cases, over a cluster, its records and the clocks.
///
/// One engine serves any number of releases and callers at a time; every future it returns is
/// [`Send`].
///
/// ```
/// use std::sync::Arc;
///
/// use opm_cluster::{ClusterClient, KubeClient};
/// use opm_core::name::{NamespaceName, ReleaseName};
/// use opm_engine::ports::Caller;
/// use opm_engine::request::{ReleaseRef, StatusRequest};
/// use opm_engine::{Actor, Engine, FailureKind, Settings};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let sandbox = opm_sandbox::Sandbox::open(directory.path())?;
/// let cluster = ClusterClient::from_client(KubeClient::new(sandbox, "default"));
/// let engine = Arc::new(Engine::new(cluster, Settings::of(Actor::named("me"))));
/// let looks = ["web", "database"].map(|name| {
///     let engine = engine.clone();
///     tokio::spawn(async move {
///         let request = StatusRequest {
///             release: ReleaseRef::Name(ReleaseName::new(name).unwrap()),
///             namespace: NamespaceName::new("default").unwrap(),
///             scan: false,
///         };
///         engine.status(&request, &Caller::default()).await
///     })
/// });
/// for look in looks {
///     let failure = look.await?.unwrap_err();
///     assert_eq!(failure.kind, FailureKind::NotFound);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Engine {
    backend: Arc<dyn Backend>,
    settings: Settings,
    /// How many runs there have been: tells those apart that begin at the same moment.
    runs: AtomicU64,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Engine");
        shown.field("settings", &self.settings);
        shown.finish_non_exhaustive()
    }
}

/// A use case that goes on. It is on the heap, as a whole run is too much for the stack of a
/// caller's thread, and its type is closed, so that it is compiled here and in no caller.
pub type Running<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Makes a method of every use case: a run of its own, in a span of its own. One that only reads
/// ends at once when its caller cancels; one that writes ends by itself, in order.
macro_rules! use_cases {
    (writes $run:ident, $work:expr) => { $work };
    (reads $run:ident, $work:expr) => { $run.unless_cancelled($work) };
    ($($(#[$doc:meta])*
        $does:ident $command:literal: $name:ident($($argument:ident: $type:ty),*) -> $output:ty;
    )*) => {
        impl Engine {$(
            $(#[$doc])*
            pub fn $name<'a>(
                &'a self,
                $($argument: $type,)*
                caller: &'a Caller<'a>,
            ) -> Running<'a, $output> {
                let number = self.runs.fetch_add(1, Ordering::Relaxed);
                let run = Run::new(&*self.backend, &self.settings, number, caller);
                let span = tracing::info_span!("run", command = $command);
                let work = async move {
                    let done = use_cases!($does run, run.$name($($argument),*)).await;
                    done.map_err(|failure| run.because_cancelled(failure))
                };
                Box::pin(work.instrument(span))
            }
        )*}
    };
}

impl Engine {
    /// An engine over a backend.
    pub fn new(backend: impl Backend + 'static, settings: Settings) -> Self {
        Self {
            backend: Arc::new(backend),
            settings,
            runs: AtomicU64::new(0),
        }
    }
}

use_cases! {
    /// Applies a rendered module: makes the release what is rendered, removes what became stale,
    /// and records it.
    writes "apply": apply(request: &'a ApplyRequest) -> Report;

    /// What applying a rendered module would do. Nothing is written, and no lock is taken.
    reads "diff": diff(request: &'a ApplyRequest) -> DiffReport;

    /// Applies a change of the history again. `renderer` renders its module once more where the
    /// change's manifests are not kept.
    writes "rollback": rollback(request: &'a RollbackRequest, renderer: &'a dyn Renderer) -> Report;

    /// What going back to a change of the history would do. Nothing is written, and no lock is
    /// taken.
    reads "diff": diff_rollback(
        request: &'a RollbackRequest,
        renderer: &'a dyn Renderer
    ) -> DiffReport;

    /// Deletes a release, or one of its components.
    writes "delete": delete(request: &'a DeleteRequest) -> Report;

    /// Takes off a release's record that a controller manages it, and touches nothing else.
    writes "end-management": end_management(release: &'a Release) -> Report;

    /// Deletes kept objects by name.
    writes "prune": prune(request: &'a PruneRequest) -> Report;

    /// Runs the tests that a release's charts bring along.
    writes "test": test(request: &'a TestRequest) -> Report;

    /// Stops tracking objects, and deletes nothing.
    writes "forget": forget(request: &'a ForgetRequest) -> Report;

    /// Removes the lock of a dead holder, after showing it. A lock that is still renewed is not
    /// touched.
    writes "unlock": unlock(request: &'a UnlockRequest) -> Report;

    /// Rebuilds a release's record, after showing what it found.
    writes "repair": repair(request: &'a RepairRequest) -> RepairReport;

    /// How a release stands.
    reads "status": status(request: &'a StatusRequest) -> Status;

    /// How those of these objects are doing that are not ready: less to ask for than a status, for
    /// who has just applied them.
    reads "unready": unready(applied: &'a [Identity]) -> BTreeMap<Identity, Health>;

    /// Tells how a release stands, now and whenever that changes, until the time is over, and
    /// answers with the last status. A caller that cancels is answered that it did.
    reads "status": watch_status(
        request: &'a StatusRequest,
        timeout: Option<Duration>,
        observer: &'a mut dyn StatusObserver
    ) -> Status;

    /// What lies below the objects of a release, by owner references.
    reads "tree": tree(request: &'a StatusRequest) -> ReleaseTree;

    /// One object of a release, or one that lies below it: live, as it was applied, and as it is
    /// recorded.
    reads "object": object(request: &'a ObjectRequest) -> ObjectReport;

    /// Tells the resourceVersion of an object, now and whenever it is another, until it fails or the
    /// caller cancels. None is told of one that is not there.
    reads "object": watch_object(
        object: &'a Identity,
        observer: &'a mut (dyn FnMut(Option<&str>) + Send)
    ) -> Infallible;

    /// What happened to a release's objects and to what lies below them: the newest so many.
    reads "events": events(request: &'a StatusRequest, most: usize) -> ReleaseEvents;

    /// What the containers of a release wrote.
    reads "logs": logs(request: &'a LogRequest) -> ReleaseLogs;

    /// Tells what the containers of a release write, until the caller cancels, which is how it
    /// ends.
    reads "logs": follow_logs(
        request: &'a LogRequest,
        observer: &'a mut dyn LogObserver
    ) -> ReleaseLogs;

    /// The names of all namespaces that may be seen.
    reads "namespaces": namespaces() -> Vec<String>;

    /// Lists releases.
    reads "list": list(request: &'a ListRequest) -> Listing;

    /// Tells which releases there are and how they are doing, now and whenever that changes, until
    /// it fails or the caller cancels.
    reads "list": watch_list(
        request: &'a ListRequest,
        observer: &'a mut dyn ListObserver
    ) -> Infallible;

    /// The changes and the deployments of a release.
    reads "history": history(request: &'a HistoryRequest) -> History;

    /// What a change changed against the one before it, or how any two differ.
    reads "compare": compare(request: &'a CompareRequest) -> Comparison;

    /// The recorded values of a change.
    reads "show": show_values(request: &'a ShowRequest) -> ShownValues;

    /// The recorded manifests of a change.
    reads "show": show_manifests(request: &'a ShowRequest) -> ShownManifests;
}
