//! One call of a use case: who it is, what time it is, what stops it, and how it ends.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::{Either, select};
use futures::lock::Mutex;
use opm_core::digest::ObjectHash;
use opm_core::entry::Entry;
use opm_core::event::{Event, Wait};
use opm_core::managed::ManagerMark;
use opm_core::protocol::{Deployed, RunEnd, RunStart};
use opm_core::record::{Extra, Lock, LogResult};
use opm_core::rights::AccessRule;
use opm_core::time::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::engine::Settings;
use crate::failure::{Failure, FailureKind};
use crate::ports::{
    Answer, Backend, Caller, Doubt, Instant, Permit, Question, Stopped, StoredSecret,
};
use crate::record::{LockGuard, UnpackBudget};
use crate::report::{ObjectOutcome, Report};
use crate::request::Concurrency;

/// Marks the number of a run that puts back what the run of that number began.
const FALLBACK: u64 = 1 << 63;

/// How often a wait under a lock looks up to see whether the lock is still certain.
const LOOK_UP: Duration = Duration::from_millis(100);

/// Everything that belongs to one call of a use case, and to no other.
pub(crate) struct Run<'a> {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) settings: &'a Settings,
    pub(crate) caller: &'a Caller<'a>,
    /// Tells the runs of one engine apart.
    number: u64,
    /// What stops it; none for a run that puts back what a cancelled one began.
    cancel: Option<CancellationToken>,
    doubt: Doubt,
    /// What it has decompressed so far.
    pub(crate) unpacked: UnpackBudget,
    /// One question at a time.
    asking: Mutex<()>,
    /// What it says about who manages the release, once that is known.
    pub(crate) manager: Mutex<ManagerMark>,
    /// Who the server takes this run for, once it was asked.
    who: Mutex<Option<String>>,
    /// What it may do in the namespaces that it has asked about.
    rules: Mutex<BTreeMap<String, Vec<AccessRule>>>,
    /// The Secret by which the release was found, until it is read.
    pub(crate) found: Mutex<Option<StoredSecret>>,
    /// Who wants to hear that there is no record under the release's name.
    pub(crate) absent: Mutex<Option<oneshot::Sender<()>>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        backend: &dyn Backend,
        settings: &'a Settings,
        number: u64,
        caller: &'a Caller<'a>,
    ) -> Self {
        let cancel = Some(caller.cancel.clone());
        let backend = backend.for_run(caller.act_as.as_deref());
        Self {
            number,
            backend: backend.with_reads_until(cancel.clone()),
            settings,
            caller,
            cancel,
            doubt: Doubt::default(),
            unpacked: UnpackBudget::default(),
            asking: Mutex::new(()),
            manager: Mutex::default(),
            who: Mutex::new(None),
            rules: Mutex::default(),
            found: Mutex::new(None),
            absent: Mutex::new(None),
        }
    }

    /// A run that cancelling does not stop: it puts back what this one began.
    pub(crate) fn not_cancellable<'s>(&'s self, caller: &'s Caller<'s>) -> Run<'s> {
        let number = self.number | FALLBACK;
        let run = Run::new(&*self.backend, self.settings, number, caller);
        Run {
            cancel: None,
            backend: run.backend.with_reads_until(None),
            ..run
        }
    }

    /// Whether a feature is on.
    pub(crate) fn has(&self, feature: &str) -> bool {
        let features = &self.settings.features;
        features.get(feature).copied().unwrap_or(false)
    }

    /// Tells whoever watches.
    pub(crate) fn emit(&self, event: Event) {
        self.caller.frontend.events.emit(event);
    }

    /// Tells that a request about an object is on its way.
    pub(crate) fn tell_sent(&self, entry: &Entry) {
        self.emit(Event::Sent {
            identity: entry.identity.clone(),
            component: entry.component.clone(),
        });
    }

    /// Asks whoever answers, one question at a time, unless the permit ends first: nobody has to
    /// answer a question that does not matter any more.
    pub(crate) async fn ask(
        &self,
        question: &Question,
        permit: Permit<'_>,
    ) -> Result<Answer, Stopped> {
        let asked = async {
            let _turn = self.asking.lock().await;
            self.caller.frontend.prompt.ask(question).await
        };
        self.unless_stopped(permit, asked).await
    }

    /// The same before the lock is taken.
    pub(crate) async fn confirm(&self, question: &Question) -> Result<Answer, Failure> {
        let answer = self.ask(question, self.permit()).await;
        answer.map_err(|stopped| Failure::stopped("nothing was changed", stopped))
    }

    /// For requests that need no lock.
    pub(crate) fn permit(&self) -> Permit<'_> {
        Permit {
            cancel: self.cancel.as_ref(),
            fence: None,
            doubt: Some(&self.doubt),
            paced: false,
        }
    }

    /// So many objects are sent next, or removed.
    pub(crate) fn expect(&self, objects: usize, concurrency: Concurrency) {
        self.backend
            .expect_requests(objects.min(concurrency.limit()));
    }

    /// For requests that this run may send only while it holds the lock.
    pub(crate) fn permit_under<'s>(&'s self, guard: &'s LockGuard) -> Permit<'s> {
        Permit {
            fence: Some(&guard.fence),
            ..self.permit()
        }
    }

    /// Until when something may still land that this run sent and nobody waits for any more.
    pub(crate) fn may_land_until(&self) -> Option<Timestamp> {
        let request = self.settings.timing.request;
        self.doubt.exists().then(|| self.server_now() + request)
    }

    /// Both clocks, as a permit wants them.
    pub(crate) fn now(&self) -> (Instant, Timestamp) {
        (self.backend.monotonic(), self.backend.wall())
    }

    /// The server's time, as well as it is known.
    pub(crate) fn server_now(&self) -> Timestamp {
        let server = self.backend.server_time();
        server.unwrap_or_else(|| self.backend.wall())
    }

    /// Waits until a time of the server has passed.
    pub(crate) async fn rest(&self, until: Timestamp, permit: Permit<'_>) -> Result<(), Stopped> {
        let rest = until.since(self.server_now()) + Duration::from_secs(1);
        self.emit(Event::Waiting(Wait::Rest(rest)));
        self.unless_stopped(permit, self.backend.sleep(rest)).await
    }

    /// Waits for something, unless the permit ends first.
    pub(crate) async fn unless_stopped<T>(
        &self,
        permit: Permit<'_>,
        work: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        match select(pin!(work), pin!(self.stopped(permit))).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right((stopped, _)) => Err(stopped),
        }
    }

    async fn stopped(&self, permit: Permit<'_>) -> Stopped {
        loop {
            if let Err(stopped) = permit.check(self.now()) {
                return stopped;
            }
            let pause = pin!(self.backend.sleep(LOOK_UP));
            match (permit.cancel, permit.fence) {
                (Some(cancel), None) => cancel.cancelled().await,
                (Some(cancel), Some(_)) => {
                    select(pin!(cancel.cancelled()), pause).await;
                }
                (None, _) => pause.await,
            }
        }
    }

    /// Reads, unless the caller cancels first: nothing is touched, so nothing has to be ended.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let interrupted = |stopped: Stopped| Failure::new(stopped.into(), "interrupted");
        let done = match self.unless_stopped(self.permit(), work).await {
            // What was cut short knows less than it says, or fails for that reason alone.
            Ok(done) => self.permit().check(self.now()).map(|()| done),
            Err(stopped) => Err(stopped),
        };
        done.unwrap_or_else(|stopped| Err(interrupted(stopped)))
    }

    /// A look that a cancellation ended was not kept from its answer by anything else.
    pub(crate) fn because_cancelled(&self, mut failure: Failure) -> Failure {
        let before_writing = matches!(
            failure.kind,
            FailureKind::Unreachable | FailureKind::Refused
        );
        if before_writing && self.caller.cancel.is_cancelled() {
            failure.kind = FailureKind::Interrupted;
        }
        failure
    }

    /// Who acts, as the server says, or else as this machine does. Asked once.
    pub(crate) async fn who(&self) -> String {
        let mut known = self.who.lock().await;
        if let Some(who) = &*known {
            return who.clone();
        }
        // On whose behalf a controller acts is known without asking.
        let who = match self.caller.manager.is_some() {
            true => self.caller.act_as.clone(),
            false => self.backend.user().await,
        };
        let who = who.unwrap_or_else(|| self.settings.actor.who.clone());
        known.insert(who).clone()
    }

    /// What the server says may be done in a namespace, if it says anything. Asked once.
    pub(crate) async fn access_rules(&self, namespace: &str) -> Option<Vec<AccessRule>> {
        if let Some(rules) = self.rules.lock().await.get(namespace) {
            return Some(rules.clone());
        }
        let rules = self.backend.access_rules(namespace).await.ok()?;
        let mut known = self.rules.lock().await;
        known.insert(namespace.to_owned(), rules.clone());
        Some(rules)
    }

    /// This run, as the lock and the log name it.
    pub(crate) async fn start(
        &self,
        command: &str,
        message: Option<String>,
        change: Option<String>,
        deployed: Option<Deployed>,
    ) -> RunStart {
        let actor = &self.settings.actor;
        let who = self.who().await;
        let lock = Lock {
            id: self.unique_id(),
            holder: who.clone(),
            host: actor.host.clone(),
            pid: actor.pid,
            boot: actor.boot.clone(),
            pid_namespace: actor.pid_namespace.clone(),
            command: command.to_owned(),
            since: String::new(),
            beat: 0,
            extra: Extra::default(),
        };
        RunStart {
            lock,
            who,
            from: actor.pipeline.clone().unwrap_or_else(|| actor.host.clone()),
            opm: actor.version.clone(),
            message,
            change,
            deployed,
            manager: self.manager.lock().await.clone(),
            log_entries: self.settings.log_entries,
            timing: self.settings.timing,
            now: self.server_now(),
        }
    }

    /// Where, when and which run of this process this is, in short: no other run has the same.
    fn unique_id(&self) -> String {
        let actor = &self.settings.actor;
        let (monotonic, wall) = self.now();
        let text = format!(
            "{} {:?} {:?} {} {} {} {}",
            actor.host,
            actor.boot,
            actor.pid_namespace,
            actor.pid,
            monotonic.0.as_nanos(),
            wall.0.as_nanos(),
            self.number
        );
        ObjectHash::of_bytes(text.as_bytes()).as_str().to_owned()
    }

    /// How a run ended, for the log.
    pub(crate) fn ended(
        &self,
        result: LogResult,
        reason: Option<String>,
        outcomes: &[ObjectOutcome],
    ) -> RunEnd {
        RunEnd {
            result,
            reason,
            counts: Report::counts(outcomes),
            record: None,
            now: self.server_now(),
        }
    }
}
