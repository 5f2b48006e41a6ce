//! The first writes: the release's own namespace if it is not there, then lock and intent in
//! one. Nothing else is touched before.

use opm_core::check::{ApplyMethod, CheckedPlan};
use opm_core::event::Event;
use opm_core::identity::{GroupKind, Identity};
use opm_core::labels;
use opm_core::protocol::{LockAcquisition, Locked, begin};
use opm_core::reach::OwnNamespace;
use serde_json::{Map, Value, json};

use super::prepare::{ApplyContext, Prepared};
use super::send::{ObjectToSend, SendError};
use super::{Apply, Release};
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApplyObject, Clock, Cluster, ErrorKind, Precondition, SecretStore};
use crate::record::{LockGuard, holder};

/// What became of the attempt to begin.
pub(super) enum Begun {
    /// The lock is held, and the intent is written down.
    Locked(Box<LockedRun>),
    /// Somebody else wrote the record first.
    Lost,
}

/// A run that may touch things.
pub(super) struct LockedRun {
    pub(super) locked: Locked,
    pub(super) guard: LockGuard,
    pub(super) context: ApplyContext,
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Takes the lock and writes the intent down, in one write.
    pub(super) async fn begin(
        &self,
        prepared: Prepared,
        acquisition: LockAcquisition,
        release: &Release,
    ) -> Result<Begun, Failure> {
        let Prepared {
            checked,
            mut context,
            loaded,
            record,
        } = prepared;
        self.own_namespace(&checked, &mut context).await?;
        let took_over = match &acquisition {
            LockAcquisition::TakeOver(expired) => Some(holder(&expired.lock)),
            LockAcquisition::Free { .. } => None,
        };
        let change = self.candidate.change.to_string();
        let message = self.request.options.message.clone();
        let command = self.course.command();
        let run = self.engine.run(command, message, Some(change)).await;
        let Ok(locked) = begin(record, acquisition, checked, run) else {
            return Ok(Begun::Lost);
        };
        let records = self.engine.records(self.request.record);
        let taken = self
            .engine
            .take_lock(release, loaded.as_ref(), &locked, records);
        match taken.await? {
            None => Ok(Begun::Lost),
            Some(guard) => {
                if let Some(holder) = took_over {
                    self.frontend.events.emit(Event::TookOver { holder });
                }
                self.frontend.events.emit(Event::Begun);
                Ok(Begun::Locked(Box::new(LockedRun {
                    locked,
                    guard,
                    context,
                })))
            }
        }
    }

    /// The record lives in the release's namespace, so that comes first.
    async fn own_namespace(
        &self,
        checked: &CheckedPlan,
        context: &mut ApplyContext,
    ) -> Result<(), Failure> {
        let name = self.candidate.owner.namespace.as_str();
        let identity = Identity::new(GroupKind::new("", "Namespace"), None, name);
        let what = format!("cannot create namespace {name}");
        match context.own_namespace {
            OwnNamespace::Exists => Ok(()),
            OwnNamespace::ToBeCreated => {
                let object = bare_namespace(name);
                let request = ApplyObject {
                    identity: &identity,
                    version: "v1",
                    object: &object,
                    mode: Precondition::Absent,
                    field_manager: labels::FIELD_MANAGER,
                    force: false,
                    dry_run: false,
                };
                let sent = self.engine.cluster.apply(request, &self.engine.gate).await;
                match sent {
                    Ok(_) => Ok(()),
                    Err(error) if error.kind == ErrorKind::AlreadyExists => Ok(()),
                    Err(error) => Err(self.refusal(Failure::before_writing(&what, &error))),
                }
            }
            OwnNamespace::BroughtAlong => {
                let mut applies = checked.applies();
                let step = applies
                    .find(|s| s.entry.identity == identity && s.method == ApplyMethod::Create);
                let Some(step) = step else {
                    return Ok(());
                };
                let Some(object) = context.object(&identity) else {
                    return Ok(());
                };
                let item = ObjectToSend {
                    step,
                    object,
                    seen: None,
                };
                let taken = self.send(item).await;
                let taken = taken.map_err(|refused| self.refusal(first_failure(&what, refused)))?;
                context.already.insert(identity, taken);
                Ok(())
            }
        }
    }
}

/// Untracked and unlabelled, so that nothing ever deletes it.
fn bare_namespace(name: &str) -> Map<String, Value> {
    Map::from_iter([
        ("apiVersion".to_owned(), json!("v1")),
        ("kind".to_owned(), json!("Namespace")),
        ("metadata".to_owned(), json!({ "name": name })),
    ])
}

fn first_failure(what: &str, refused: SendError) -> Failure {
    let (kind, reason) = match refused {
        SendError::Stopped(stopped) => {
            return Failure::before_writing(what, &crate::ports::ApiError::stopped(stopped));
        }
        SendError::Unreachable(reason) => (FailureKind::Unreachable, reason),
        SendError::Failed {
            reason,
            forbidden: true,
        } => (FailureKind::NotPermitted, reason),
        SendError::Failed { reason, .. } | SendError::Conflict(reason) => {
            (FailureKind::Refused, reason)
        }
    };
    Failure::new(kind, format!("{what}: {reason}"))
}
