//! Objects that the server cannot take yet, because a webhook or an aggregated API that has a say
//! in them does not answer.
//!
//! Often it is the release itself that brings it up. So the rest of the phase goes on without
//! them, and they are sent again until they are taken or the time is over.

use std::time::Duration;

use futures::StreamExt as _;
use opm_core::check::ApplyStep;
use opm_core::event::Wait;
use opm_core::identity::Identity;

use super::Apply;
use super::check::ApplyContext;
use super::send::SendError;
use super::stages::ApplyResults;
use crate::concurrently::concurrently_in_order;
use crate::ports::Permit;

/// How long to wait before they are sent again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// One of them.
pub(super) struct PostponedObject<'s> {
    pub(super) step: &'s ApplyStep,
    /// What the server said.
    pub(super) said: String,
}

/// Those of one phase.
#[derive(Default)]
pub(super) struct Postponed<'s>(Vec<PostponedObject<'s>>);

impl<'s> Postponed<'s> {
    pub(super) fn extend(&mut self, more: Vec<PostponedObject<'s>>) {
        self.0.extend(more);
    }

    /// Whether nothing can go on without them: a Namespace or a definition is among them.
    pub(super) fn holds_up(&self) -> bool {
        self.0.iter().any(|object| {
            let kind = &object.step.entry.identity.group_kind;
            kind.is("", "Namespace") || kind.is("apiextensions.k8s.io", "CustomResourceDefinition")
        })
    }

    fn wait(&self) -> Option<Wait> {
        let said = self.0.first()?.said.clone();
        let identities: Vec<Identity> = self.identities();
        Some(Wait::Answer(identities, said))
    }

    fn identities(&self) -> Vec<Identity> {
        let objects = self.0.iter();
        objects
            .map(|object| object.step.entry.identity.clone())
            .collect()
    }
}

impl Apply<'_> {
    /// Sends them until each is taken, or refused for good, or the time is over. When something
    /// else has failed, there is nothing to wait for.
    pub(super) async fn send_postponed(
        &self,
        postponed: &mut Postponed<'_>,
        context: &ApplyContext,
        permit: Permit<'_>,
        all: &mut ApplyResults,
    ) {
        let begun = self.run.backend.monotonic().0;
        let timeout = self.request.options.timeout;
        let mut pause = FIRST_PAUSE;
        let mut told = None;
        while !postponed.0.is_empty() && !all.is_broken() {
            let waiting = postponed.wait();
            if waiting != told {
                waiting
                    .clone()
                    .into_iter()
                    .for_each(|w| self.tell_waiting(w));
                told = waiting;
            }
            let left = timeout.saturating_sub(self.run.backend.monotonic().0 - begun);
            let slept = self.run.backend.sleep(pause.min(left));
            // When the run is stopped, sending says so.
            let _ = self.run.unless_stopped(permit, slept).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            self.send_again(postponed, context, permit, all).await;
            if left.is_zero() {
                break;
            }
        }
        for PostponedObject { step, said } in postponed.0.drain(..) {
            let outcome = all.take(step, Err(SendError::NotUpYet(said)));
            self.tell_object(&outcome);
            all.outcomes.push(outcome);
        }
    }

    async fn send_again(
        &self,
        postponed: &mut Postponed<'_>,
        context: &ApplyContext,
        permit: Permit<'_>,
        all: &mut ApplyResults,
    ) {
        let objects = std::mem::take(&mut postponed.0);
        let sends = &objects;
        let concurrency = self.request.options.concurrency;
        let (limit, permit) = (concurrency.limit(), concurrency.pace(permit));
        let results = concurrently_in_order(limit, sends.len(), |at| async move {
            self.send_or_skip(sends[at].step, context, permit).await
        });
        let results: Vec<_> = results.collect().await;
        for (object, result) in objects.into_iter().zip(results) {
            match result {
                Err(SendError::NotUpYet(said)) => {
                    postponed.0.push(PostponedObject { said, ..object })
                }
                result => {
                    let outcome = all.take(object.step, result);
                    self.tell_object(&outcome);
                    all.outcomes.push(outcome);
                }
            }
        }
    }
}
