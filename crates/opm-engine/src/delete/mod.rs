//! `delete`: removes a release, or one component of it.
//!
//! A delete is a plan without phases. Objects go in the reverse of the order in which they were
//! applied; then the record goes, and last, with its flag, the namespace that the record lived
//! in. What cannot be deleted keeps the record alive.

mod carry_out;
mod change;
mod discovered;
mod remove;
mod unrecorded;

use opm_core::check::{CheckContext, CheckedPlan, check};
use opm_core::event::{AnnouncedObject, Event, PlannedAction};
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::labels::Owner;
use opm_core::name::ModuleName;
use opm_core::plan::{Plan, PlanOptions, plan_delete, plan_delete_component};
use opm_core::protocol::begin;
use opm_core::record::Record;
use opm_core::record::size::Records;

pub(crate) use self::discovered::LabelLookup;
use crate::apply::tell::{presence, transferred};
use crate::engine::Engine;
use crate::failure::{Failure, FailureKind};
use crate::ports::{Answer, Clock, Cluster, Detail, Frontend, Question, SecretStore, ServedKinds};
use crate::record::{LoadedRecord, WritableRecord};
use crate::report::{Release, Report, TrackedObject};
use crate::request::DeleteRequest;

/// How often everything starts over because somebody else wrote the record first.
const ATTEMPTS: usize = 5;

/// One delete: what every step of it needs.
struct Delete<'a, C, S, K> {
    engine: &'a Engine<C, S, K>,
    request: &'a DeleteRequest,
    frontend: Frontend<'a>,
    release: Release,
    served: ServedKinds,
}

/// What is to be deleted, and where that is known from.
struct DeleteSource {
    record: Record,
    loaded: Option<LoadedRecord>,
    warnings: Vec<String>,
}

impl<C: Cluster, S: SecretStore, K: Clock> Engine<C, S, K> {
    /// Deletes a release, or one of its components.
    pub async fn delete(
        &self,
        request: &DeleteRequest,
        frontend: Frontend<'_>,
    ) -> Result<Report, Failure> {
        let served = self.discover().await?;
        let found = self.find(&request.release, &request.namespace).await?;
        let release = match found {
            Some(release) => release,
            None => {
                let by_labels = self.find_by_labels(&request.release, &request.namespace, &served);
                match by_labels.await? {
                    LabelLookup::Found(release) => release,
                    LabelLookup::Unknown(sharing) => return not_found(request, &sharing),
                }
            }
        };
        let delete = Delete {
            engine: self,
            request,
            frontend,
            release,
            served,
        };
        let mut confirmed = false;
        for _ in 0..ATTEMPTS {
            let patience = request.lock_timeout;
            let turn = self.turn(&delete.release, patience, frontend).await?;
            let WritableRecord {
                loaded,
                acquisition,
                warnings,
            } = turn;
            let Some(source) = delete.source(loaded, warnings).await? else {
                return not_found(request, &[]);
            };
            let checked = delete.check(&source.record).await?;
            delete.announce(&checked);
            if request.dry_run {
                return delete.rehearse(&checked, source.warnings).await;
            }
            if !confirmed {
                delete.confirm(&checked).await?;
                confirmed = true;
            }
            if source.loaded.is_none() && self.is_homeless(&delete.release).await {
                return delete.unrecorded(&checked, source.warnings).await;
            }
            let message = request.message.clone();
            let change = source.record.current().map(|change| change.id.clone());
            let run = self.run("delete", message, change).await;
            let Ok(locked) = begin(source.record.clone(), acquisition, checked, run) else {
                continue;
            };
            let taken = self
                .take_lock(
                    &delete.release,
                    source.loaded.as_ref(),
                    &locked,
                    Records::Used,
                )
                .await?;
            if let Some(guard) = taken {
                frontend.events.emit(Event::Begun);
                return delete.carry_out(locked, guard, source).await;
            }
        }
        Err(Failure::overtaken(&delete.release.name))
    }
}

