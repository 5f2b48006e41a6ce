//! `begin`: the first writes. The release's own namespace if it is not there, and others that are
//! asked for, then lock and intent in one. Nothing else is touched before.

use opm_core::check::{ApplyMethod, CheckedPlan};
use opm_core::identity::{GroupKind, Identity};
use opm_core::labels;
use opm_core::protocol::{Deployed, LockAcquisition, RunStart};
use opm_core::reach::OwnNamespace;
use serde_json::{Map, Value, json};

use super::Apply;
use super::check::{ApplyContext, CheckedApply};
use super::send::{ObjectToSend, SendError};
use crate::failure::{Failure, FailureKind};
use crate::ports::{ApiErrorKind, ApplyObject, Precondition};
use crate::record::{Beginning, LockedRun};

impl Apply<'_> {
    /// Takes the lock and writes the intent down. None if somebody else was faster.
    pub(super) async fn begin(
        &self,
        checked: CheckedApply,
        acquisition: LockAcquisition,
    ) -> Result<Option<(LockedRun, ApplyContext)>, Failure> {
        let CheckedApply {
            checked,
            mut context,
            record,
            stored,
        } = checked;
        self.own_namespace(&checked, &mut context).await?;
        for home in &context.namespaces.homes {
            self.create_namespace(home).await?;
        }
        let sends = checked.applies().count();
        let sends = sends.saturating_sub(context.unchanged.len());
        self.run.expect(sends, self.request.options.concurrency);
        let beginning = Beginning {
            record,
            stored,
            acquisition,
            checked,
            start: self.start().await,
            records: self.run.records(self.request.record),
        };
        let begun = self.run.begin(&self.release(), beginning).await?;
        Ok(begun.map(|locked| (locked, context)))
    }

    /// This run, as lock and log name it.
    pub(super) async fn start(&self) -> RunStart {
        let change = self.candidate.change.to_string();
        let message = self.request.options.message.clone();
        let deployed = Deployed::of(&self.candidate);
        let command = self.mode.command();
        self.run
            .start(command, message, Some(change), Some(deployed))
            .await
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
        match context.namespaces.own {
            OwnNamespace::Exists => Ok(()),
            OwnNamespace::ToBeCreated => self.create_namespace(name).await,
            OwnNamespace::BroughtAlong => {
                let mut applies = checked.applies();
                let step = applies.find(|step| {
                    step.entry.identity == identity && step.method == ApplyMethod::Create
                });
                let (Some(step), Some(object)) = (step, self.object(&identity, context)) else {
                    return Ok(());
                };
                let item = ObjectToSend {
                    step,
                    object: &object,
                    seen: None,
                    recreate: false,
                    permit: self.run.permit(),
                };
                let applied = self.send(item).await;
                let applied = applied.map_err(|error| self.refusal(first_failure(&what, error)))?;
                context.already.insert(identity, applied);
                Ok(())
            }
        }
    }

    async fn create_namespace(&self, name: &str) -> Result<(), Failure> {
        let identity = Identity::new(GroupKind::new("", "Namespace"), None, name);
        let object = bare_namespace(name);
        let request = ApplyObject {
            identity: &identity,
            version: "v1",
            object: &object,
            precondition: Precondition::Absent,
            field_manager: labels::FIELD_MANAGER,
            force: false,
            dry_run: false,
        };
        match self.run.backend.apply(request, self.run.permit()).await {
            Ok(_) => Ok(()),
            Err(error) if error.kind == ApiErrorKind::AlreadyExists => Ok(()),
            Err(error) => {
                let what = format!("cannot create namespace {name}");
                Err(self.refusal(Failure::before_writing(&what, &error)))
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

fn first_failure(what: &str, error: SendError) -> Failure {
    let (kind, reason) = match error {
        SendError::Stopped(stopped) => return Failure::stopped(what, stopped),
        SendError::Unreachable(reason) | SendError::NotUpYet(reason) => {
            (FailureKind::Unreachable, reason)
        }
        SendError::Failed {
            reason,
            forbidden: true,
        } => (FailureKind::NotPermitted, reason),
        SendError::Failed { reason, .. } => (FailureKind::Refused, reason),
        SendError::Refused(refusal) => (FailureKind::Refused, refusal.detail()),
    };
    Failure::new(kind, format!("{what}: {reason}"))
}
