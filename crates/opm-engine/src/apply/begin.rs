//! The first writes: the release's own namespace if it is not there, then lock and intent in
//! one. Nothing else is touched before.

use opm_core::check::{CheckedPlan, How};
use opm_core::event::Event;
use opm_core::identity::{GroupKind, Identity};
use opm_core::labels;
use opm_core::protocol::{Locked, Opening, begin};
use opm_core::reach::OwnNamespace;
use serde_json::{Map, Value, json};

use super::prepare::{Prepared, Scene};
use super::send::{Refused, Sending};
use super::{Apply, Release};
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApplyMode, ApplyObject, Clock, Cluster, ErrorKind, SecretStore};
use crate::record::{Holding, holder};

/// What became of the attempt to begin.
pub(super) enum Begun {
    /// The lock is held, and the intent is written down.
    Holding(Box<InHand>),
    /// Somebody else wrote the record first.
    Lost,
}

/// A run that may touch things.
pub(super) struct InHand {
    pub(super) locked: Locked,
    pub(super) holding: Holding,
    pub(super) scene: Scene,
}

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Takes the lock and writes the intent down, in one write.
    pub(super) async fn begin(
        &self,
        prepared: Prepared,
        opening: Opening,
        release: &Release,
    ) -> Result<Begun, Failure> {
        let Prepared {
            checked,
            mut scene,
            loaded,
            record,
        } = prepared;
        self.own_namespace(&checked, &mut scene).await?;
        let took_over = match &opening {
            Opening::TakeOver(expired) => Some(holder(&expired.lock)),
            Opening::Free { .. } => None,
        };
        let change = self.candidate.change.to_string();
        let message = self.request.options.message.clone();
        let command = self.course.command();
        let run = self.engine.run(command, message, Some(change)).await;
        let Ok(locked) = begin(record, opening, checked, run) else {
            return Ok(Begun::Lost);
        };
        let records = self.engine.records(self.request.record);
        let taken = self
            .engine
            .take_lock(release, loaded.as_ref(), &locked, records);
        match taken.await? {
            None => Ok(Begun::Lost),
            Some(holding) => {
                if let Some(holder) = took_over {
                    self.audience.events.emit(Event::TookOver { holder });
                }
                self.audience.events.emit(Event::Begun);
                Ok(Begun::Holding(Box::new(InHand {
                    locked,
                    holding,
                    scene,
                })))
            }
        }
    }

    /// The record lives in the release's namespace, so that comes first.
    async fn own_namespace(&self, checked: &CheckedPlan, scene: &mut Scene) -> Result<(), Failure> {
        let name = self.candidate.owner.namespace.as_str();
        let identity = Identity::new(GroupKind::new("", "Namespace"), None, name);
        let what = format!("cannot create namespace {name}");
        match scene.own_namespace {
            OwnNamespace::Exists => Ok(()),
            OwnNamespace::ToBeCreated => {
                let object = bare_namespace(name);
                let request = ApplyObject {
                    identity: &identity,
                    version: "v1",
                    object: &object,
                    mode: ApplyMode::CreateOnly,
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
                let step = applies.find(|s| s.entry.identity == identity && s.how == How::Create);
                let Some(step) = step else {
                    return Ok(());
                };
                let Some(object) = scene.object(&identity) else {
                    return Ok(());
                };
                let sending = Sending {
                    step,
                    object,
                    seen: None,
                };
                let taken = self.send(sending).await;
                let taken = taken.map_err(|refused| self.refusal(first_failure(&what, refused)))?;
                scene.already.insert(identity, taken);
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

fn first_failure(what: &str, refused: Refused) -> Failure {
    let (kind, reason) = match refused {
        Refused::Stopped(stopped) => {
            return Failure::before_writing(what, &crate::ports::ApiError::stopped(stopped));
        }
        Refused::Unreachable(reason) => (FailureKind::Unreachable, reason),
        Refused::Failed {
            reason,
            forbidden: true,
        } => (FailureKind::NotPermitted, reason),
        Refused::Failed { reason, .. } | Refused::Conflict(reason) => {
            (FailureKind::Refused, reason)
        }
    };
    Failure::new(kind, format!("{what}: {reason}"))
}
