//! Conflicts over fields, found before anything is touched.
//!
//! What this release has for itself is brought to what is rendered. What others have a part in
//! is sent without force, and an object that the server then refuses would leave the release
//! half applied. So the server is asked to pretend first: one request for each such object, and
//! none for all the others.

use futures::StreamExt as _;
use opm_core::check::{ApplyMethod, ApplyStep, CheckedPlan};
use opm_core::failure::Remedy;

use super::Apply;
use super::check::ApplyContext;
use super::send::{ObjectToSend, conflict};
use crate::concurrently::concurrently_in_order;
use crate::failure::Failure;
use crate::ports::{ApiErrorKind, Backend, Permit, Precondition};

impl<B: Backend> Apply<'_, B> {
    /// Refuses if fields of objects that others have a part in are set to other values.
    pub(super) async fn without_conflicts(
        &self,
        checked: &CheckedPlan,
        context: &ApplyContext,
    ) -> Result<(), Failure> {
        if self.request.options.dry_run {
            return Ok(());
        }
        let unforced = checked.applies().filter(|step| !self.forces(step));
        let unforced: &Vec<&ApplyStep> = &unforced.collect();
        let permit = self.run.permit();
        let limit = self.request.options.concurrency;
        let pretended = concurrently_in_order(limit, unforced.len(), |at| async move {
            let step = unforced[at];
            let conflict = self.pretend(step, context, permit).await;
            conflict.map(|conflict| (step, conflict))
        });
        let conflicts: Vec<_> = pretended.collect().await;
        let conflicts: Vec<(&ApplyStep, String)> = conflicts.into_iter().flatten().collect();
        if conflicts.is_empty() {
            return Ok(());
        }
        Err(refused(&conflicts))
    }

    /// What the server says about fields of others, if it says anything. Whatever else is wrong
    /// with the object comes up when it is sent.
    async fn pretend(
        &self,
        step: &ApplyStep,
        context: &ApplyContext,
        permit: Permit<'_>,
    ) -> Option<String> {
        let uid = match &step.method {
            ApplyMethod::Update { uid }
            | ApplyMethod::Adopt { uid }
            | ApplyMethod::Take { uid, .. }
            | ApplyMethod::Join { uid } => uid.clone(),
            ApplyMethod::Create | ApplyMethod::Completed => return None,
        };
        let identity = &step.entry.identity;
        let item = ObjectToSend {
            step,
            object: context.object(identity)?,
            seen: context.live.get(identity),
            permit,
        };
        let sent = self
            .send_once(item, Precondition::Exists { uid }, true)
            .await;
        let error = sent.err()?;
        if error.kind != ApiErrorKind::FieldConflict {
            return None;
        }
        let same_values = self.apply_same_values(item, true).await;
        (!matches!(same_values, Ok(Some(_)))).then(|| conflict(&error, step))
    }
}

/// The refusal for objects that others have a part in.
pub(super) fn refused(conflicts: &[(&ApplyStep, String)]) -> Failure {
    let messages = conflicts.iter().map(|(step, reason)| {
        let identity = &step.entry.identity;
        format!("Resource {identity} cannot be taken over as it is: {reason}")
    });
    let message = messages.collect::<Vec<_>>().join("\n");
    let mut failure = Failure::refused(message).remedy(Remedy::ForceConflicts);
    for (step, reason) in conflicts {
        let identity = &step.entry.identity;
        if matches!(step.method, ApplyMethod::Adopt { .. }) {
            failure = failure.remedy(Remedy::AdoptFieldsOf(identity.clone()));
        }
        failure = failure.object(identity.clone(), reason.clone());
    }
    failure
}
