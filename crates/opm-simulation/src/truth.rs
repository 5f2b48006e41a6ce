//! Whether what clients were told was true at some moment between the start and the end of the
//! command that said it.

use http::Method;
use opm_core::identity::Identity;
use opm_engine::list::Listing;
use opm_engine::repair::RepairReport;
use opm_engine::report::{Action as Did, ObjectOutcome, Report};
use opm_engine::status::{InventorySource, Presence, Status};
use opm_engine::{Failure, FailureKind, History};

use crate::client::Outcome;
use crate::ledger::{Actor, Ledger, Life, RecordMoment, contains};
use crate::plan::{Action, ReleaseIndex};
use crate::rules::TRUE_WORDS;

/// A step, and when it was.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) actor: Actor,
    pub(crate) action: Action,
    pub(crate) from: u64,
    pub(crate) until: u64,
    /// Whether somebody interrupted it, or was about to.
    pub(crate) interrupted: bool,
}

/// The URL of an object that a report names.
fn path_of(identity: &Identity) -> String {
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

/// What a command says it did, also when it failed.
fn report_of(result: &Result<Outcome, Failure>) -> Option<&Report> {
    match result {
        Ok(Outcome::Report(report)) => Some(report),
        Ok(_) => None,
        Err(failure) => Some(&failure.report),
    }
}

/// The objects that a command says it left standing.
pub(crate) fn told_as_kept(result: &Result<Outcome, Failure>) -> Vec<String> {
    let kept = report_of(result).into_iter().flat_map(|r| &r.resources);
    let kept = kept.filter(|outcome| outcome.action == Did::Kept);
    kept.map(|outcome| path_of(&outcome.identity)).collect()
}

/// The objects that a forget warns of: it struck them off the record, and their labels may not be
/// removed. Whether they stand it does not say where it may not look.
pub(crate) fn told_as_still_labelled(
    ledger: &Ledger,
    result: &Result<Outcome, Failure>,
) -> Vec<String> {
    let warnings = report_of(result).map_or(&[][..], |report| &report.warnings);
    let warned = |life: &&Life| {
        let said = format!("{} is not tracked any more", life.identity());
        warnings.iter().any(|warning| warning.starts_with(&said))
    };
    let lives = ledger.objects.values().filter(warned);
    lives.map(|life| life.path.clone()).collect()
}

/// Holds whatever a command said against what happened.
pub(crate) fn what_is_said_is_true(
    ledger: &mut Ledger,
    span: &Span,
    result: &Result<Outcome, Failure>,
) {
    let mut lies = match result {
        Ok(Outcome::Report(report)) => {
            let mut lies = report_lies(ledger, span, report);
            lies.extend(success_lies(ledger, span, report));
            lies
        }
        Ok(Outcome::Diff(diff)) => {
            let outcomes = diff.objects.iter().map(|one| &one.outcome);
            outcomes
                .filter(|one| !foretold(ledger, span, one))
                .map(|one| format!("{} would be {}", one.identity, one.action.word()))
                .collect()
        }
        Ok(Outcome::Status(status)) => status_lies(ledger, span, status),
        Ok(Outcome::List(listing)) => list_lies(ledger, span, listing),
        Ok(Outcome::History(history)) => history_lies(ledger, span, history),
        Ok(Outcome::Repair(repaired)) => repair_lies(ledger, span, repaired),
        Err(failure) => {
            let mut lies = report_lies(ledger, span, &failure.report);
            let failed = !failure_holds(ledger, span, failure);
            lies.extend(
                failed.then(|| format!("it failed as {:?}: {}", failure.kind, failure.message)),
            );
            lies
        }
    };
    for lie in lies.drain(..) {
        ledger.violate(
            TRUE_WORDS,
            span.until,
            format!("{} says: {lie}", span.actor),
        );
    }
}

fn during<'a>(ledger: &'a Ledger, span: &Span) -> Vec<Option<&'a RecordMoment>> {
    let release = span.action.release();
    release.map_or(Vec::new(), |release| {
        ledger.record_during(release, span.from, span.until)
    })
}

/// Whether an object was as the module of this step has it, at some moment of the step.
fn was_as_rendered(ledger: &Ledger, span: &Span, path: &str) -> bool {
    let (Action::Apply(_, module, _) | Action::Diff(_, module, _)) = &span.action else {
        return ledger.existed(path, span.from, span.until);
    };
    let Some(planned) = module.objects.iter().find(|one| one.path() == path) else {
        return ledger.existed(path, span.from, span.until);
    };
    let wanted = planned.stored_content();
    ledger.held(path, (span.from, span.until), |object| {
        contains(object, &wanted)
    })
}

