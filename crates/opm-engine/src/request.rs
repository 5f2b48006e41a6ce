//! What a use case is asked to do: plain values, one struct per use case.
//!
//! Where they come from (flags, fields, files) is the caller's business; what holds when nobody
//! says otherwise stands here, once.

use std::fmt;
use std::time::Duration;

pub use crate::history::request::{CompareRequest, ComparedChanges, HistoryRequest, ShowRequest};
pub use crate::rollback::request::RollbackRequest;
pub use opm_core::check::Adopt;
use opm_core::identity::{Identity, ObjectSelector};
use opm_core::ids::ReleaseId;
use opm_core::name::{ComponentName, ModulePath, NamespaceName, ReleaseName};
pub use opm_core::plan::GuardFlags;
pub use opm_core::record::history::DEFAULT_MAX_HISTORY;
use opm_core::rendered::Rendered;
use opm_core::review::{ReviewMode, ReviewedPlan};

use crate::ports::Permit;

/// A release, as a command names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseRef {
    /// By its name: found by listing.
    Name(ReleaseName),
    /// By its id: found by listing.
    Id(ReleaseId),
    /// By module, name and namespace: found by a single GET.
    Module {
        /// The module's path.
        path: ModulePath,
        /// The release's name.
        name: ReleaseName,
        /// The release's namespace, which the module may have a say in.
        namespace: NamespaceName,
    },
}

impl ReleaseRef {
    /// The namespace to look in, given the one that was asked for.
    pub fn namespace_or<'a>(&'a self, asked: &'a NamespaceName) -> &'a NamespaceName {
        match self {
            Self::Module { namespace, .. } => namespace,
            Self::Name(_) | Self::Id(_) => asked,
        }
    }
}

impl fmt::Display for ReleaseRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) | Self::Module { name, .. } => name.fmt(f),
            Self::Id(id) => id.fmt(f),
        }
    }
}

/// How many requests at a time where the number adapts, at most.
const MOST_AT_A_TIME: usize = 96;

/// How many requests are sent at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// As many as the server takes well: more on a long way to it, fewer when it is busy.
    #[default]
    Adaptive,
    /// This many.
    Fixed(usize),
}

impl Concurrency {
    /// How many there are at most.
    pub(crate) fn limit(self) -> usize {
        match self {
            Self::Adaptive => MOST_AT_A_TIME,
            Self::Fixed(number) => number,
        }
    }

