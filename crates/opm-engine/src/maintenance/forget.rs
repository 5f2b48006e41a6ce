//! `forget`: stops tracking objects, wherever the record has them. Deletes nothing.
//!
//! Forgotten means neither recorded nor labelled. The labels go first: cut short in between, the
//! record still names the object, and forgetting it again goes on. What was sent by earlier runs and
//! may still land is waited for: it could bring back an object, labels and all.

use std::collections::{HashMap, HashSet};

use opm_core::entry::Entry;
use opm_core::failure::Remedy;
use opm_core::identity::Identity;
use opm_core::record::{LogResult, Record};
use opm_core::words;

use crate::failure::{Failure, FailureKind};
use crate::ports::{Answer, ApiErrorKind, Permit, Question, Stopped};
use crate::record::{Attempt, RecordWriter, WritableRecord};
use crate::removal::RemovalOptions;
use crate::report::{Action, ObjectOutcome, Release, Report};
use crate::request::{Concurrency, ForgetRequest, ObjectSelection};
use crate::run::Run;

impl Run<'_> {
    /// Stops tracking objects.
    pub(crate) async fn forget(&self, request: &ForgetRequest) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        let mut forget = Forget {
            run: self,
            request,
            release: release.clone(),
            confirmed: false,
        };
        self.write_release(&release, request.lock_timeout, &mut forget)
            .await
    }
}

struct Forget<'a> {
    run: &'a Run<'a>,
    request: &'a ForgetRequest,
    release: Release,
    /// Whether somebody has said that everything is meant.
    confirmed: bool,
}

impl RecordWriter for Forget<'_> {
    type Output = Report;

    async fn attempt(&mut self, record: WritableRecord) -> Result<Attempt<Report>, Failure> {
        let (run, release) = (self.run, &self.release);
        let Some(loaded) = record.loaded else {
            return Err(Failure::gone(release, &record.warnings));
        };
        let entries: Vec<Entry> = tracked(&loaded.record).into_iter().cloned().collect();
        let warnings = [record.warnings, loaded.warnings.clone()].concat();
        let aside: Vec<Entry> = set_aside(&loaded.record).cloned().collect();
        let known = entries.iter().chain(&aside);
        let identities: Vec<&Identity> = known.map(|entry| &entry.identity).collect();
        let objects = &self.request.objects;
        let selected = run.selected("tracked object", objects, &identities).await?;
        if selected == ObjectSelection::All && !self.confirmed {
            self.confirm(&identities).await?;
            self.confirmed = true;
        }
        let is_named = |entry: &&Entry| selected.has(&entry.identity);
        let named: Vec<&Entry> = entries.iter().filter(is_named).collect();
        let nothing = |_: &Identity| false;
        let checked = run
            .plan_maintenance(release, &loaded.record, nothing)
            .await?;
        let begun = run.begin_maintenance(release, loaded, record.acquisition, checked, "forget");
        let Some((mut applied, guard)) = begun.await? else {
            return Ok(Attempt::Again);
        };
        let permit = run.permit_under(&guard);
        let work = async {
            if let Some(until) = applied.rest_until() {
                if let Err(stopped) = run.rest(until, permit).await {
                    return DisownResults {
                        stopped: Some(stopped),
                        ..DisownResults::default()
                    };
                }
                applied.rested(run.server_now());
            }
            self.disown_all(&named, permit).await
        };
        let mut disowned = run.while_renewing(&guard, work).await;
        // What cannot be an object has no labels to take off.
        let aside = aside
            .into_iter()
            .filter(|entry| selected.has(&entry.identity));
        disowned.done.extend(aside.map(|entry| entry.identity));
        let mut reconciled = applied.reconcile(&HashMap::new(), run.server_now());
        let (result, reason) = match (disowned.stopped, disowned.failed.is_empty()) {
            (Some(Stopped::Cancelled), _) => (LogResult::Interrupted, None),
            (None, true) => (LogResult::Succeeded, None),
            _ => {
                let reason = "not everything could be forgotten";
                (LogResult::Failed, Some(reason.to_owned()))
            }
        };
        let forgotten = reconciled.forget(|identity| disowned.done.contains(identity));
        if self.request.objects == ObjectSelection::All {
            reconciled.give_up();
        }
        let released = reconciled.release(&run.ended(result, reason, &disowned.failed));
        let stands = |entry: &&Entry| !disowned.unseen.contains(&entry.identity);
        let forgotten = forgotten.iter().filter(stands).map(forgotten_outcome);
        let report = Report {
            resources: forgotten.chain(disowned.failed).collect(),
            warnings: [warnings, disowned.warnings].concat(),
            ..Report::about(release)
        };
        let report = run.end_maintenance(&guard, released, report).await?;
        forgot(report, disowned.stopped).map(Attempt::Done)
    }
}