/// What a report says of objects and is not so.
fn report_lies(ledger: &Ledger, span: &Span, report: &Report) -> Vec<String> {
    let Span {
        actor, from, until, ..
    } = *span;
    let holds = |outcome: &ObjectOutcome| {
        let path = path_of(&outcome.identity);
        match outcome.action {
            _ if report.dry_run => true,
            Did::Created | Did::Configured | Did::Recreated | Did::Adopted => {
                let did = ledger.did(actor, &path, &Method::PATCH);
                did && was_as_rendered(ledger, span, &path)
            }
            Did::Unchanged => was_as_rendered(ledger, span, &path),
            Did::Kept => ledger.existed(&path, from, until),
            Did::Pruned | Did::Deleted => {
                let did = ledger.did(actor, &path, &Method::DELETE);
                did || ledger.was_absent(&path, from, until)
            }
            Did::Failed | Did::Skipped | Did::Refused => true,
        }
    };
    let lies = report.resources.iter().filter(|outcome| !holds(outcome));
    lies.map(|outcome| format!("{} was {}", outcome.identity, outcome.action.word()))
        .collect()
}

/// What a success claims: what it did is recorded as done, and nothing was left out.
fn success_lies(ledger: &Ledger, span: &Span, report: &Report) -> Option<String> {
    let writes = matches!(span.action, Action::Apply(..) | Action::Rollback(..));
    let failed = report
        .resources
        .iter()
        .find(|one| one.action == Did::Failed);
    if let Some(failed) = failed {
        return Some(format!("all is well, and {} failed", failed.identity));
    }
    if !writes || report.dry_run || ledger.runs_of(span.actor).is_empty() {
        return None;
    }
    let recorded = was_recorded(ledger, span);
    (!recorded).then(|| "it was recorded".to_owned())
}

/// Whether the log said of a run of this step that it succeeded.
fn was_recorded(ledger: &Ledger, span: &Span) -> bool {
    let runs = ledger.runs_of(span.actor);
    let moments = during(ledger, span);
    moments.into_iter().flatten().any(|moment| {
        runs.iter().any(|run| {
            let result = moment.result_of(run);
            matches!(result.as_deref(), Some("succeeded" | "not-ready"))
        })
    })
}

/// Whether what a difference says of an object was so at some moment.
fn foretold(ledger: &Ledger, span: &Span, outcome: &ObjectOutcome) -> bool {
    let path = path_of(&outcome.identity);
    match outcome.action {
        Did::Created => ledger.was_absent(&path, span.from, span.until),
        Did::Unchanged => was_as_rendered(ledger, span, &path),
        Did::Failed | Did::Skipped | Did::Refused => true,
        _ => ledger.existed(&path, span.from, span.until),
    }
}

/// Whether there was a reason for a failure of this kind, and whether nothing was written where
/// that is what the kind says.
fn failure_holds(ledger: &Ledger, span: &Span, failure: &Failure) -> bool {
    let Some((step, release)) = ledger.release_of(span.actor) else {
        return true;
    };
    let moments = ledger.record_during(release, span.from, span.until);
    let meddled = ledger.meddled_since(release, span.from);
    // Of objects, components and changes that are not there, the Secret says nothing.
    let about_record = failure.message.contains("there is no release");
    let reason = match failure.kind {
        FailureKind::Interrupted => span.interrupted,
        FailureKind::NotFound => {
            let none = |moment: &Option<&RecordMoment>| moment.is_none_or(|m| m.secret.is_none());
            !about_record || moments.iter().any(none)
        }
        FailureKind::Locked => moments.iter().flatten().any(|moment| moment.lock.is_some()),
        FailureKind::LockLost => {
            let others = |moment: &&RecordMoment| moment.by != span.actor;
            step.troubled || moments.iter().skip(1).flatten().any(others)
        }
        FailureKind::NotPermitted => step.forbidden,
        FailureKind::Unreachable => step.troubled,
        FailureKind::Failed => {
            let atomic = matches!(&span.action, Action::Apply(_, _, flags) if flags.atomic);
            let applies = matches!(span.action, Action::Apply(..) | Action::Rollback(..));
            // Of a write that nobody answered, nobody can tell.
            let unheard = failure.message.contains("record could not be written");
            !applies || atomic || meddled || unheard || !was_recorded(ledger, span)
        }
        // What is not gone yet is still there.
        FailureKind::Incomplete if matches!(span.action, Action::Delete(..)) => {
            let mut objects = failure.report.resources.iter();
            let stands = |path: &str| ledger.existed(path, span.until, span.until);
            meddled || step.troubled || objects.any(|one| stands(&path_of(&one.identity)))
        }
        FailureKind::Incomplete => meddled || step.troubled || was_recorded(ledger, span),
        FailureKind::Refused => true,
    };
    let untouched = matches!(
        failure.kind,
        FailureKind::NotPermitted
            | FailureKind::Unreachable
            | FailureKind::NotFound
            | FailureKind::Refused
    );
    reason && (!untouched || step.wrote == 0)
}

