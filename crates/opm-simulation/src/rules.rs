//! What must hold, whatever happens. Each rule is a name here, with its reason, and a function of
//! the world's full history: of the ledger while it is written, or of what clients were told.

use http::Method;
use opm_core::identity::Identity;
use opm_engine::report::{Action as Did, Report};
use opm_engine::status::{Presence, Status};
use opm_engine::{Failure, FailureKind};

use crate::ledger::{Actor, Ledger};
use crate::plan::ReleaseIndex;

/// Nothing foreign is changed or deleted. People lose data by tools that are sure of themselves:
/// what a release did not create, adopt or share is not its to touch.
pub const FOREIGN: &str = "nothing foreign is touched";

/// Nothing guarded or kept goes without its flag. Data behind a claim does not come back.
pub const GUARDED: &str = "nothing guarded goes without its flag";

/// Nothing is deleted whose uid was not looked at. A name may mean another object by now.
pub const LOOKED_AT: &str = "nothing is deleted unseen";

/// At most one writer acts, under a lock that it holds. Two writers undo each other's work and
/// neither record is true.
pub const ONE_WRITER: &str = "one writer at a time";

/// The record's Secret stays below what the server takes.
pub const BOUNDED: &str = "records stay bounded";

/// Every report, status and exit code was true at some moment between its start and its end.
pub const TRUE_WORDS: &str = "what is said is true";

/// No client waits for ever.
pub const ENDS: &str = "every command ends";

/// Nothing panics.
pub const NO_PANIC: &str = "nothing panics";

/// Whatever state a history ends in, an apply of the wanted module or a delete brings it to
/// order.
pub const ORDER: &str = "an apply or a delete brings order";

/// Nothing that a release created is untracked and unlabelled once requests have landed and one
/// apply has succeeded.
pub const NOTHING_LOST: &str = "nothing is lost";

/// A second apply of the same is unchanged.
pub const UNCHANGED: &str = "a second apply changes nothing";

/// More than any Secret that the server takes, with its metadata and base64.
pub(crate) const LARGEST_SECRET: usize = 1_500_000;

/// The URL of an object that a report names.
pub(crate) fn path_of(identity: &Identity) -> String {
    let group = identity.group_kind.group.as_str();
    let kind = identity.group_kind.kind.as_str();
    let root = match group {
        "" => "/api/v1".to_owned(),
        group => format!("/apis/{group}/v1"),
    };
    let plural = format!("{}s", kind.to_lowercase());
    let name = &identity.name;
    match &identity.namespace {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}/{name}"),
        None => format!("{root}/{plural}/{name}"),
    }
}

/// A span of a step, and whose it was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) actor: Actor,
    pub(crate) release: Option<ReleaseIndex>,
    pub(crate) from: u64,
    pub(crate) until: u64,
}

/// Holds a report against what happened.
pub(crate) fn report_is_true(ledger: &mut Ledger, span: Span, report: &Report) {
    if report.dry_run {
        return;
    }
    let Span {
        actor, from, until, ..
    } = span;
    let mut lies = Vec::new();
    for outcome in &report.resources {
        let path = path_of(&outcome.identity);
        let wrote = |method: &Method| ledger.did(actor, &path, method);
        let holds = match outcome.action {
            Did::Created | Did::Configured | Did::Recreated | Did::Adopted => {
                wrote(&Method::PATCH) && ledger.existed(&path, from, until)
            }
            Did::Unchanged | Did::Kept => ledger.existed(&path, from, until),
            Did::Pruned | Did::Deleted => {
                wrote(&Method::DELETE) || ledger.was_absent(&path, from, until)
            }
            Did::Failed | Did::Skipped | Did::Refused => true,
        };
        if !holds {
            let word = outcome.action.word();
            lies.push(format!("{actor} says that {path} was {word}"));
        }
    }
    for lie in lies {
        ledger.violate(TRUE_WORDS, until, lie);
    }
}

/// Holds a failure's kind against what happened.
pub(crate) fn failure_is_true(ledger: &mut Ledger, span: Span, failure: &Failure) {
    let Some(release) = span.release else {
        return;
    };
    let moments = ledger.record_during(release, span.from, span.until);
    let holds = match failure.kind {
        FailureKind::NotFound => moments
            .iter()
            .any(|moment| moment.is_none_or(|moment| moment.secret.is_none())),
        FailureKind::Locked => moments
            .iter()
            .any(|moment| moment.is_some_and(|moment| moment.lock.is_some())),
        _ => true,
    };
    // Of objects that are not there, or not named, the record says nothing.
    let about_record = !failure.message.contains('/');
    if !holds && about_record {
        let text = format!(
            "{} fails as {}: {}",
            span.actor,
            failure.kind.word(),
            failure.message
        );
        ledger.violate(TRUE_WORDS, span.until, text);
    }
    report_is_true(ledger, span, &failure.report);
}

/// Holds a status against what was there.
pub(crate) fn status_is_true(ledger: &mut Ledger, span: Span, status: &Status) {
    let mut lies = Vec::new();
    for object in status.objects() {
        let path = path_of(&object.entry.identity);
        let holds = match object.presence {
            Presence::There | Presence::Transferred(_) => {
                ledger.existed(&path, span.from, span.until)
            }
            Presence::Missing => ledger.was_absent(&path, span.from, span.until),
            Presence::Completed | Presence::Hidden => true,
        };
        if !holds {
            lies.push(format!(
                "{} says of {path}: {:?}",
                span.actor, object.presence
            ));
        }
    }
    for lie in lies {
        ledger.violate(TRUE_WORDS, span.until, lie);
    }
}
