//! Running hooks: each is made, waited for, and taken away again if its chart says so.
//!
//! A hook is written down as pending before a run touches anything, so a crash at any point
//! leaves nothing that the next run does not know of. Making one does not make it the run's for
//! good: whoever else has taken it by the time that it is to go, has it. What is decided about
//! hooks stands in `opm_core::hook`.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use opm_core::candidate::CandidateHook;
use opm_core::check::{HookMethod, HookObject, HookStep, PruneStep};
use opm_core::event::{Event, Wait};
use opm_core::health::Health;
use opm_core::hook::{HookProgress, is_awaited};
use opm_core::identity::Identity;
use opm_core::ids::ReleaseId;
use opm_core::labels;
use opm_core::protocol::SendOutcome;
use serde_json::{Map, Value};

use crate::observe::metadata;
use crate::ports::{
    ApiError, ApiErrorKind, ApplyObject, Permit, Precondition, Stopped, WatchEvent,
};
use crate::removal::{RemovalOptions, RemovalOutcome};
use crate::report::{Action, ObjectOutcome};
use crate::request::Concurrency;
use crate::run::Run;

/// How hooks are run.
#[derive(Clone, Copy)]
pub(crate) struct HookOptions<'a> {
    pub(crate) release: &'a ReleaseId,
    /// Where their objects come from.
    pub(crate) hooks: &'a [CandidateHook],
    /// How long each may take.
    pub(crate) timeout: Duration,
    /// Whether they go when they are done, whatever their chart says: the release goes too.
    pub(crate) removed: bool,
    pub(crate) permit: Permit<'a>,
}

/// What became of hooks.
#[derive(Debug, Default)]
pub(crate) struct HookResults {
    pub(crate) outcomes: Vec<ObjectOutcome>,
    /// Of each hook that was to run; one that is done and still there has a uid.
    pub(crate) results: HashMap<Identity, SendOutcome>,
    /// What this run has made and not taken away, as it was seen last.
    made: HashMap<Identity, Map<String, Value>>,
    pub(crate) stopped: Option<Stopped>,
    /// The hook that failed, in words.
    pub(crate) failed: Option<String>,
}

impl HookResults {
    pub(crate) fn is_broken(&self) -> bool {
        self.failed.is_some() || self.stopped.is_some()
    }

    /// A hook was made, or is still there.
    fn saw(&mut self, identity: &Identity, object: Map<String, Value>) {
        let uid = metadata(&object, "uid").map(str::to_owned);
        self.results
            .insert(identity.clone(), SendOutcome::Done { uid });
        self.made.insert(identity.clone(), object);
    }

    /// Hooks that were not run, because something before them failed.
    pub(crate) fn skip<'s>(&mut self, steps: impl IntoIterator<Item = &'s HookStep>) {
        for step in steps {
            let identity = step.entry.identity.clone();
            self.results.entry(identity).or_insert(SendOutcome::NotSent);
        }
    }
}

/// Why a hook did not come to a good end.
enum HookError {
    Stopped(Stopped),
    /// It may or may not have been made.
    Uncertain(String),
    Failed(String),
}

