//! `apply`: RFC-0001's flow, from top to bottom.
//!
//! Rendering has happened already. Everything up to `begin` only reads; losing the race for the
//! record there means starting over from the load. After it, either everything is applied and
//! the way leads on to pruning and recording, or nothing more happens but letting go of the
//! lock.

mod begin;
mod claims;
mod conflicts;
mod keep;
mod orphans;
mod prepare;
mod probe;
mod prune;
mod record;
mod recreate;
mod rehearse;
mod send;
mod stages;
pub(crate) mod tell;

use futures::lock::Mutex;
use opm_core::candidate::Candidate;
use opm_core::ids::ReleaseId;

use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Answer, Audience, Clock, Cluster, Question, SecretStore};
use crate::record::Turn;
use crate::report::{Release, Report};
use crate::request::ApplyRequest;

use begin::Begun;
use prepare::Unprepared;

/// How often everything starts over because somebody else wrote the record first.
const ATTEMPTS: usize = 5;

/// One apply: what every step of it needs.
struct Apply<'a, C, S, K> {
    engine: &'a Engine<C, S, K>,
    request: &'a ApplyRequest,
    audience: Audience<'a>,
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
        audience: Audience<'_>,
    ) -> Result<Report, Failure> {
        if request.dry_run {
            return self.diff(request, audience).await?.into_report();
        }
        let release = release_of(request);
        let mut served = self.discover().await?;
        for _ in 0..ATTEMPTS {
            let turn = self.turn(&release, request.lock_timeout, audience).await?;
            let stored = turn.loaded.as_ref().map(|loaded| &loaded.record);
            let candidate = self.candidate(request, stored, &served)?;
            let apply = Apply {
                engine: self,
                request,
                audience,
                candidate,
                asking: Mutex::new(()),
            };
            let Turn {
                loaded,
                opening,
                warnings,
            } = turn;
            let prepared = match apply.prepare(loaded, warnings, &served).await {
                Ok(prepared) => prepared,
                Err(Unprepared::Failure(failure)) => return Err(apply.refusal(failure)),
                Err(Unprepared::Terminating(going, failure)) => {
                    apply.wait_for_deletion(&going, failure).await?;
                    served = self.discover().await?;
                    continue;
                }
            };
            apply.announce(prepared.checked.applies(), &prepared.checked.stale);
            match apply.begin(prepared, opening, &release).await? {
                Begun::Holding(begun) => return apply.carry_out(*begun).await,
                Begun::Lost => {}
            }
        }
        Err(Failure::new(
            FailureKind::LockLost,
            format!(
                "somebody else keeps writing the record of release {}",
                release.name
            ),
        )
        .hint("try again when the other run is done"))
    }
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
        self.audience.asker.ask(question).await
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
            dry_run: self.request.dry_run,
            ..Report::default()
        }
    }

    fn refusal(&self, failure: Failure) -> Failure {
        failure.after(self.report())
    }
}
