//! Why a run is refused before anything is touched, in words and with what would lift it.

use std::fmt;

use super::{LabelledRelease, RecreateRefusal};
use crate::failure::{FailureKind, Remedy};
use crate::identity::Identity;
use crate::plan::{Guard, Occupants, SilentGroup};
use crate::rights::ResourceRight;
use crate::words;

/// Why a plan is refused.
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
    Occupied {
        /// Which guard was lifted.
        guard: Guard,
        /// What stays inside.
        objects: Vec<Identity>,
    },
    /// What a Namespace or CustomResourceDefinition holds could not be found out.
    OccupantsUnknown {
        /// Which guard was lifted.
        guard: Guard,
        /// Why it could not be found out.
        cause: String,
    },
    /// A Namespace that should go may hold objects of an API group that does not answer.
    SilentGroup {
        /// Which guard was lifted.
        guard: Guard,
        /// Who does not answer.
        silent: SilentGroup,
    },
    /// The server does not permit something that these objects need.
    MissingRight {
        /// What is not permitted.
        right: ResourceRight,
        /// Which objects need it.
        objects: Vec<Identity>,
    },
    /// Fields changed that cannot be changed in place, and nobody said that it may be recreated.
    Immutable {
        /// The fields.
        fields: Vec<String>,
        /// What more there is to say about recreating it.
        recreate: RecreateRefusal,
    },
    /// These items stand in their lists more than once.
    RepeatedItems(Vec<String>),
    /// Others set fields of it to other values.
    FieldConflict {
        /// Which fields, and whose they are.
        conflict: String,
        /// Whether it is about to be adopted.
        adopted: bool,
    },
    /// The server would not take it.
    WouldFail {
        /// What it says.
        cause: String,
        /// Whether that is for want of rights.
        forbidden: bool,
    },
    /// Nothing is rendered, and this many objects would go.
    EmptyRender(usize),
    /// These objects would go for a module that seems to be another one.
    AnotherModule(Vec<Identity>),
}

/// One reason to refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The object, unless the reason is about the whole plan.
    pub object: Option<Identity>,
    /// The reason.
    pub why: RefusalReason,
}

/// All reasons to refuse a plan. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals(pub Vec<Refusal>);

impl Refusals {
    /// Whether the only reason is that nothing is rendered: a person may say that this is meant.
    pub fn only_empty_render(&self) -> bool {
        let empty = |refusal: &Refusal| matches!(refusal.why, RefusalReason::EmptyRender(_));
        self.0.iter().all(empty)
    }
}

impl Refusals {
    /// Which kind of failure they amount to: what all of them are.
    pub fn kind(&self) -> FailureKind {
        let kinds = self.0.iter().map(|refusal| match &refusal.why {
            RefusalReason::Forbidden(_)
            | RefusalReason::MissingRight { .. }
            | RefusalReason::WouldFail {
                forbidden: true, ..
            } => FailureKind::NotPermitted,
            RefusalReason::Unreachable(_) => FailureKind::Unreachable,
            _ => FailureKind::Refused,
        });
        kinds
            .reduce(FailureKind::and)
            .unwrap_or(FailureKind::Refused)
    }
}

