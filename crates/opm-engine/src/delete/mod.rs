//! `delete`: removes a release, or one component of it.
//!
//! A delete is a plan without phases. Objects go in the reverse of the order in which they were
//! applied; then the record goes, and last, if its guard is lifted, the namespace that the record
//! lived in. What cannot be deleted keeps the record alive.

mod component;
mod conclude;
mod discovered;
mod hooks;
mod own_namespace;
mod remove;
mod unrecorded;

use opm_core::candidate::CandidateHook;
use opm_core::check::{Adopt, CheckContext, CheckedPlan, LiveObject, Observed, check};
use opm_core::event::{AnnouncedObject, Event, PlannedAction, RunPhase};
use opm_core::hook::HookFlow;
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::plan::{Plan, PlanError, PlanOptions, plan_delete, plan_delete_component};
use opm_core::protocol::{Deployed, LockAcquisition, RunStart};
use opm_core::record::Record;
use opm_core::record::size::Records;

pub(crate) use self::discovered::LabelLookup;
use crate::apply::tell::{transferred, without_request};
use crate::failure::{Failure, FailureKind, Remedy};
use crate::ports::{AnnouncedHook, Answer, Detail, Observation, Question, StoredSecret};
use crate::record::{
    Attempt, Beginning, LoadedRecord, LockedRun, RecordAccess, RecordSecret, RecordSecretScope,
    RecordWriter, WritableRecord,
};
use crate::report::{Action, ObjectOutcome, Release, Report, TrackedObject};
use crate::request::DeleteRequest;
use crate::run::Run;

/// One delete: what every step of it needs.
struct Delete<'a> {
    run: &'a Run<'a>,
    request: &'a DeleteRequest,
    release: Release,
    confirmed: bool,
}

/// What is to be deleted, and where that is known from.
struct DeleteSource {
    record: Record,
    stored: Option<StoredSecret>,
    warnings: Vec<String>,
    /// The hooks of the current change.
    hooks: Vec<CandidateHook>,
    /// The Secrets beside the record, if they were looked for.
    beside: Option<Vec<RecordSecret>>,
}

impl Run<'_> {
    /// Deletes a release, or one of its components.
    pub(crate) async fn delete(&self, request: &DeleteRequest) -> Result<Report, Failure> {
        let (reference, namespace) = (&request.release, &request.namespace);
        let release = match self.find(reference, namespace).await? {
            Some(release) => release,
            None => match self.look_for_labels(reference, namespace).await? {
                LabelLookup::Found(release) => release,
                LabelLookup::Unknown { sharing, unseen } => {
                    let missing = self.no_such_release(reference, namespace).await;
                    return not_found(request, &sharing, missing.unseen(unseen));
                }
            },
        };
        let mut delete = Delete {
            run: self,
            request,
            release: release.clone(),
            confirmed: false,
        };
        self.write_release(&release, request.lock_timeout, &mut delete)
            .await
    }
}

impl RecordWriter for Delete<'_> {
    type Output = Report;

    fn access(&self) -> RecordAccess {
        RecordAccess::to_change(self.request.dry_run)
    }

    async fn attempt(&mut self, loaded: WritableRecord) -> Result<Attempt<Report>, Failure> {
        let free = loaded.free();
        let WritableRecord {
            loaded,
            acquisition,
            warnings,
        } = loaded;
        let Some(mut source) = self.source(loaded, warnings).await? else {
            let given = &self.request.release;
            let missing = Failure::no_release(given, given.namespace_or(&self.request.namespace));
            return not_found(self.request, &[], missing).map(Attempt::Done);
        };
        source.hooks = self.hooks(&source.record).await?;
        // Who asks is told in lock and log, which come later.
        let checking = async {
            let who = async {
                if !self.request.dry_run {
                    self.run.who().await;
                }
            };
            let (checked, beside, ()) = futures::join!(
                Box::pin(self.check(&source.record, &source.hooks)),
                Box::pin(self.secrets_beside(&source)),
                Box::pin(who)
            );
            checked.map(|checked| (checked, beside))
        };
        let (checked, beside) = match self.run.unless_cancelled(checking).await {
            Ok(checked) => checked,
            Err(failure) if self.request.dry_run => return Err(failure),
            Err(failure) => {
                let (run, start) = (self.run, self.start(&source.record));
                let logged = run.log_if_refused(&self.release, free, failure, start);
                return Err(logged.await);
            }
        };
        // Who held the lock before may still make one.
        source.beside = match &acquisition {
            LockAcquisition::Free { .. } => beside,
            LockAcquisition::TakeOver(_) => None,
        };
        // What could not be recorded afterwards is not begun.
        if self.request.component.is_some() && source.record.current().is_none() {
            return Err(component::nothing_to_leave());
        }
        self.announce(&checked);
        if self.request.dry_run {
            let rehearsed = self.rehearse(&checked, source.warnings).await;
            return rehearsed.map(Attempt::Done);
        }
        let again = source.record.is_deleted();
        if again && changes_nothing(&checked) {
            return Ok(Attempt::Done(self.kept_already(&source)));
        }
        // Where nothing would go, there is nothing to confirm.
        let nothing_goes = again && checked.stale.prune.is_empty();
        if !self.confirmed && !nothing_goes {
            self.confirm(&checked).await?;
            self.confirmed = true;
        }
        if source.stored.is_none() && self.is_homeless().await {
            let deleted = self.unrecorded(&checked, source.warnings).await;
            return deleted.map(Attempt::Done);
        }
        let going = checked.stale.prune.len();
        self.run.expect(going, self.request.concurrency);
        let beginning = Beginning {
            record: source.record.clone(),
            stored: source.stored.clone(),
            acquisition,
            checked,
            start: self.start(&source.record).await,
            records: Records::Used,
        };
        let Some(LockedRun { locked, guard }) = self.run.begin(&self.release, beginning).await?
        else {
            return Ok(Attempt::Again);
        };
        self.run.emit(Event::Phase {
            phase: RunPhase::Delete,
            objects: locked.plan().stale.prune.len(),
        });
        let work = self.delete_all(locked, &guard, &source);
        let deleted = self.run.while_renewing(&guard, work).await?;
        let deleted = self.namespace_last(deleted).await?;
        self.wait_until_gone(deleted).await.map(Attempt::Done)
    }
}

