//! `apply`: RFC-0001's flow, from top to bottom.
//!
//! Rendering has happened already. Everything up to `begin` only reads; losing the race for the
//! record there means starting over from the load. After it, either everything is applied and
//! the way leads on to pruning and recording, or nothing more happens but letting go of the
//! lock.

mod atomic;
mod begin;
mod claims;
mod conflicts;
mod course;
mod keep;
mod orphans;
mod prepare;
mod probe;
mod prune;
mod record;
mod recreate;
mod rehearse;
mod rehearsed;
mod send;
mod stages;
pub(crate) mod tell;

use std::borrow::Cow;
use std::time::Duration;

use futures::lock::Mutex;
use opm_core::candidate::Candidate;
use opm_core::check::CheckedPlan;
use opm_core::ids::ReleaseId;
use opm_core::record::Record;

use crate::engine::Engine;
use crate::failure::Failure;
use crate::ports::{Answer, Clock, Cluster, Frontend, Question, SecretStore, ServedKinds};
use crate::record::WritableRecord;
use crate::report::{Release, Report};
use crate::request::ApplyRequest;
use crate::rollback::{Rollback, data};

use atomic::FallbackRun;
use begin::Begun;
use prepare::PrepareError;

pub(crate) use course::{ApplyMode, ApplyTask, Reapply};

/// How often everything starts over because somebody else wrote the record first.
const ATTEMPTS: usize = 5;

/// Where what is applied comes from.
pub(crate) enum ApplySource<'a> {
    /// A module, rendered.
    Module(&'a ApplyRequest),
    /// A change of the history.
    History(&'a Rollback<'a>),
    /// The change that was current before an apply failed.
    Fallback(&'a FallbackRun<'a>),
}

/// How an apply ended that had begun.
pub(crate) struct ApplyEnd {
    pub(crate) result: Result<Report, Failure>,
    /// The run, as lock and log name it.
    run: String,
    course: ApplyMode,
}