impl From<ApiError> for HookError {
    fn from(error: ApiError) -> Self {
        match error.kind {
            ApiErrorKind::Stopped(stopped) => Self::Stopped(stopped),
            ApiErrorKind::Unreachable => Self::Uncertain(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl Run<'_> {
    /// Runs hooks of one moment, one after the other, and then takes away those that are to go.
    pub(crate) async fn run_hooks(
        &self,
        steps: &[&HookStep],
        options: HookOptions<'_>,
        all: &mut HookResults,
    ) {
        let mut done: Vec<&HookStep> = Vec::new();
        for step in steps {
            if all.is_broken() {
                all.skip([*step]);
                continue;
            }
            match self.run_hook(step, options, all).await {
                Ok(()) => done.push(step),
                Err(error) => self.take_failed(step, error, options, all).await,
            }
        }
        for step in done.into_iter().rev() {
            if step.delete.succeeded || options.removed {
                self.take_away(step, options, all).await;
            }
        }
    }

    /// Makes one hook and waits for it.
    async fn run_hook(
        &self,
        step: &HookStep,
        options: HookOptions<'_>,
        all: &mut HookResults,
    ) -> Result<(), HookError> {
        let identity = &step.entry.identity;
        let mut hooks = options.hooks.iter();
        let hook = hooks.find(|hook| hook.is_at(identity, step.event));
        let Some(hook) = hook else {
            return Err(HookError::Failed("it is not rendered".to_owned()));
        };
        // The same object may have run at an earlier moment of this very run.
        let precondition = match (all.made.remove(identity), &step.method) {
            (Some(made), _) => {
                self.make_room(&removal_of(step, &made), Some(made), options)
                    .await?
            }
            (None, HookMethod::Replace(left)) => {
                self.make_room(&step.removal(left), None, options).await?
            }
            (None, HookMethod::Create) => Precondition::Absent,
            (None, HookMethod::Keep(left)) => Precondition::Unchanged {
                uid: left.uid.clone(),
                resource_version: left.resource_version.clone(),
            },
        };
        self.tell_sent(&step.entry);
        let object = hook.object.manifest.object();
        let request = ApplyObject {
            precondition,
            ..apply_hook(hook, &object)
        };
        let made = self.backend.apply(request, options.permit).await?;
        all.saw(identity, made.object.clone());
        self.tell_hook(step, Action::Created, None, all);
        if is_awaited(identity) {
            self.emit(Event::Waiting(Wait::Ready(vec![identity.clone()])));
            let ended = self.wait_for_hook(identity, &made.object, options).await?;
            if let Some(ended) = ended {
                all.saw(identity, ended);
            }
        }
        Ok(())
    }

    /// Lets the server pretend to make a hook that does not replace another one.
    pub(crate) async fn pretend_hook(
        &self,
        step: &HookStep,
        hook: &CandidateHook,
    ) -> Result<(), ApiError> {
        let precondition = match &step.method {
            HookMethod::Create => Precondition::Absent,
            HookMethod::Keep(left) | HookMethod::Replace(left) => Precondition::Exists {
                uid: left.uid.clone(),
            },
        };
        let object = hook.object.manifest.object();
        let request = ApplyObject {
            precondition,
            dry_run: true,
            ..apply_hook(hook, &object)
        };
        self.backend.apply(request, self.permit()).await.map(drop)
    }

    /// Waits until a hook has come to its end. Answers with how it was then, if it is still there.
    async fn wait_for_hook(
        &self,
        identity: &Identity,
        made: &Map<String, Value>,
        options: HookOptions<'_>,
    ) -> Result<Option<Map<String, Value>>, HookError> {
        let mut last = Some(made.clone());
        let mut on_event = |event| {
            last = match event {
                WatchEvent::Seen(_, object) => Some(object),
                WatchEvent::Gone(_) => None,
            };
            let running = |object: &_| matches!(HookProgress::of(object), HookProgress::Running(_));
            !last.as_ref().is_some_and(running)
        };
        let wanted = [identity.clone()];
        let watching = self.backend.watch(&wanted, options.timeout, &mut on_event);
        let watched = self.unless_stopped(options.permit, watching).await;
        watched.map_err(HookError::Stopped)??;
        let Some(object) = last else {
            // One that removes itself when it is done is done.
            let expires = made
                .get("spec")
                .and_then(|spec| spec.get("ttlSecondsAfterFinished"));
            return match expires {
                Some(_) => Ok(None),
                None => Err(HookError::Failed("it was deleted while it ran".to_owned())),
            };
        };
        let (health, late) = match HookProgress::of(&object) {
            HookProgress::Succeeded => return Ok(Some(object)),
            HookProgress::Failed(said) => (Health::failed(said), String::new()),
            HookProgress::Running(said) => {
                let late = format!("it did not end within {} s: ", options.timeout.as_secs());
                (Health::progressing(said), late)
            }
        };
        let said = self.explain(&health, Some(&object)).await;
        Err(HookError::Failed(format!("{late}{said}")))
    }

    async fn take_failed(
        &self,
        step: &HookStep,
        error: HookError,
        options: HookOptions<'_>,
        all: &mut HookResults,
    ) {
        let identity = &step.entry.identity;
        let (reason, result) = match error {
            HookError::Stopped(stopped) => {
                all.stopped = Some(stopped);
                let reason = ApiError::stopped(stopped).message;
                self.tell_hook(step, Action::Skipped, Some(reason), all);
                all.results.insert(identity.clone(), SendOutcome::NotSent);
                return;
            }
            HookError::Uncertain(reason) => (reason, SendOutcome::Uncertain),
            HookError::Failed(reason) => (reason, SendOutcome::Failed),
        };
        all.failed = Some(format!("the {} hook {identity} failed", step.event));
        self.tell_hook(step, Action::Failed, Some(reason), all);
        if step.delete.failed {
            self.take_away(step, options, all).await;
        }
        all.results.insert(identity.clone(), result);
    }

    /// Takes the object of a hook away that is done. One that stays is tracked as kept; where
    /// nothing would track it any more, that is a failure.
    async fn take_away(&self, step: &HookStep, options: HookOptions<'_>, all: &mut HookResults) {
        let identity = &step.entry.identity;
        let Some(made) = all.made.remove(identity) else {
            return;
        };
        let removal = removal_of(step, &made);
        match self.remove_hook(&removal, Some(made), options).await {
            RemovalOutcome::Gone { .. } => {
                let gone = SendOutcome::Done { uid: None };
                all.results.insert(identity.clone(), gone);
                self.tell_hook(step, Action::Deleted, None, all);
            }
            RemovalOutcome::Stopped(stopped) => all.stopped = Some(stopped),
            RemovalOutcome::Left => {
                let reason = "other releases share it".to_owned();
                self.tell_hook(step, Action::Kept, Some(reason), all);
            }
            RemovalOutcome::NotMine(reason) => {
                self.tell_hook(step, Action::Kept, Some(reason), all);
            }
            RemovalOutcome::Failed(reason) => {
                let reason = format!("it is done and could not be deleted: {reason}");
                let action = match options.removed {
                    true => Action::Failed,
                    false => Action::Kept,
                };
                self.tell_hook(step, action, Some(reason), all);
                if options.removed && all.failed.is_none() {
                    let event = step.event;
                    all.failed = Some(format!("the {event} hook {identity} could not be deleted"));
                }
            }
        }
    }

    async fn remove_hook(
        &self,
        removal: &PruneStep,
        seen: Option<Map<String, Value>>,
        options: HookOptions<'_>,
    ) -> RemovalOutcome {
        let options = RemovalOptions {
            release: options.release,
            concurrency: Concurrency::Fixed(1),
            dry_run: false,
            done: Action::Deleted,
            awaits: false,
            permit: options.permit,
        };
        match seen {
            Some(seen) => self.remove_seen(removal, seen, options).await,
            None => self.remove_one(removal, options).await,
        }
    }

    /// Makes room for a hook. Answers with what must hold of its place then.
    async fn make_room(
        &self,
        removal: &PruneStep,
        seen: Option<Map<String, Value>>,
        options: HookOptions<'_>,
    ) -> Result<Precondition, HookError> {
        let stands = |why: &str| HookError::Failed(format!("the one before it stands: {why}"));
        match self.remove_hook(removal, seen, options).await {
            RemovalOutcome::Gone { .. } => {}
            RemovalOutcome::Left => return Err(stands("other releases share it")),
            RemovalOutcome::NotMine(why) | RemovalOutcome::Failed(why) => {
                return Err(stands(&why));
            }
            RemovalOutcome::Stopped(stopped) => return Err(HookError::Stopped(stopped)),
        }
        let going = BTreeMap::from([(removal.entry.identity.clone(), removal.uid.clone())]);
        let there = self
            .wait_gone(&going, options.timeout, options.permit)
            .await?;
        match there.into_iter().next() {
            None => Ok(Precondition::Absent),
            Some((_, why)) => Err(HookError::Failed(format!(
                "the one of an earlier run is not gone: {why}"
            ))),
        }
    }

    /// Says what became of a hook, in place of what was said of it before.
    fn tell_hook(
        &self,
        step: &HookStep,
        action: Action,
        reason: Option<String>,
        all: &mut HookResults,
    ) {
        let reason = match reason {
            Some(reason) => format!("{} hook: {reason}", step.event),
            None => format!("{} hook", step.event),
        };
        let outcome = ObjectOutcome::of(&step.entry, action, Some(reason));
        self.emit(outcome.event());
        all.outcomes.retain(|one| one.identity != outcome.identity);
        all.outcomes.push(outcome);
    }
}

fn apply_hook<'a>(hook: &'a CandidateHook, object: &'a Map<String, Value>) -> ApplyObject<'a> {
    let manifest = &hook.object.manifest;
    ApplyObject {
        identity: manifest.identity(),
        version: manifest.version(),
        object,
        precondition: Precondition::Absent,
        field_manager: labels::FIELD_MANAGER,
        force: false,
        dry_run: false,
    }
}

/// How an object goes that this very run has made: that is the uid by which it is known.
fn removal_of(step: &HookStep, made: &Map<String, Value>) -> PruneStep {
    let text = |key| metadata(made, key).unwrap_or_default().to_owned();
    let mut removal = step.removal(&HookObject {
        uid: text("uid"),
        resource_version: text("resourceVersion"),
    });
    removal.entry.uid = Some(removal.uid.clone());
    removal
}
