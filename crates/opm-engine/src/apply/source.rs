//! What is applied, and what for: a module that was just rendered, or a change of the history.
//!
//! The flow is the same for all of them. Which change is meant is decided anew in every attempt,
//! from the very record that the lock is then taken in.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use opm_core::candidate::{Candidate, CandidateObject, Selection};
use opm_core::check::StaleDecisions;
use opm_core::failure::Remedy;
use opm_core::plan::Guard;
use opm_core::record::{Change, Record, RecordPart};

use super::Apply;
use super::atomic::{Fallback, FallbackRun};
use crate::failure::Failure;
use crate::observe::scopes;
use crate::ports::ServedKinds;
use crate::report::Release;
use crate::request::ApplyRequest;
use crate::rollback::Rollback;
use crate::run::Run;

/// Where what is applied comes from.
pub(crate) enum ApplySource<'a> {
    /// A module, rendered.
    Module(&'a ApplyRequest),
    /// A change of the history.
    History(&'a Rollback<'a>),
    /// The change that was current before an apply failed.
    Fallback(&'a FallbackRun<'a>),
}

/// One apply, ready to be attempted.
pub(crate) struct ApplyTask<'a> {
    pub(crate) request: Cow<'a, ApplyRequest>,
    pub(crate) mode: ApplyMode,
    /// What the user should know about the choice.
    pub(crate) warnings: Vec<String>,
}

/// What an apply is for.
#[derive(Debug, Default)]
pub(crate) struct ApplyMode {
    /// The change that is applied again, if one is.
    pub(crate) reapply: Option<Reapply>,
    /// The way back, if there has to be one: then nothing is recorded before it is ready.
    pub(crate) fallback: Option<Fallback>,
    /// Whether somebody has to agree when data is left behind or begun anew.
    pub(crate) asks_about_data: bool,
    /// The run that this one rolls back; the log says so.
    pub(crate) rolls_back: Option<String>,
}

/// A change that is applied again.
#[derive(Debug, Clone)]
pub(crate) struct Reapply {
    id: String,
    features: Option<BTreeMap<String, bool>>,
}

impl Reapply {
    pub(crate) fn of(change: &Change) -> Self {
        Self {
            id: change.id.clone(),
            features: change.features.clone(),
        }
    }
}

impl ApplySource<'_> {
    /// How it is called, and the message that goes with it.
    pub(super) fn called(&self) -> (&'static str, Option<String>) {
        match self {
            Self::Module(request) => ("apply", request.options.message.clone()),
            Self::History(rollback) => ("rollback", rollback.message()),
            Self::Fallback(_) => ("rollback", None),
        }
    }

    /// What to apply, decided from the record as it stands.
    pub(super) async fn render(
        &self,
        run: &Run<'_>,
        release: &Release,
        record: Option<&Record>,
    ) -> Result<ApplyTask<'_>, Failure> {
        match self {
            Self::Module(request) => {
                let mut warnings = Vec::new();
                let kept = run.keep_generated(request, release, record, &mut warnings);
                Ok(ApplyTask {
                    request: kept.await.map_or(Cow::Borrowed(*request), Cow::Owned),
                    mode: ApplyMode {
                        fallback: match request.atomic {
                            true => Some(run.fallback(release, record).await?),
                            false => None,
                        },
                        ..ApplyMode::default()
                    },
                    warnings,
                })
            }
            Self::History(rollback) => run.rollback_task(rollback, release, record).await,
            Self::Fallback(fallback) => fallback.task(record),
        }
    }
}

impl Run<'_> {
    /// The request with what its charts made up when the current change was applied; none if they
    /// made up nothing, or are to do so anew.
    async fn keep_generated(
        &self,
        request: &ApplyRequest,
        release: &Release,
        record: Option<&Record>,
        warnings: &mut Vec<String>,
    ) -> Option<ApplyRequest> {
        if request.options.rotate || !request.rendered.has_generated() {
            return None;
        }
        let change = record.filter(|record| !record.is_deleted())?.current()?;
        match self.restored(release, change).await {
            Ok(former) => {
                let mut request = request.clone();
                let namespace = request.namespace.clone();
                request
                    .rendered
                    .keep_generated(&former.rendered, &namespace);
                Some(request)
            }
            Err(error) => {
                warnings.push(format!(
                    "what charts generate is generated again, because the manifests of the \
                     current change cannot be read: {error}"
                ));
                None
            }
        }
    }
}