/// Whether no look at anything came to an answer.
fn saw_nothing(observed: &Observed) -> bool {
    let failed = |seen: &Observation<LiveObject>| matches!(seen, Observation::Failed(_));
    !observed.is_empty() && observed.values().all(failed)
}

impl Delete<'_> {
    /// The record, or what the labels say where there is none.
    async fn source(
        &self,
        loaded: Option<LoadedRecord>,
        mut warnings: Vec<String>,
    ) -> Result<Option<DeleteSource>, Failure> {
        if let Some(loaded) = loaded {
            warnings.extend(loaded.warnings);
            return Ok(Some(DeleteSource {
                record: loaded.record,
                stored: Some(loaded.stored),
                warnings,
                hooks: Vec::new(),
                beside: None,
            }));
        }
        if self.request.component.is_some() {
            return Ok(None);
        }
        let Some((record, more)) = self.discovered().await? else {
            return Ok(None);
        };
        warnings
            .push("the release has no record; its objects were found by their labels".to_owned());
        warnings.extend(more);
        Ok(Some(DeleteSource {
            record,
            stored: None,
            warnings,
            hooks: Vec::new(),
            beside: None,
        }))
    }

    /// The Secrets that go with the record, if all of it is to go. Who makes one holds the lock,
    /// so while nobody else has written the record there are no others. They are looked for before
    /// anything is deleted: a server that has just written other kinds takes its time with a list.
    async fn secrets_beside(&self, source: &DeleteSource) -> Option<Vec<RecordSecret>> {
        if self.request.dry_run || self.request.component.is_some() || source.stored.is_none() {
            return None;
        }
        let (release, record) = (&self.release, &source.record);
        let among = RecordSecretScope::All;
        self.run.record_secrets(release, record, among).await.ok()
    }

    /// What the log says of this run from the beginning.
    async fn start(&self, record: &Record) -> RunStart {
        let current = record.current();
        let deployed = current.and_then(Deployed::of_change);
        let current = current.map(|change| change.id.clone());
        let message = self.request.message.clone();
        self.run.start("delete", message, current, deployed).await
    }

    fn plan(&self, record: &Record) -> Result<Plan, Failure> {
        let options = PlanOptions {
            no_prune: false,
            allow_empty: true,
            replace_all: true,
            guards: self.request.guards,
        };
        let plan = match &self.request.component {
            Some(component) => plan_delete_component(record, component.as_str(), options),
            None => plan_delete(record, options),
        };
        plan.map_err(|error| {
            let kind = match error {
                PlanError::NoSuchComponent(_) => FailureKind::NotFound,
                _ => FailureKind::Refused,
            };
            let failure = Failure::new(kind, error.to_string()).because(error);
            failure.after(self.report())
        })
    }

    /// Plans, looks, and checks.
    async fn check(
        &self,
        record: &Record,
        hooks: &[CandidateHook],
    ) -> Result<CheckedPlan, Failure> {
        let plan = self.plan(record)?;
        let plan = plan.with_hooks(hooks, Some(HookFlow::Delete), Some(record));
        let release = &self.release.id;
        let look = || Box::pin(self.run.observe(&plan, release, |_| Detail::Metadata));
        let (mut observed, _) = look().await;
        if saw_nothing(&observed) {
            // Then it is not the objects: the server is asked what it serves, and they once more.
            self.run.discover().await?;
            (observed, _) = look().await;
        }
        let occupants = self.run.look_into(&plan, None).await;
        let context = CheckContext {
            release: *release,
            adopt: Adopt::None,
            take_ownership: false,
            occupants: &occupants,
        };
        check(plan, &observed, &context)
            .map_err(|refusals| Failure::of_refusals(refusals).after(self.report()))
    }

    fn announce(&self, checked: &CheckedPlan) {
        let prunes = checked.stale.prune.iter();
        let prunes = prunes.map(|step| (&step.entry, PlannedAction::Prune));
        let keeps = checked.stale.keep.iter();
        let keeps = keeps.map(|keep| (&keep.entry, PlannedAction::Keep));
        let objects = prunes.chain(keeps).map(|(entry, planned)| AnnouncedObject {
            identity: entry.identity.clone(),
            component: entry.component.clone(),
            planned,
        });
        self.run.emit(Event::Planned {
            release: self.release.name.to_string(),
            change: None,
            objects: objects.collect(),
        });
    }

    async fn confirm(&self, checked: &CheckedPlan) -> Result<(), Failure> {
        let going = checked.stale.prune.iter();
        let objects: Vec<Identity> = going.map(|step| step.entry.identity.clone()).collect();
        let question = Question::Delete {
            release: self.release.name.to_string(),
            objects,
            kept: checked
                .stale
                .keep
                .iter()
                .map(|keep| keep.entry.identity.clone())
                .collect(),
            hooks: checked.hooks.iter().map(AnnouncedHook::of).collect(),
        };
        let failure = match self.run.confirm(&question).await {
            Ok(Answer::Yes) => return Ok(()),
            Ok(Answer::No) => Failure::refused("declined: nothing was deleted"),
            Ok(Answer::CannotAsk) => {
                Failure::refused("deleting a release has to be confirmed").remedy(Remedy::Confirm)
            }
            Err(stopped) => stopped,
        };
        Err(failure.after(self.report()))
    }

    /// The release is deleted already, and what it kept still stands.
    fn kept_already(&self, source: &DeleteSource) -> Report {
        let mut report = self.report();
        report.take_tracked(&source.record);
        let outcomes = source
            .record
            .kept
            .objects
            .iter()
            .map(|kept| ObjectOutcome::of(&kept.entry, Action::Kept, kept.reason.clone()));
        report.resources = outcomes.collect();
        report.warnings.clone_from(&source.warnings);
        report
    }

    /// What every report of this delete begins with.
    fn report(&self) -> Report {
        Report {
            dry_run: self.request.dry_run,
            ..Report::about(&self.release)
        }
    }

    /// What was decided about objects without any request.
    fn take_decided(&self, checked: &CheckedPlan, report: &mut Report) {
        let decided = without_request(&checked.stale);
        for outcome in &decided {
            self.run.emit(outcome.event());
        }
        report.resources.extend(decided);
        report.warnings.extend(transferred(&checked.stale));
        let since = self.run.server_now().to_string();
        let kept = checked.stale.keep.iter().map(|keep| {
            TrackedObject::of(&keep.entry, keep.why.word(), "", &since)
                .because(Some(keep.reason.clone()))
        });
        report.kept = kept.collect();
    }
}

/// Whether a plan leaves a deleted release as it is.
fn changes_nothing(checked: &CheckedPlan) -> bool {
    let stale = &checked.stale;
    stale.prune.is_empty()
        && stale.gone.is_empty()
        && stale.transferred.is_empty()
        && stale.undetermined.is_empty()
        && stale.keep.iter().all(|keep| keep.mine)
}

/// There is no such release; releases that share objects under its name may be meant.
fn not_found(
    request: &DeleteRequest,
    sharing: &[ReleaseId],
    missing: Failure,
) -> Result<Report, Failure> {
    let report = Report {
        dry_run: request.dry_run,
        ..Report::default()
    };
    if request.ignore_not_found {
        return Ok(report);
    }
    let mut failure = missing;
    if !sharing.is_empty() {
        let ids: Vec<String> = sharing.iter().map(ToString::to_string).collect();
        failure = failure.remedy(format!(
            "releases of that name share objects, which do not tell their namespace: name one by \
             its id ({})",
            ids.join(", ")
        ));
    }
    Err(failure.after(report))
}