/// One apply: what every step of it needs.
struct Apply<'a, C, S, K> {
    engine: &'a Engine<C, S, K>,
    request: &'a ApplyRequest,
    course: &'a ApplyMode,
    frontend: Frontend<'a>,
    candidate: Candidate,
    /// One question at a time.
    asking: Mutex<()>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Applies a rendered module: makes the release what is rendered, removes what became
    /// stale, and records it.
    pub async fn apply(
        &self,
        request: &ApplyRequest,
        frontend: Frontend<'_>,
    ) -> Result<Report, Failure> {
        if request.options.dry_run {
            self.rehearse_way_back(request).await?;
            return self.diff(request, frontend).await?.into_report();
        }
        if request.atomic {
            return self.apply_atomic(request, frontend).await;
        }
        let (release, source) = (release_of(request), ApplySource::Module(request));
        let patience = request.options.lock_timeout;
        let ApplyEnd { result, .. } = self
            .apply_from(&release, &source, patience, frontend)
            .await?;
        result
    }

    /// The whole way, for whatever is applied. An error means that nothing was touched.
    pub(crate) async fn apply_from(
        &self,
        release: &Release,
        source: &ApplySource<'_>,
        patience: Duration,
        frontend: Frontend<'_>,
    ) -> Result<ApplyEnd, Failure> {
        let mut served = self.discover().await?;
        for _ in 0..ATTEMPTS {
            let turn = self.turn(release, patience, frontend).await?;
            let stored = turn.loaded.as_ref().map(|loaded| &loaded.record);
            let task = self.task(source, release, stored).await?;
            match self.attempt(task, turn, &served, frontend).await? {
                Attempt::Ended(ending) => return Ok(*ending),
                Attempt::Lost => {}
                Attempt::Waited => served = self.discover().await?,
            }
        }
        Err(Failure::overtaken(&release.name))
    }

    /// What to apply, decided from the record as it stands.
    async fn task<'s>(
        &self,
        source: &'s ApplySource<'_>,
        release: &Release,
        record: Option<&Record>,
    ) -> Result<ApplyTask<'s>, Failure> {
        match source {
            ApplySource::Module(request) => Ok(ApplyTask {
                request: Cow::Borrowed(request),
                course: ApplyMode {
                    back: match request.atomic {
                        true => Some(self.way_back(release, record).await?),
                        false => None,
                    },
                    ..ApplyMode::default()
                },
                warnings: Vec::new(),
            }),
            ApplySource::History(rollback) => self.rollback_task(rollback, release, record).await,
            ApplySource::Fallback(returning) => returning.task(record),
        }
    }

    async fn attempt(
        &self,
        task: ApplyTask<'_>,
        turn: WritableRecord,
        served: &ServedKinds,
        frontend: Frontend<'_>,
    ) -> Result<Attempt, Failure> {
        let request = task.request.as_ref();
        let stored = turn.loaded.as_ref().map(|loaded| &loaded.record);
        let candidate = match task.course.again {
            None => self.candidate(request, stored, served)?,
            Some(_) => self.candidate_again(request, stored, served)?,
        };
        let apply = Apply {
            engine: self,
            request,
            course: &task.course,
            frontend,
            candidate,
            asking: Mutex::new(()),
        };
        let refuse = |failure: Failure| apply.refusal(failure);
        task.course.check(&apply.candidate).map_err(refuse)?;
        let WritableRecord {
            loaded,
            acquisition,
            mut warnings,
        } = turn;
        warnings.extend(task.warnings);
        let prepared = match apply.prepare(loaded, warnings, served).await {
            Ok(prepared) => prepared,
            Err(PrepareError::Failure(failure)) => return Err(apply.refusal(failure)),
            Err(PrepareError::Terminating(going, failure)) => {
                apply.wait_for_deletion(&going, failure).await?;
                return Ok(Attempt::Waited);
            }
        };
        apply.announce(prepared.checked.applies(), &prepared.checked.stale);
        task.course.check_plan(&prepared.checked).map_err(refuse)?;
        apply.ask_about_data(&prepared.checked).await?;
        let release = apply.release();
        let begun = match apply.begin(prepared, acquisition, &release).await? {
            Begun::Locked(begun) => *begun,
            Begun::Lost => return Ok(Attempt::Lost),
        };
        let run = begun.locked.lock_id().to_owned();
        let result = apply.carry_out(begun).await;
        let course = task.course;
        Ok(Attempt::Ended(Box::new(ApplyEnd {
            result,
            run,
            course,
        })))
    }
}

/// What became of one attempt.
enum Attempt {
    /// It was carried out, well or not.
    Ended(Box<ApplyEnd>),
    /// Somebody else wrote the record first.
    Lost,
    /// Objects that were in the way are gone now.
    Waited,
}

/// The release that a request is about: it follows from the names alone.
fn release_of(request: &ApplyRequest) -> Release {
    let ApplyRequest {
        rendered,
        name,
        namespace,
        ..
    } = request;
    Release {
        id: ReleaseId::of(&rendered.module.path, name, namespace),
        name: name.clone(),
        namespace: namespace.clone(),
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Asks a person, one question at a time.
    async fn ask(&self, question: &Question) -> Answer {
        let _turn = self.asking.lock().await;
        self.frontend.prompt.ask(question).await
    }

    /// Whoever goes back has to know what does not come back with it.
    async fn ask_about_data(&self, checked: &CheckedPlan) -> Result<(), Failure> {
        if !self.course.asks_about_data {
            return Ok(());
        }
        let data = data::of_plan(checked);
        let Some(question) = data.question() else {
            return Ok(());
        };
        let answer = self.ask(&question).await;
        data::agreed(answer, &data).map_err(|failure| self.refusal(failure))
    }

    fn release(&self) -> Release {
        let owner = &self.candidate.owner;
        Release {
            name: owner.release.clone(),
            namespace: owner.namespace.clone(),
            id: owner.id,
        }
    }

    /// What every report of this apply begins with.
    fn report(&self) -> Report {
        Report {
            release: Some(self.release()),
            change_id: Some(self.candidate.change.clone()),
            manifest_digest: Some(self.candidate.digest.to_string()),
            dry_run: self.request.options.dry_run,
            ..Report::default()
        }
    }

    fn refusal(&self, failure: Failure) -> Failure {
        failure.after(self.report())
    }
}