impl<C: Cluster, S: SecretStore, K: Clock> Delete<'_, C, S, K> {
    /// The record, or what the labels say where there is none.
    async fn source(
        &self,
        loaded: Option<LoadedRecord>,
        mut warnings: Vec<String>,
    ) -> Result<Option<DeleteSource>, Failure> {
        if let Some(loaded) = loaded {
            warnings.extend(loaded.warnings.clone());
            return Ok(Some(DeleteSource {
                record: loaded.record.clone(),
                loaded: Some(loaded),
                warnings,
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
            loaded: None,
            warnings,
        }))
    }

    fn plan(&self, record: &Record) -> Result<Plan, Failure> {
        let options = PlanOptions {
            no_prune: false,
            allow_empty: true,
            guards: self.request.guards,
        };
        let plan = match &self.request.component {
            Some(component) => plan_delete_component(record, component.as_str(), options),
            None => plan_delete(record, options),
        };
        plan.map_err(|error| {
            let kind = match error {
                opm_core::plan::PlanError::NoSuchComponent(_) => FailureKind::NotFound,
                _ => FailureKind::Refused,
            };
            Failure::new(kind, error.to_string()).after(self.report())
        })
    }

    /// Plans, looks, and checks.
    async fn check(&self, record: &Record) -> Result<CheckedPlan, Failure> {
        let plan = self.plan(record)?;
        let release = &self.release.id;
        let (observed, _) = self.engine.observe(&plan, release, Detail::Metadata).await;
        let occupants = self.engine.look_into(&plan, &self.served).await;
        let checking = CheckContext {
            release: *release,
            adopt: opm_core::check::Adopt::None,
            take_ownership: false,
            occupants: &occupants,
        };
        check(plan, &observed, &checking)
            .map_err(|refusals| Failure::refused(&refusals).after(self.report()))
    }

    fn announce(&self, checked: &CheckedPlan) {
        let prunes = checked
            .stale
            .prune
            .iter()
            .map(|s| (&s.entry, PlannedAction::Prune));
        let keeps = checked
            .stale
            .keep
            .iter()
            .map(|k| (&k.entry, PlannedAction::Keep));
        let objects = prunes.chain(keeps).map(|(entry, planned)| AnnouncedObject {
            identity: entry.identity.clone(),
            component: entry.component.clone(),
            planned,
        });
        self.frontend.events.emit(Event::Planned {
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
        };
        let refused = |message: &str| {
            Failure::new(FailureKind::Refused, message.to_owned()).after(self.report())
        };
        match self.frontend.prompt.ask(&question).await {
            Answer::Yes => Ok(()),
            Answer::No => Err(refused("declined: nothing was deleted")),
            Answer::CannotAsk => {
                Err(refused("deleting a release has to be confirmed").hint("--yes confirms it"))
            }
        }
    }

    /// What every report of this delete begins with.
    fn report(&self) -> Report {
        Report {
            release: Some(self.release.clone()),
            dry_run: self.request.dry_run,
            ..Report::default()
        }
    }

    /// What was decided about objects without any request.
    fn decided(&self, checked: &CheckedPlan, report: &mut Report) {
        let presence = presence(&checked.stale);
        for outcome in &presence {
            self.frontend.events.emit(outcome.event());
        }
        report.resources.extend(presence);
        report.warnings.extend(transferred(&checked.stale));
        let since = self.engine.server_now().to_string();
        report.kept = checked
            .stale
            .keep
            .iter()
            .map(|keep| TrackedObject {
                identity: keep.entry.identity.clone(),
                version: keep.entry.version.clone(),
                component: keep.entry.component.clone(),
                why: keep.why.word(),
                change: String::new(),
                since: since.clone(),
                reason: Some(keep.reason.clone()),
            })
            .collect();
    }

    fn owner(&self, module: ModuleName) -> Owner {
        Owner {
            module,
            namespace: self.release.namespace.clone(),
            release: self.release.name.clone(),
            id: self.release.id,
        }
    }
}

/// There is no such release; releases that share objects under its name may be meant.
fn not_found(request: &DeleteRequest, sharing: &[ReleaseId]) -> Result<Report, Failure> {
    let report = Report {
        dry_run: request.dry_run,
        ..Report::default()
    };
    if request.ignore_not_found {
        return Ok(report);
    }
    let given = &request.release;
    let message = format!(
        "there is no release {given} in namespace {}",
        given.namespace_or(&request.namespace)
    );
    let mut failure =
        Failure::new(FailureKind::NotFound, message).hint("`opm mod list -A` shows all releases");
    if !sharing.is_empty() {
        let ids: Vec<String> = sharing.iter().map(ToString::to_string).collect();
        failure = failure.hint(format!(
            "releases of that name share objects, which do not tell their namespace: name one by \
             its id ({})",
            ids.join(", ")
        ));
    }
    Err(failure.after(report))
}
