//! Hooks of charts: objects that a run makes at a certain moment, waits for, and takes away again.
//! They are no part of what a release consists of.
//!
//! Which objects are hooks, when they run, in which order, and what becomes of them afterwards is
//! decided here; the engine carries it out. Only what a chart rendered counts: the same
//! annotations on plain manifests mean nothing.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::health::{self, HealthState};
use crate::identity::Identity;
use crate::manifest::Manifest;
use crate::plan::apply_order;

/// The annotation by which a chart names the moments of a hook.
pub const HELM_HOOK: &str = "helm.sh/hook";
const WEIGHT: &str = "helm.sh/hook-weight";
const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
/// The annotation that tells a chart's hooks from objects that only say so. Whoever renders a
/// chart sets it; it is recorded with the object.
pub const MARKER: &str = "opmodel.dev/hook";

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// Before the objects of a new release.
    PreInstall,
    /// Once they are ready.
    PostInstall,
    /// Before the objects of a change.
    PreUpgrade,
    /// Once they are ready.
    PostUpgrade,
    /// Before a change is applied again.
    PreRollback,
    /// Once it is ready.
    PostRollback,
    /// Before a release is deleted.
    PreDelete,
    /// Once its objects are gone.
    PostDelete,
    /// When somebody asks whether the release works.
    Test,
}

impl HookEvent {
    const ALL: [(Self, &'static str); 9] = [
        (Self::PreInstall, "pre-install"),
        (Self::PostInstall, "post-install"),
        (Self::PreUpgrade, "pre-upgrade"),
        (Self::PostUpgrade, "post-upgrade"),
        (Self::PreRollback, "pre-rollback"),
        (Self::PostRollback, "post-rollback"),
        (Self::PreDelete, "pre-delete"),
        (Self::PostDelete, "post-delete"),
        (Self::Test, "test"),
    ];

    /// Whether it runs before the objects of its component are touched.
    pub fn is_before(self) -> bool {
        use HookEvent::{PreDelete, PreInstall, PreRollback, PreUpgrade};
        matches!(self, PreInstall | PreUpgrade | PreRollback | PreDelete)
    }

    /// As a chart writes it.
    pub fn word(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(event, _)| *event == self)
            .map_or("", |(_, word)| word)
    }

    /// What a chart means by a word. Tests had another name once.
    pub fn from_word(word: &str) -> Option<Self> {
        if word == "test-success" {
            return Some(Self::Test);
        }
        let mut all = Self::ALL.iter();
        all.find(|(_, one)| *one == word).map(|(event, _)| *event)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a run does, as far as hooks are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFlow {
    /// A release comes into being.
    Install,
    /// It becomes another change.
    Upgrade,
    /// A recorded change is applied again.
    Rollback,
    /// It goes.
    Delete,
    /// It is tried.
    Test,
}

impl HookFlow {
    /// What an apply is. Applying the current change once more is nothing to a chart, so that what
    /// is unchanged stays so; going back always is.
    pub fn of_apply(current: Option<&str>, change: &str, goes_back: bool) -> Option<Self> {
        match current {
            _ if goes_back => Some(Self::Rollback),
            None => Some(Self::Install),
            Some(current) if current == change => None,
            Some(_) => Some(Self::Upgrade),
        }
    }

    /// The hooks before its objects are touched.
    pub fn before(self) -> Option<HookEvent> {
        match self {
            Self::Install => Some(HookEvent::PreInstall),
            Self::Upgrade => Some(HookEvent::PreUpgrade),
            Self::Rollback => Some(HookEvent::PreRollback),
            Self::Delete => Some(HookEvent::PreDelete),
            Self::Test => None,
        }
    }

    /// The hooks when its objects are as they should be.
    pub fn after(self) -> HookEvent {
        match self {
            Self::Install => HookEvent::PostInstall,
            Self::Upgrade => HookEvent::PostUpgrade,
            Self::Rollback => HookEvent::PostRollback,
            Self::Delete => HookEvent::PostDelete,
            Self::Test => HookEvent::Test,
        }
    }

    /// Whether hooks of this event run in it.
    pub fn has(self, event: HookEvent) -> bool {
        self.before() == Some(event) || self.after() == event
    }
}

/// What becomes of a hook's object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeletePolicy {
    /// It goes when the hook has succeeded.
    pub succeeded: bool,
    /// It goes when the hook has failed.
    pub failed: bool,
}

/// What an object says about itself as a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// When it runs.
    pub events: BTreeSet<HookEvent>,
    /// Words that mean no moment.
    pub unknown: Vec<String>,
    /// Lighter ones run first.
    pub weight: i32,
    /// What becomes of it.
    pub delete: DeletePolicy,
}