/// Each reason once, with the objects that it holds for, in the order of their first objects.
impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups: Vec<(Option<String>, Vec<&Refusal>)> = Vec::new();
        for refusal in &self.0 {
            let heading = refusal.heading();
            let same = |(of, _): &&mut (Option<String>, _)| of.is_some() && *of == heading;
            match groups.iter_mut().find(same) {
                Some((_, group)) => group.push(refusal),
                None => groups.push((heading, vec![refusal])),
            }
        }
        for (at, (heading, group)) in groups.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            match (heading, group.as_slice()) {
                (Some(heading), [_, _, ..]) => {
                    write!(f, "{} {heading}:", words::count(group.len(), "object"))?;
                    let objects = group.iter().filter_map(|refusal| refusal.object.as_ref());
                    for object in objects {
                        write!(f, "\n  {object}")?;
                    }
                }
                (_, group) => f.write_str(&list_by(group, "\n"))?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Refusals {}

impl Refusal {
    /// What is the matter with several objects, where it is the same with all of them.
    fn heading(&self) -> Option<String> {
        self.object.as_ref()?;
        Some(match &self.why {
            RefusalReason::Terminating => "are being deleted".to_owned(),
            RefusalReason::Untracked => {
                "already exist but are not tracked by this release".to_owned()
            }
            RefusalReason::HelmOwned(release) => format!("belong to the Helm release {release}"),
            RefusalReason::OtherRelease(release) => format!("belong to release {release}"),
            RefusalReason::SharedByOthers(releases) => {
                format!("are shared by release {}", list(releases))
            }
            RefusalReason::Record => "are records of releases".to_owned(),
            // Each of these has more to say about its object.
            RefusalReason::Forbidden(_)
            | RefusalReason::Unreachable(_)
            | RefusalReason::Occupied { .. }
            | RefusalReason::OccupantsUnknown { .. }
            | RefusalReason::SilentGroup { .. }
            | RefusalReason::MissingRight { .. }
            | RefusalReason::Immutable { .. }
            | RefusalReason::RepeatedItems(_)
            | RefusalReason::FieldConflict { .. }
            | RefusalReason::WouldFail { .. }
            | RefusalReason::EmptyRender(_)
            | RefusalReason::AnotherModule(_) => return None,
        })
    }

    /// What is the matter.
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
            RefusalReason::Occupied { objects, .. } => {
                format!(
                    "{resource} still holds objects that would go with it: {}",
                    list(objects)
                )
            }
            RefusalReason::OccupantsUnknown { cause, .. } => {
                format!("what {resource} holds could not be found out: {cause}")
            }
            RefusalReason::SilentGroup { silent, .. } => format!(
                "what {resource} holds could not be found out: the server behind API group {} \
                 does not answer: {}",
                silent.group, silent.cause
            ),
            RefusalReason::MissingRight { right, objects } => {
                format!("the right to {right} is missing, for {}", some_of(objects))
            }
            RefusalReason::Immutable { .. } => format!("{resource}: {}", self.detail()),
            RefusalReason::RepeatedItems(items) => {
                format!("{resource} has items more than once: {}", items.join(", "))
            }
            RefusalReason::FieldConflict { conflict, .. } => {
                format!("{resource} cannot be taken over as it is: {conflict}")
            }
            RefusalReason::WouldFail { cause, .. } => {
                format!("{resource} would not be taken: {cause}")
            }
            RefusalReason::EmptyRender(count) => {
                format!("the module renders no objects, and {count} would be removed")
            }
            RefusalReason::AnotherModule(going) => format!(
                "this looks like another module of the same name, and these objects of the release \
                 would be removed: {}",
                list(going)
            ),
        }
    }

    /// The same for a place that names the object already.
    pub fn detail(&self) -> String {
        match &self.why {
            RefusalReason::Immutable { fields, recreate } => {
                format!("{} cannot be changed in place{recreate}", fields.join(", "))
            }
            RefusalReason::FieldConflict { conflict, .. } => conflict.clone(),
            RefusalReason::WouldFail { cause, .. } => cause.clone(),
            _ => self.message(),
        }
    }

    /// What would lift it, or what to do next.
    pub fn remedies(&self) -> Vec<Remedy> {
        match (&self.why, &self.object) {
            (RefusalReason::Immutable { recreate, .. }, _) => recreate.remedies(),
            (RefusalReason::FieldConflict { adopted: true, .. }, Some(identity)) => {
                let named = Remedy::AdoptFieldsOf(identity.clone());
                vec![Remedy::ForceConflicts, named]
            }
            (
                RefusalReason::WouldFail {
                    forbidden: false, ..
                },
                _,
            ) => Vec::new(),
            _ => vec![self.remedy()],
        }
    }

    fn remedy(&self) -> Remedy {
        match &self.why {
            RefusalReason::Terminating => Remedy::WaitForDeletion,
            RefusalReason::Untracked => Remedy::Adopt,
            RefusalReason::HelmOwned(_) => match &self.object {
                Some(identity) => Remedy::AdoptNamed(identity.clone()),
                None => Remedy::Adopt,
            },
            RefusalReason::OtherRelease(_) => Remedy::TakeOwnership,
            RefusalReason::SharedByOthers(_) => {
                "Annotate it with opmodel.dev/shared: \"true\" to share it".into()
            }
            RefusalReason::Record => "Give the rendered object another name".into(),
            RefusalReason::Forbidden(_) => "Ask for the right to get and list it".into(),
            RefusalReason::Unreachable(_) => "Try again when the API server answers for it".into(),
            RefusalReason::Occupied { guard, .. } => Remedy::EmptyOrKeepGuard(*guard),
            RefusalReason::OccupantsUnknown { guard, .. } => Remedy::ListOrKeepGuard(*guard),
            RefusalReason::SilentGroup { guard, silent } => Remedy::RepairServerOrKeepGuard {
                server: silent.served_by(),
                guard: *guard,
            },
            RefusalReason::MissingRight { right, objects } => Remedy::GrantRight {
                right: right.clone(),
                names: objects.iter().map(|object| object.name.clone()).collect(),
            },
            RefusalReason::WouldFail { .. } => {
                "Ask for this right, or act as somebody who has it".into()
            }
            RefusalReason::Immutable { .. } => Remedy::Recreate,
            RefusalReason::RepeatedItems(_) => "Leave one of them in the manifest".into(),
            RefusalReason::FieldConflict { .. } => Remedy::ForceConflicts,
            RefusalReason::EmptyRender(_) => Remedy::AllowEmpty,
            RefusalReason::AnotherModule(_) => Remedy::ReplaceAll,
        }
    }
}

/// The first few, and how many more.
fn some_of(objects: &[Identity]) -> String {
    let first: Vec<String> = objects.iter().take(5).map(ToString::to_string).collect();
    match objects.len().saturating_sub(first.len()) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    list_by(items, ", ")
}

fn list_by<T: fmt::Display>(items: &[T], between: &str) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(between)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

/// Why a definition must not go after all, though everything of this release inside has gone.
pub fn still_holds(occupants: &Occupants) -> Option<String> {
    match occupants {
        Occupants::Known(occupants) | Occupants::Partly { occupants, .. } => {
            let objects: Vec<&Identity> = occupants.iter().map(|one| &one.identity).collect();
            let held = || format!("it holds objects that would go with it: {}", list(&objects));
            (!objects.is_empty()).then(held)
        }
        Occupants::Unknown(cause) => Some(format!("what it holds could not be found out: {cause}")),
    }
}