/// What became of the labels.
#[derive(Default)]
struct DisownResults {
    /// What may be struck off the record.
    done: HashSet<Identity>,
    /// What is not there, or may not be looked at: nobody can say that it was left standing.
    unseen: HashSet<Identity>,
    failed: Vec<ObjectOutcome>,
    warnings: Vec<String>,
    /// Set when it was cut short.
    stopped: Option<Stopped>,
}

impl Forget<'_> {
    /// A release that is given up takes its history with it.
    async fn confirm(&self, objects: &[&Identity]) -> Result<(), Failure> {
        let question = Question::ForgetAll {
            release: self.release.name.to_string(),
            objects: objects.iter().copied().cloned().collect(),
        };
        match self.run.confirm(&question).await? {
            Answer::Yes => Ok(()),
            Answer::No => Err(Failure::refused("declined: nothing was forgotten")),
            Answer::CannotAsk => {
                let message = "forgetting a release has to be confirmed";
                Err(Failure::refused(message).remedy(Remedy::Confirm))
            }
        }
    }

    /// Takes the release's labels off everything that is to be forgotten.
    async fn disown_all(&self, entries: &[&Entry], permit: Permit<'_>) -> DisownResults {
        let options = RemovalOptions {
            release: &self.release.id,
            concurrency: Concurrency::Fixed(1),
            dry_run: false,
            done: Action::Kept,
            awaits: false,
            permit,
        };
        let mut results = DisownResults::default();
        for entry in entries {
            let (identity, uid) = (&entry.identity, entry.uid.as_deref());
            let error = match self.run.disown_object(identity, uid, options).await {
                Err(error) => error,
                Ok(there) => {
                    results.done.insert(identity.clone());
                    if !there {
                        results.unseen.insert(identity.clone());
                        let warning = format!("{identity} is not there; it is no longer tracked");
                        results.warnings.push(warning);
                    }
                    continue;
                }
            };
            match error.kind {
                ApiErrorKind::Stopped(stopped) => {
                    results.stopped = Some(stopped);
                    break;
                }
                ApiErrorKind::Forbidden => {
                    results.done.insert(identity.clone());
                    if !matches!(self.run.look_once(identity).await, Ok(Some(_))) {
                        results.unseen.insert(identity.clone());
                    }
                    results.warnings.push(format!(
                        "{identity} is not tracked any more, but its labels may not be removed: \
                         as long as it carries them, it counts as this release's: {error}"
                    ));
                }
                _ => {
                    let reason = format!("its labels could not be removed: {error}");
                    let failed = ObjectOutcome::of(entry, Action::Failed, Some(reason));
                    results.failed.push(failed);
                }
            }
        }
        results
    }
}

fn forgot(report: Report, stopped: Option<Stopped>) -> Result<Report, Failure> {
    match stopped {
        None => report.unless_failed(FailureKind::Failed, |count| {
            format!("{} could not be forgotten", words::count(count, "object"))
        }),
        Some(stopped) => {
            let message = "cut short; what is still labelled is still tracked";
            Err(Failure::new(stopped.into(), message).after(report))
        }
    }
}

fn tracked(record: &Record) -> Vec<&Entry> {
    let inventory = record.inventory().iter().map(|r| &r.entry);
    let pending = record.pending.objects().iter().map(|o| &o.entry);
    let kept = record.kept.objects.iter().map(|o| &o.entry);
    inventory.chain(pending).chain(kept).collect()
}

fn set_aside(record: &Record) -> impl Iterator<Item = &Entry> {
    record.set_aside.iter().map(|aside| &aside.entry)
}

fn forgotten_outcome(entry: &Entry) -> ObjectOutcome {
    let reason = "it is no longer tracked";
    ObjectOutcome::of(entry, Action::Kept, Some(reason.to_owned()))
}
