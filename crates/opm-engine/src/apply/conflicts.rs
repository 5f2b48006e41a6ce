//! Conflicts over fields, found before anything is touched.
//!
//! What this release has for itself is brought to what is rendered. What others have a part in
//! is sent without force, and an object that the server then refuses would leave the release
//! half applied. So the server is asked to pretend first: one request for each such object, and
//! none for all the others.

use futures::stream::{self, StreamExt};
use opm_core::check::{ApplyMethod, ApplyStep, CheckedPlan};

use super::Apply;
use super::prepare::ApplyContext;
use super::send::{ObjectToSend, conflict};
use crate::failure::{Failure, FailureKind};
use crate::ports::{Clock, Cluster, ErrorKind, Precondition, SecretStore};

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
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
        let conflicts: Vec<(&ApplyStep, String)> = stream::iter(unforced)
            .map(|step| async move { Some((step, self.pretend(step, context).await?)) })
            .buffered(self.request.options.concurrency.max(1))
            .filter_map(|conflict| async { conflict })
            .collect()
            .await;
        if conflicts.is_empty() {
            return Ok(());
        }
        Err(refused(&conflicts))
    }

    /// What the server says about fields of others, if it says anything. Whatever else is wrong
    /// with the object comes up when it is sent.
    async fn pretend(&self, step: &ApplyStep, context: &ApplyContext) -> Option<String> {
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
        };
        let sent = self
            .send_once(item, Precondition::Update { uid }, true)
            .await;
        let error = sent.err()?;
        (error.kind == ErrorKind::FieldConflict).then(|| conflict(&error, step))
    }
}

/// The refusal for objects that others have a part in.
pub(super) fn refused(conflicts: &[(&ApplyStep, String)]) -> Failure {
    let messages = conflicts.iter().map(|(step, reason)| {
        let identity = &step.entry.identity;
        format!("Resource {identity} cannot be taken over as it is: {reason}")
    });
    let message = messages.collect::<Vec<_>>().join("\n");
    let mut failure = Failure::new(FailureKind::Refused, message)
        .hint("--force-conflicts makes these objects what is rendered");
    for (step, reason) in conflicts {
        let identity = &step.entry.identity;
        if matches!(step.method, ApplyMethod::Adopt { .. }) {
            failure = failure.hint(format!(
                "--adopt={}/{} does so for this one alone",
                identity.kind(),
                identity.name
            ));
        }
        failure = failure.object(identity.clone(), reason.clone());
    }
    failure
}
