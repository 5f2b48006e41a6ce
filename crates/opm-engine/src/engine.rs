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
use crate::apply::Orphans;
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

/// One use case: a run of its own, in a span of its own.
macro_rules! run {
    ($self:ident, $caller:ident, $name:literal, |$run:ident| $work:expr) => {{
        let number = $self.runs.fetch_add(1, Ordering::Relaxed);
        let $run = Run::new(&*$self.backend, &$self.settings, number, $caller);
        let span = tracing::info_span!("run", command = $name);
        Box::pin(
            async move {
                let done = $work.await;
                done.map_err(|failure| $run.because_cancelled(failure))
            }
            .instrument(span),
        )
    }};
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

    /// Applies a rendered module: makes the release what is rendered, removes what became stale,
    /// and records it.
    pub fn apply<'a>(
        &'a self,
        request: &'a ApplyRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Report> {
        run!(self, caller, "apply", |run| run.apply(request))
    }

    /// What applying a rendered module would do. Nothing is written, and no lock is taken.
    pub fn diff<'a>(
        &'a self,
        request: &'a ApplyRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, DiffReport> {
        run!(self, caller, "diff", |run| run
            .unless_cancelled(run.diff(request, Orphans::Shown)))
    }

    /// Applies a change of the history again. `renderer` renders its module once more where the
    /// change's manifests are not kept.
    pub fn rollback<'a>(
        &'a self,
        request: &'a RollbackRequest,
        renderer: &'a dyn Renderer,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Report> {
        run!(self, caller, "rollback", |run| run
            .rollback(request, renderer))
    }

    /// What going back to a change of the history would do. Nothing is written, and no lock is
    /// taken.
    pub fn diff_rollback<'a>(
        &'a self,
        request: &'a RollbackRequest,
        renderer: &'a dyn Renderer,
        caller: &'a Caller<'a>,
    ) -> Running<'a, DiffReport> {
        run!(self, caller, "diff", |run| run
            .unless_cancelled(run.diff_rollback(request, renderer)))
    }

    /// Deletes a release, or one of its components.
    pub fn delete<'a>(
        &'a self,
        request: &'a DeleteRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Report> {
        run!(self, caller, "delete", |run| run.delete(request))
    }

    /// Takes off a release's record that a controller manages it, and touches nothing else.
    pub fn end_management<'a>(
        &'a self,
        release: &'a Release,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Report> {
        run!(self, caller, "end-management", |run| run
            .end_management(release))
    }

    /// Deletes kept objects by name.
    pub fn prune<'a>(
        &'a self,
        request: &'a PruneRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Report> {
        run!(self, caller, "prune", |run| run.prune(request))
    }

    /// Runs the tests that a release's charts bring along.
    pub fn test<'a>(
        &'a self,
        request: &'a TestRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Report> {
        run!(self, caller, "test", |run| run.test(request))
    }

    /// Stops tracking objects, and deletes nothing.
    pub fn forget<'a>(
        &'a self,
        request: &'a ForgetRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Report> {
        run!(self, caller, "forget", |run| run.forget(request))
    }

    /// Removes the lock of a dead holder, after showing it. A lock that is still renewed is not
    /// touched.
    pub fn unlock<'a>(
        &'a self,
        request: &'a UnlockRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Report> {
        run!(self, caller, "unlock", |run| run.unlock(request))
    }

    /// Rebuilds a release's record, after showing what it found.
    pub fn repair<'a>(
        &'a self,
        request: &'a RepairRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, RepairReport> {
        run!(self, caller, "repair", |run| run.repair(request))
    }

    /// How a release stands.
    pub fn status<'a>(
        &'a self,
        request: &'a StatusRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Status> {
        run!(self, caller, "status", |run| run
            .unless_cancelled(run.status(request)))
    }

    /// How those of these objects are doing that are not ready: less to ask for than a status, for
    /// who has just applied them.
    pub fn unready<'a>(
        &'a self,
        applied: &'a [Identity],
        caller: &'a Caller<'a>,
    ) -> Running<'a, BTreeMap<Identity, Health>> {
        run!(self, caller, "unready", |run| run
            .unless_cancelled(async { Ok(run.unready(applied).await) }))
    }

    /// Tells how a release stands, now and whenever that changes, until the time is over, and
    /// answers with the last status. A caller that cancels is answered that it did.
    pub fn watch_status<'a>(
        &'a self,
        request: &'a StatusRequest,
        timeout: Option<Duration>,
        observer: &'a mut dyn StatusObserver,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Status> {
        run!(self, caller, "status", |run| run.unless_cancelled(
            run.watch_status(request, timeout, observer)
        ))
    }

    /// What lies below the objects of a release, by owner references.
    pub fn tree<'a>(
        &'a self,
        request: &'a StatusRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, ReleaseTree> {
        run!(self, caller, "tree", |run| run
            .unless_cancelled(run.tree(request)))
    }

    /// One object of a release, or one that lies below it: live, as it was applied, and as it is
    /// recorded.
    pub fn object<'a>(
        &'a self,
        request: &'a ObjectRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, ObjectReport> {
        run!(self, caller, "object", |run| run
            .unless_cancelled(run.object(request)))
    }

    /// Tells the resourceVersion of an object, now and whenever it is another, until it fails or the
    /// caller cancels. None is told of one that is not there.
    pub fn watch_object<'a>(
        &'a self,
        object: &'a Identity,
        observer: &'a mut (dyn FnMut(Option<&str>) + Send),
        caller: &'a Caller<'a>,
    ) -> Running<'a, Infallible> {
        run!(self, caller, "object", |run| run
            .unless_cancelled(run.watch_object(object, observer)))
    }

    /// What happened to a release's objects and to what lies below them: the newest so many.
    pub fn events<'a>(
        &'a self,
        request: &'a StatusRequest,
        most: usize,
        caller: &'a Caller<'a>,
    ) -> Running<'a, ReleaseEvents> {
        run!(self, caller, "events", |run| run
            .unless_cancelled(run.events(request, most)))
    }

    /// What the containers of a release wrote.
    pub fn logs<'a>(
        &'a self,
        request: &'a LogRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, ReleaseLogs> {
        run!(self, caller, "logs", |run| run
            .unless_cancelled(run.logs(request)))
    }

    /// Tells what the containers of a release write, until the caller cancels, which is how it
    /// ends.
    pub fn follow_logs<'a>(
        &'a self,
        request: &'a LogRequest,
        observer: &'a mut dyn LogObserver,
        caller: &'a Caller<'a>,
    ) -> Running<'a, ReleaseLogs> {
        run!(self, caller, "logs", |run| run
            .unless_cancelled(run.follow_logs(request, observer)))
    }

    /// The names of all namespaces that may be seen.
    pub fn namespaces<'a>(&'a self, caller: &'a Caller<'a>) -> Running<'a, Vec<String>> {
        run!(self, caller, "namespaces", |run| run
            .unless_cancelled(run.all_namespaces()))
    }

    /// Lists releases.
    pub fn list<'a>(
        &'a self,
        request: &'a ListRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Listing> {
        run!(self, caller, "list", |run| run
            .unless_cancelled(run.list(request)))
    }

    /// Tells which releases there are and how they are doing, now and whenever that changes, until
    /// it fails or the caller cancels.
    pub fn watch_list<'a>(
        &'a self,
        request: &'a ListRequest,
        observer: &'a mut dyn ListObserver,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Infallible> {
        run!(self, caller, "list", |run| run
            .unless_cancelled(run.watch_list(request, observer)))
    }

    /// The changes and the deployments of a release.
    pub fn history<'a>(
        &'a self,
        request: &'a HistoryRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, History> {
        run!(self, caller, "history", |run| run
            .unless_cancelled(run.history(request)))
    }

    /// What a change changed against the one before it, or how any two differ.
    pub fn compare<'a>(
        &'a self,
        request: &'a CompareRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, Comparison> {
        run!(self, caller, "compare", |run| run
            .unless_cancelled(run.compare(request)))
    }

    /// The recorded values of a change.
    pub fn show_values<'a>(
        &'a self,
        request: &'a ShowRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, ShownValues> {
        run!(self, caller, "show", |run| run
            .unless_cancelled(run.show_values(request)))
    }

    /// The recorded manifests of a change.
    pub fn show_manifests<'a>(
        &'a self,
        request: &'a ShowRequest,
        caller: &'a Caller<'a>,
    ) -> Running<'a, ShownManifests> {
        run!(self, caller, "show", |run| run
            .unless_cancelled(run.show_manifests(request)))
    }
}