impl Hook {
    /// What a chart's hook says about itself; none if it is an object like every other.
    pub fn of(manifest: &Manifest) -> Option<Self> {
        manifest.annotation(MARKER)?;
        let (mut events, mut unknown) = (BTreeSet::new(), Vec::new());
        for word in words(manifest.annotation(HELM_HOOK)?) {
            match HookEvent::from_word(&word) {
                Some(event) => drop(events.insert(event)),
                None => unknown.push(word),
            }
        }
        let weight = manifest.annotation(WEIGHT).unwrap_or_default();
        let policies: Vec<String> =
            words(manifest.annotation(DELETE_POLICY).unwrap_or_default()).collect();
        let has = |policy: &str| policies.iter().any(|one| one == policy);
        Some(Self {
            events,
            unknown,
            // As Helm has it: what is no number weighs nothing.
            weight: weight.trim().parse().unwrap_or_default(),
            delete: DeletePolicy {
                succeeded: has("hook-succeeded"),
                failed: has("hook-failed"),
            },
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(',').map(|word| word.trim().to_ascii_lowercase());
    words.filter(|word| !word.is_empty())
}

/// How far a hook has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookProgress {
    /// It is at work; what it says about that.
    Running(String),
    /// It has come to a good end.
    Succeeded,
    /// It has come to a bad end; what it says about that.
    Failed(String),
}

impl HookProgress {
    /// How far the hook with this live object has come. A Pod that is ready is still at work.
    pub fn of(object: &Map<String, Value>) -> Self {
        let health = health::of(object);
        let phase = object.get("status").and_then(|status| status.get("phase"));
        let is_pod = object.get("kind").is_some_and(|kind| kind == "Pod");
        match health.state {
            HealthState::Failed => Self::Failed(health.message),
            HealthState::Ready if !is_pod || phase.is_some_and(|it| it == "Succeeded") => {
                Self::Succeeded
            }
            HealthState::Ready => Self::Running("it is still running".to_owned()),
            _ => Self::Running(health.message),
        }
    }
}

/// The order in which hooks of one event run: by weight, then as objects are applied.
pub fn hook_order(a: (i32, &Identity), b: (i32, &Identity)) -> std::cmp::Ordering {
    a.0.cmp(&b.0).then_with(|| apply_order(a.1, b.1))
}

/// Whether a hook is waited for: until a Job or Pod has come to its end. Everything else is there
/// once it is made.
pub fn is_awaited(identity: &Identity) -> bool {
    identity.group_kind.is("batch", "Job") || identity.group_kind.is("", "Pod")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hook(annotations: &Value) -> Option<Hook> {
        let object = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "migrate", "annotations": annotations},
        });
        Hook::of(&Manifest::parse(object).unwrap())
    }

    #[test]
    fn only_what_a_chart_marks_is_a_hook() {
        assert_eq!(hook(&json!({"helm.sh/hook": "pre-install"})), None);
        assert_eq!(hook(&json!({"opmodel.dev/hook": "helm"})), None);
        assert!(hook(&json!({"helm.sh/hook": "test", "opmodel.dev/hook": "helm"})).is_some());
    }

    /// hook, weight, policy → events, unknown, weight, (succeeded, failed)
    #[test]
    fn what_a_hook_says() {
        use HookEvent::{PostUpgrade, PreInstall, Test};
        let none = ("", "");
        for (word, (weight, policy), events, unknown, number, gone) in [
            ("pre-install", none, vec![PreInstall], "", 0, (false, false)),
            (
                " Pre-Install , post-upgrade",
                ("-5", "before-hook-creation"),
                vec![PreInstall, PostUpgrade],
                "",
                -5,
                (false, false),
            ),
            (
                "test-success",
                ("heavy", "hook-succeeded,hook-failed"),
                vec![Test],
                "",
                0,
                (true, true),
            ),
            (
                "crd-install,test",
                ("7", "hook-failed"),
                vec![Test],
                "crd-install",
                7,
                (false, true),
            ),
        ] {
            let read = hook(&json!({
                "helm.sh/hook": word, "opmodel.dev/hook": "helm",
                "helm.sh/hook-weight": weight, "helm.sh/hook-delete-policy": policy,
            }));
            let read = read.unwrap();
            assert_eq!(read.events, events.into_iter().collect(), "{word}");
            assert_eq!(read.unknown.join(","), unknown);
            assert_eq!(read.weight, number);
            assert_eq!((read.delete.succeeded, read.delete.failed), gone);
        }
    }

    #[test]
    fn how_far_a_hook_has_come() {
        let job = |condition: &str| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
                "status": {"conditions": [{"type": condition, "status": "True", "reason": "R", "message": "M"}]}})
        };
        let pod = |phase: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status":
                {"phase": phase, "conditions": [{"type": "Ready", "status": "True"}]}})
        };
        for (object, expected) in [
            (job("Complete"), "Succeeded"),
            (job("Failed"), "Failed"),
            (job("Suspended"), "Running"),
            (pod("Running"), "Running"),
            (pod("Succeeded"), "Succeeded"),
            (pod("Failed"), "Failed"),
        ] {
            let progress = HookProgress::of(object.as_object().unwrap());
            assert!(
                format!("{progress:?}").starts_with(expected),
                "{progress:?}"
            );
        }
    }

    /// current change, goes back → flow of applying `change-2`, and its events
    #[test]
    fn which_hooks_run_when() {
        for (current, back, expected) in [
            (None, false, "pre-install post-install"),
            (Some("change-1"), false, "pre-upgrade post-upgrade"),
            (Some("change-2"), false, ""),
            (Some("change-1"), true, "pre-rollback post-rollback"),
            (Some("change-2"), true, "pre-rollback post-rollback"),
            (None, true, "pre-rollback post-rollback"),
        ] {
            let flow = HookFlow::of_apply(current, "change-2", back);
            let events = flow.map(|flow| {
                let before = flow.before().map(|one| format!("{one} "));
                format!("{}{}", before.unwrap_or_default(), flow.after())
            });
            assert_eq!(events.unwrap_or_default(), expected, "{current:?} {back}");
        }
        assert!(
            HookFlow::Delete.has(HookEvent::PreDelete)
                && HookFlow::Delete.has(HookEvent::PostDelete)
        );
        assert!(HookFlow::Test.has(HookEvent::Test) && !HookFlow::Test.has(HookEvent::PreDelete));
    }
}