/// What a status says and is not so.
fn status_lies(ledger: &Ledger, span: &Span, status: &Status) -> Vec<String> {
    let Span { from, until, .. } = *span;
    let mut lies: Vec<String> = Vec::new();
    for object in status.objects() {
        let path = path_of(&object.entry.identity);
        let holds = match object.presence {
            Presence::There | Presence::Transferred(_) => ledger.existed(&path, from, until),
            Presence::Missing => ledger.was_absent(&path, from, until),
            Presence::Completed | Presence::Hidden => true,
        };
        if !holds {
            lies.push(format!("{path} is {:?}", object.presence));
        }
    }
    for tracked in status.pending.iter().chain(&status.kept) {
        let path = path_of(&tracked.tracked.identity);
        let holds = match tracked.exists {
            Some(true) => ledger.existed(&path, from, until),
            Some(false) => ledger.was_absent(&path, from, until),
            None => true,
        };
        if !holds {
            lies.push(format!("{path} exists: {:?}", tracked.exists));
        }
    }
    let moments = during(ledger, span);
    let locked = |moment: &&RecordMoment| moment.lock.is_some() == status.lock.is_some();
    let current = |moment: &&RecordMoment| {
        moment.is_deleted() || moment.index().first() == status.change_id.as_ref()
    };
    let by_record = status.source == InventorySource::Inventory;
    if by_record && !moments.iter().flatten().any(|m| locked(m) && current(m)) {
        let (change, lock) = (&status.change_id, status.lock.is_some());
        lies.push(format!("the change is {change:?}, locked: {lock}"));
    }
    lies
}

/// What a repair says is current, the record says as well.
fn repair_lies(ledger: &Ledger, span: &Span, repaired: &RepairReport) -> Vec<String> {
    let said = repaired.changes.iter().find(|change| change.current);
    let said = said.map(|change| change.id.clone());
    let moments = during(ledger, span);
    let mut own = moments.into_iter().flatten();
    let fits = own.any(|m| m.by == span.actor && m.index().first() == said.as_ref());
    let lie = format!("the current change is {said:?}");
    (!fits && repaired.needed)
        .then_some(lie)
        .into_iter()
        .collect()
}

/// A release is in a list if it has a record, and not if it has none.
fn list_lies(ledger: &Ledger, span: &Span, listing: &Listing) -> Vec<String> {
    let listed = |release: &ReleaseIndex| {
        let mut names = listing.releases.iter().map(|one| one.summary.name.as_str());
        names.any(|name| name == release.name())
    };
    let wrong = |release: &ReleaseIndex| {
        let moments = ledger.record_during(*release, span.from, span.until);
        let there = |moment: Option<&RecordMoment>| moment.is_some_and(|m| m.secret.is_some());
        let live = |moment: Option<&RecordMoment>| {
            moment.is_some_and(|m| m.secret.is_some() && !m.is_deleted())
        };
        match listed(release) {
            true => !moments.into_iter().any(there),
            false => moments.into_iter().all(live),
        }
    };
    let all = (0..ReleaseIndex::NAMES.len()).map(ReleaseIndex);
    let wrong = all.filter(|release| listing.unseen.is_empty() && wrong(release));
    wrong
        .map(|release| format!("{} listed: {}", release.name(), listed(&release)))
        .collect()
}

/// A history begins with the changes of the index, in their order.
fn history_lies(ledger: &Ledger, span: &Span, history: &History) -> Vec<String> {
    let said: Vec<_> = history.changes.iter().map(|one| one.id.clone()).collect();
    let fits = |moment: &RecordMoment| said.starts_with(&moment.index());
    let fits = during(ledger, span).into_iter().flatten().any(fits);
    let lie = (!fits).then(|| format!("the history is {said:?}"));
    lie.into_iter().collect()
}