impl<'a> Apply<'a> {
    /// What the release is about to be.
    pub(super) fn candidate(
        run: &'a Run<'a>,
        task: &'a ApplyTask<'_>,
        served: &'a Arc<ServedKinds>,
        stored: Option<&Record>,
    ) -> Result<Self, Failure> {
        let candidate = candidate(task, served, stored)?;
        // Also those that are not sent, because nothing about them changes.
        let is_secret =
            |one: &&CandidateObject| one.manifest.identity().group_kind.is("", "Secret");
        for object in candidate.objects.iter().filter(is_secret) {
            run.backend.hide(&object.manifest.object());
        }
        Self::of(run, task, served, candidate)
    }

    /// The apply of a candidate that was made before.
    pub(super) fn of(
        run: &'a Run<'a>,
        task: &'a ApplyTask<'_>,
        served: &'a Arc<ServedKinds>,
        candidate: Candidate,
    ) -> Result<Self, Failure> {
        let apply = Self {
            run,
            request: task.request.as_ref(),
            mode: &task.mode,
            served,
            candidate,
        };
        task.mode
            .check(&apply.candidate)
            .map_err(|failure| apply.refusal(failure))?;
        Ok(apply)
    }
}

fn candidate(
    task: &ApplyTask<'_>,
    served: &ServedKinds,
    stored: Option<&Record>,
) -> Result<Candidate, Failure> {
    let request = task.request.as_ref();
    let scopes = match task.mode.reapply {
        None => scopes(served),
        // Where objects live that were applied before is known from themselves, also if the
        // cluster does not know their kind any more.
        Some(_) => {
            let components = request.rendered.components.iter();
            scopes(served).with_applied(components.flat_map(|one| &one.manifests))
        }
    };
    let recorded = stored.and_then(Record::current);
    let recorded = recorded.and_then(|change| change.components.clone());
    let selection = match &request.selection {
        Some(given) => Selection::Given(given.iter().map(ToString::to_string).collect()),
        None => recorded.map_or(Selection::ByDefault, Selection::Recorded),
    };
    let candidate = Candidate::new(
        request.rendered.clone(),
        request.name.clone(),
        request.namespace.clone(),
        &selection,
        scopes,
    );
    let candidate = match request.options.strict {
        true => candidate.and_then(Candidate::complete),
        false => candidate,
    };
    candidate.map_err(|error| {
        let failure = Failure::refused(error.to_string());
        let hint = error.hint().map(Remedy::from);
        let failure = hint.into_iter().fold(failure, Failure::remedy);
        failure.because(error)
    })
}

impl ApplyMode {
    /// The command, as lock and log name it.
    pub(super) fn command(&self) -> &'static str {
        match self.reapply {
            Some(_) => "rollback",
            None => "apply",
        }
    }

    /// The feature flags that the change was rendered with: now, or when it was new.
    pub(super) fn features(&self, now: &BTreeMap<String, bool>) -> BTreeMap<String, bool> {
        let reapply = self.reapply.as_ref();
        let then = reapply.and_then(|reapply| reapply.features.clone());
        then.unwrap_or_else(|| now.clone())
    }

    /// Whether manifests that are kept already stay so, whatever is kept from now on: going back
    /// to a change must not take away the way there.
    pub(super) fn keeps_manifests_of(&self, stored: &Record) -> bool {
        let reapply = self.reapply.as_ref();
        let change = reapply.and_then(|reapply| stored.change(&reapply.id));
        change.is_some_and(|change| change.holds(RecordPart::Manifests))
    }

    /// What is applied again has to come to the very change that was meant.
    fn check(&self, candidate: &Candidate) -> Result<(), Failure> {
        match &self.reapply {
            Some(reapply) if reapply.id != candidate.change.as_str() => {
                let message = format!(
                    "{}: the restored manifests do not match this change: they make {} (digest {})",
                    reapply.id, candidate.change, candidate.digest
                );
                Err(Failure::refused(message).remedy(Remedy::ShowWaysBack))
            }
            _ => Ok(()),
        }
    }

    /// Where there has to be a way back, nothing may go that would not come back with its
    /// content.
    pub(super) fn check_stale(&self, stale: &StaleDecisions) -> Result<(), Failure> {
        if self.fallback.is_none() {
            return Ok(());
        }
        let mut lost = stale.prune.iter().map(|step| &step.entry.identity);
        match lost.find(|identity| Guard::of(&identity.group_kind).is_some()) {
            None => Ok(()),
            Some(identity) => Err(Failure::refused(format!(
                "{identity} would be removed for good, so an atomic apply could not go back"
            ))
            .object(identity.clone(), "what it holds would not come back")
            .remedy(Remedy::NotAtomicOrKeepGuard)),
        }
    }
}