    /// The permit for requests of which so many are sent.
    pub(crate) fn pace(self, permit: Permit<'_>) -> Permit<'_> {
        Permit {
            paced: self == Self::Adaptive,
            ..permit
        }
    }
}

/// How long a wait takes at most unless somebody says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// How an apply goes about it: the same for a module and for a change of the history.
#[derive(Debug, Clone)]
pub struct ApplyOptions {
    /// Only show what would happen.
    pub dry_run: bool,
    /// Leave stale objects standing, as kept.
    pub no_prune: bool,
    /// How many changes the record keeps.
    pub max_history: usize,
    /// Which untracked objects may be taken over.
    pub adopt: Adopt,
    /// Take over objects of other releases.
    pub take_ownership: bool,
    /// Delete and recreate objects whose immutable fields changed.
    pub recreate: bool,
    /// What renders nothing may prune everything.
    pub allow_empty: bool,
    /// What looks like another module may take the place of everything.
    pub replace_all: bool,
    /// Take over fields that other managers own, also on objects that are new to the inventory.
    pub force_conflicts: bool,
    /// Let the server pretend to take everything before anything is sent.
    pub preflight: bool,
    /// Where nothing has to be done, write nothing at all, and do not wait either.
    pub quiet: bool,
    /// Send everything, also what would change nothing as far as can be told.
    pub send_all: bool,
    /// Run the hooks of charts.
    pub hooks: bool,
    /// Make up anew what charts make up, instead of keeping what was applied.
    pub rotate: bool,
    /// Refuse a module that asks for what is not carried out.
    pub strict: bool,
    /// Which guarded kinds may go.
    pub guards: GuardFlags,
    /// Wait until the release is ready, after it is recorded.
    pub wait: bool,
    /// Prune only when the new objects are ready.
    pub prune_after_ready: bool,
    /// How long to wait, for phases, readiness and deletions each.
    pub timeout: Duration,
    /// Wait for objects that are being deleted, instead of refusing.
    pub wait_for_deletion: bool,
    /// How long to wait for another holder of the lock.
    pub lock_timeout: Duration,
    /// How many requests at a time.
    pub concurrency: Concurrency,
    /// What the log says about this deployment.
    pub message: Option<String>,
    /// When somebody has to agree to the plan, if somebody can be asked.
    pub review: ReviewMode,
    /// The plan that was reviewed: anything else is refused.
    pub reviewed: Option<ReviewedPlan>,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            dry_run: false,
            no_prune: false,
            max_history: DEFAULT_MAX_HISTORY,
            adopt: Adopt::None,
            take_ownership: false,
            recreate: false,
            allow_empty: false,
            replace_all: false,
            force_conflicts: false,
            preflight: false,
            quiet: false,
            send_all: false,
            hooks: true,
            rotate: false,
            strict: false,
            guards: GuardFlags::default(),
            wait: false,
            prune_after_ready: false,
            timeout: DEFAULT_TIMEOUT,
            wait_for_deletion: false,
            lock_timeout: Duration::ZERO,
            concurrency: Concurrency::default(),
            message: None,
            review: ReviewMode::default(),
            reviewed: None,
        }
    }
}

/// Apply a rendered module.
#[derive(Debug, Clone)]
pub struct ApplyRequest {
    /// The module, rendered: all its components, selected or not.
    pub rendered: Rendered,
    /// The release's name.
    pub name: ReleaseName,
    /// The release's namespace.
    pub namespace: NamespaceName,
    /// Which optional components are selected; none leaves the recorded selection.
    pub selection: Option<Vec<ComponentName>>,
    /// Create the release's namespace if it does not exist.
    pub create_namespace: bool,
    /// Go back to the previous change when the apply fails.
    pub atomic: bool,
    /// Keep the rendered manifests in a per-change record.
    pub record: bool,
    /// How to go about it.
    pub options: ApplyOptions,
}

impl ApplyRequest {
    /// An apply of a rendered module, with everything as it is when nobody says otherwise.
    pub fn new(rendered: Rendered, name: ReleaseName, namespace: NamespaceName) -> Self {
        Self {
            rendered,
            name,
            namespace,
            selection: None,
            create_namespace: false,
            atomic: false,
            record: true,
            options: ApplyOptions::default(),
        }
    }
}

/// Remove a release, or one of its components.
#[derive(Debug, Clone)]
pub struct DeleteRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Only this component.
    pub component: Option<ComponentName>,
    /// Only show what would happen.
    pub dry_run: bool,
    /// Which guarded kinds may go.
    pub guards: GuardFlags,
    /// Wait until everything is gone.
    pub wait: bool,
    /// How long to wait.
    pub timeout: Duration,
    /// How long to wait for another holder of the lock.
    pub lock_timeout: Duration,
    /// Run the hooks of charts.
    pub hooks: bool,
    /// Keep changes and log, so that the release can be brought back.
    pub keep_history: bool,
    /// No such release is success.
    pub ignore_not_found: bool,
    /// How many changes the record keeps, when a component goes.
    pub max_history: usize,
    /// How many requests at a time.
    pub concurrency: Concurrency,
    /// What the log says about this deployment.
    pub message: Option<String>,
}

impl DeleteRequest {
    /// A delete of a whole release, with everything as it is when nobody says otherwise.
    pub fn new(release: ReleaseRef, namespace: NamespaceName) -> Self {
        Self {
            release,
            namespace,
            component: None,
            dry_run: false,
            guards: GuardFlags::default(),
            wait: false,
            timeout: DEFAULT_TIMEOUT,
            lock_timeout: Duration::ZERO,
            hooks: true,
            keep_history: false,
            ignore_not_found: false,
            max_history: DEFAULT_MAX_HISTORY,
            concurrency: Concurrency::default(),
            message: None,
        }
    }
}

