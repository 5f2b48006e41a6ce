//! Why a run is refused before anything is touched, in words and with the flag that helps.

use std::fmt;

use super::LabelledRelease;
use crate::identity::Identity;
use crate::plan::{Guard, GuardFlags};

/// What speaks against a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalReason {
    /// It is being deleted.
    Terminating,
    /// It exists and no release tracks it.
    Untracked,
    /// It exists, and Helm owns it.
    HelmOwned(String),
    /// It is another release's.
    OtherRelease(LabelledRelease),
    /// Other releases share it, and this one renders it for itself alone.
    SharedByOthers(Vec<LabelledRelease>),
    /// It is the record of a release.
    Record,
    /// The server did not permit a look at it.
    Forbidden(String),
    /// The server could not be asked about it.
    Unreachable(String),
    /// A Namespace or CustomResourceDefinition that should go holds objects that should not.
    Occupied(Vec<Identity>),
    /// What a Namespace or CustomResourceDefinition holds could not be found out.
    OccupantsUnknown(String),
    /// Recreating it would delete an object of a guarded kind.
    Guarded(Guard),
    /// Nothing is rendered, and this many objects would go.
    EmptyRender(usize),
}

/// One reason to refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The object, unless the reason is about the whole plan.
    pub object: Option<Identity>,
    /// The reason.
    pub why: RefusalReason,
}

/// Which kind of refusal it is: each has an exit code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The only cause is that the server does not permit it.
    Forbidden,
    /// The only cause is that the server cannot be reached.
    Unreachable,
    /// Any other cause.
    Refused,
}

/// All reasons to refuse a plan. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals(pub Vec<Refusal>);

impl Refusals {
    /// Which kind of refusal they amount to.
    pub fn kind(&self) -> RefusalKind {
        let all =
            |test: fn(&RefusalReason) -> bool| self.0.iter().all(|refusal| test(&refusal.why));
        if all(|why| matches!(why, RefusalReason::Forbidden(_))) {
            RefusalKind::Forbidden
        } else if all(|why| matches!(why, RefusalReason::Unreachable(_))) {
            RefusalKind::Unreachable
        } else {
            RefusalKind::Refused
        }
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, refusal) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            refusal.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusals {}

impl Refusal {
    /// What is the matter, without the hint.
    pub fn message(&self) -> String {
        let resource = self
            .object
            .as_ref()
            .map(|o| format!("Resource {o}"))
            .unwrap_or_default();
        match &self.why {
            RefusalReason::Terminating => format!("{resource} is being deleted"),
            RefusalReason::Untracked => {
                format!("{resource} already exists but is not tracked by this release")
            }
            RefusalReason::HelmOwned(release) => {
                format!("{resource} belongs to the Helm release {release}")
            }
            RefusalReason::OtherRelease(release) => {
                format!("{resource} belongs to release {release}")
            }
            RefusalReason::SharedByOthers(releases) => {
                format!("{resource} is shared by release {}", list(releases))
            }
            RefusalReason::Record => format!("{resource} is the record of a release"),
            RefusalReason::Forbidden(cause) => format!("{resource} may not be read: {cause}"),
            RefusalReason::Unreachable(cause) => format!("{resource} could not be read: {cause}"),
            RefusalReason::Occupied(objects) => {
                format!(
                    "{resource} still holds objects that would go with it: {}",
                    list(objects)
                )
            }
            RefusalReason::OccupantsUnknown(cause) => {
                format!("what {resource} holds could not be found out: {cause}")
            }
            RefusalReason::Guarded(_) => {
                format!("{resource} is of a kind that is not deleted on the side")
            }
            RefusalReason::EmptyRender(count) => {
                format!("the module renders no objects, and {count} would be removed")
            }
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match &self.why {
            RefusalReason::Terminating => {
                "Wait for deletion to complete before applying, or use --wait-for-deletion".into()
            }
            RefusalReason::Untracked => {
                "Delete it manually or use --adopt to take ownership".into()
            }
            RefusalReason::HelmOwned(_) => {
                format!("Use --adopt={} to take it from Helm", self.named())
            }
            RefusalReason::OtherRelease(_) => {
                "Use --take-ownership to transfer it to this release".into()
            }
            RefusalReason::SharedByOthers(_) => {
                "Annotate it with opmodel.dev/shared: \"true\" to share it".into()
            }
            RefusalReason::Record => "Give the rendered object another name".into(),
            RefusalReason::Forbidden(_) => "Ask for the right to get and list it".into(),
            RefusalReason::Unreachable(_) => "Try again when the API server answers for it".into(),
            RefusalReason::Occupied(_) => {
                format!("Remove them first, or go on without {}", self.flag())
            }
            RefusalReason::OccupantsUnknown(_) => {
                format!(
                    "Ask for the right to list it, or go on without {}",
                    self.flag()
                )
            }
            RefusalReason::Guarded(guard) => format!("Use {} as well", guard.flag()),
            RefusalReason::EmptyRender(_) => {
                "Use --allow-empty if that is meant, or `opm mod delete` to remove the release"
                    .into()
            }
        }
    }

    fn named(&self) -> String {
        self.object
            .as_ref()
            .map(|o| format!("{}/{}", o.kind(), o.name))
            .unwrap_or_default()
    }

    fn flag(&self) -> &'static str {
        let guard = self
            .object
            .as_ref()
            .and_then(|object| Guard::of(&object.group_kind));
        guard.map_or("the guard flag", Guard::flag)
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    items
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}.", self.message(), self.hint())
    }
}

/// What speaks against deleting an object and creating it again, because immutable fields of it
/// changed.
pub fn against_recreating(identity: &Identity, guards: GuardFlags) -> Option<Refusal> {
    let guard = guards.in_the_way(identity)?;
    Some(Refusal {
        object: Some(identity.clone()),
        why: RefusalReason::Guarded(guard),
    })
}