/// Which tracked objects a command is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectSelection {
    /// All of them, after a confirmation that lists them.
    All,
    /// These.
    Named(Vec<ObjectSelector>),
}

impl ObjectSelection {
    /// Whether an object is one of them.
    pub(crate) fn has(&self, identity: &Identity) -> bool {
        match self {
            Self::All => true,
            Self::Named(selectors) => selectors.iter().any(|one| one.matches(identity)),
        }
    }
}

/// Delete kept objects by name.
#[derive(Debug, Clone)]
pub struct PruneRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Which of its kept objects.
    pub objects: ObjectSelection,
    /// Only show what would happen.
    pub dry_run: bool,
    /// How long to wait for another holder of the lock.
    pub lock_timeout: Duration,
    /// How many requests at a time.
    pub concurrency: Concurrency,
}

/// Run the tests of a release's charts.
#[derive(Debug, Clone)]
pub struct TestRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// How long each test may take.
    pub timeout: Duration,
    /// How long to wait for another holder of the lock.
    pub lock_timeout: Duration,
}

/// Stop tracking objects, and delete nothing.
#[derive(Debug, Clone)]
pub struct ForgetRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Which of its tracked objects. Without any, the release itself is given up.
    pub objects: ObjectSelection,
    /// How long to wait for another holder of the lock.
    pub lock_timeout: Duration,
}

/// Rebuild a record that was lost or damaged.
#[derive(Debug, Clone)]
pub struct RepairRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Only show what would be written.
    pub dry_run: bool,
    /// How long to wait for another holder of the lock.
    pub lock_timeout: Duration,
}

/// Remove the lock of a dead holder.
#[derive(Debug, Clone)]
pub struct UnlockRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
}

/// List releases.
#[derive(Debug, Clone)]
pub struct ListRequest {
    /// Only in this namespace; none means in all.
    pub namespace: Option<NamespaceName>,
    /// The namespace to look into where neither all nor their names may be listed.
    pub home: NamespaceName,
    /// Look at the releases' objects too.
    pub health: bool,
    /// Only releases that were deleted and whose record is kept, instead of those that are there.
    pub deleted: bool,
}

/// Show what the containers of a release write.
#[derive(Debug, Clone)]
pub struct LogRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Only the pods of this component.
    pub component: Option<ComponentName>,
    /// How many of the last lines of each container.
    pub tail: u32,
    /// What was written before the last restart.
    pub previous: bool,
}

impl LogRequest {
    /// The release that it is about.
    pub(crate) fn status(&self) -> StatusRequest {
        StatusRequest {
            release: self.release.clone(),
            namespace: self.namespace.clone(),
            scan: false,
        }
    }
}

/// Show one object of a release, or one that lies below it.
#[derive(Debug, Clone)]
pub struct ObjectRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Which object.
    pub object: Identity,
    /// How many of the newest events.
    pub events: usize,
    /// How many of the last lines of each container.
    pub tail: u32,
}

impl ObjectRequest {
    /// The release that it is about.
    pub(crate) fn status(&self) -> StatusRequest {
        self.logs().status()
    }

    /// The logs that it asks for.
    pub(crate) fn logs(&self) -> LogRequest {
        LogRequest {
            release: self.release.clone(),
            namespace: self.namespace.clone(),
            component: None,
            tail: self.tail,
            previous: false,
        }
    }
}

/// Show how a release stands.
#[derive(Debug, Clone)]
pub struct StatusRequest {
    /// Which release.
    pub release: ReleaseRef,
    /// Its namespace.
    pub namespace: NamespaceName,
    /// Look for objects with the release's labels in all kinds and everywhere, instead of where
    /// its changes have put any.
    pub scan: bool,
}
