//! What must hold, whatever happens. Each rule is a name here, with its reason, and a function of
//! the world's full history: of the ledger while it is written, or of what clients were told.
//! What clients were told is held against it in `truth`; what only shows when everything is calm,
//! the end of each history asks for (`finale`).

use http::Method;
use opm_core::hook::HELM_HOOK;
use opm_core::labels;
use serde_json::Value;

use crate::ledger::{Actor, Landing, Ledger, Life, RecordMoment, is_shared, uid};
use crate::plan::{Action, Kind, ReleaseIndex};
use crate::server::Sent;

/// Nothing foreign is changed or deleted. People lose data by tools that are sure of themselves:
/// what a release did not create, adopt or share is not its to touch.
pub const FOREIGN: &str = "nothing foreign is touched";

/// Nothing guarded or kept goes without its flag. Data behind a claim does not come back, and
/// what somebody decided to keep is not undone by a run that is about something else.
pub const GUARDED: &str = "nothing guarded or kept goes without its flag";

/// Nothing is deleted whose uid was not looked at. A name may mean another object by now.
pub const LOOKED_AT: &str = "nothing is deleted unseen";

/// At most one writer acts, under a lock that it holds, and no lock is taken from a holder who
/// still renews it. Two writers undo each other's work, and neither record is true.
pub const ONE_WRITER: &str = "one writer at a time";

/// The record's Secret stays below what the server takes, and its log below what is read.
pub const BOUNDED: &str = "records stay bounded";

/// History and records say what happened: an inventory names objects that were there, by the uids
/// that they had. Whoever prunes by a wrong record prunes the wrong objects.
pub const RECORDS: &str = "records say what happened";

/// Every report, status, diff and exit code was true at some moment between its start and its
/// end. What a tool says is all that people and pipelines have to act on.
pub const TRUE_WORDS: &str = "what is said is true";

/// No client waits for ever.
pub const ENDS: &str = "every command ends";

/// Nothing panics.
pub const NO_PANIC: &str = "nothing panics";

/// Whatever state a history ends in, an apply of the wanted module or a delete brings it to
/// order. A tool that can be brought into a state which it cannot leave is worse than none.
pub const ORDER: &str = "an apply or a delete brings order";

/// Nothing that a release created is untracked and unlabelled once requests have landed and one
/// apply or delete has succeeded. What nobody tracks, nobody ever removes.
pub const NOTHING_LOST: &str = "nothing is lost";

/// A second apply of the same is unchanged. Otherwise every run disturbs what works.
pub const UNCHANGED: &str = "a second apply changes nothing";

/// A rollback gives the very objects. Somebody goes back because those worked.
pub const VERY_OBJECTS: &str = "a rollback gives the very objects";

/// More than any Secret that the server takes, with its metadata and base64.
const LARGEST_SECRET: usize = 1_500_000;

/// How long a lock holds without being renewed, in milliseconds.
const LOCK_HOLDS: u64 = 30_000;

/// Whoever writes an object holds the release's lock at that moment.
pub(crate) fn one_writer(ledger: &mut Ledger, actor: Actor, at: u64, sent: &Sent) {
    let Some((step, release)) = ledger.release_of(actor) else {
        return;
    };
    let lock = ledger.last_moment(release).and_then(|m| m.lock.as_deref());
    let holder = lock.and_then(|id| ledger.holder(id));
    if ledger.meddled_since(release, step.from) {
        return;
    }
    let mut moments = ledger.moments(release).iter();
    let beat = moments.rfind(|moment| moment.beats);
    let fresh = beat.is_some_and(|beat| at < beat.at + LOCK_HOLDS);
    let held = match holder {
        Some(holder) if holder == actor && fresh => return,
        Some(holder) if holder == actor => "its own, and has expired".to_owned(),
        Some(holder) => format!("held by {holder}"),
        None => "free".to_owned(),
    };
    let (method, path, name) = (&sent.method, &sent.path, release.name());
    let text = format!("{actor} sends {method} {path} while the lock of {name} is {held}");
    ledger.violate(ONE_WRITER, at, text);
}

/// A lock is taken over when its holder has not renewed it for as long as it holds.
pub(crate) fn no_early_take_over(ledger: &mut Ledger, release: ReleaseIndex, landing: &Landing) {
    let mut moments = ledger.moments(release).iter();
    let beat = moments.rfind(|moment| moment.beats);
    let (Some(beat), false) = (beat, ledger.meddled_since(release, 0)) else {
        return;
    };
    if landing.at < beat.at + LOCK_HOLDS {
        let (actor, since) = (landing.actor, landing.at - beat.at);
        let text = format!("{actor} takes a lock over that was renewed {since} ms ago");
        ledger.violate(ONE_WRITER, landing.at, text);
    }
}

/// Holds the size of a record's Secret against what may be.
pub(crate) fn record_is_bounded(ledger: &mut Ledger, landing: &Landing) {
    let data = landing.after.as_ref().map(|secret| &secret["data"]);
    let parts = data.and_then(Value::as_object).into_iter().flatten();
    let bytes: usize = parts
        .map(|(_, part)| part.as_str().map_or(0, str::len))
        .sum();
    if bytes > LARGEST_SECRET {
        let text = format!("{} has {bytes} bytes", landing.path);
        ledger.violate(BOUNDED, landing.at, text);
    }
}

/// Holds what a client wrote into a record against what is.
pub(crate) fn record_is_true(ledger: &mut Ledger, release: ReleaseIndex, moment: &RecordMoment) {
    let (Some(current), true) = (moment.index().first().cloned(), moment.by != Actor::Meddler)
    else {
        return;
    };
    let log = moment.part("log").unwrap_or_default();
    let entries = log.as_array().map_or(0, Vec::len);
    if entries > opm_core::record::DEFAULT_LOG_ENTRIES {
        ledger.violate(BOUNDED, moment.at, format!("the log has {entries} entries"));
    }
    let change = moment.part(&current).unwrap_or_default();
    let entries = change["inventory"]["entries"].as_array();
    if entries.is_none() {
        // What has moved out of the Secret is not read here.
        let own = ledger.objects.values_mut();
        for life in own.filter(|life| life.owners.contains(&release)) {
            life.recorded_by.insert(release);
        }
    }
    for entry in entries.into_iter().flatten() {
        let Some(uid) = entry["uid"].as_str() else {
            continue;
        };
        let name = entry["name"].as_str().unwrap_or_default();
        let mut life = ledger.objects.get_mut(uid);
        if let Some(life) = &mut life {
            life.recorded_by.insert(release);
        }
        if !life.is_some_and(|life| life.path.ends_with(&format!("/{name}"))) {
            let text = format!("the inventory of {} has {name} as {uid}", moment.by);
            ledger.violate(RECORDS, moment.at, text);
        }
    }
}

/// Who writes a record does so for that release, and who removes one holds its lock.
pub(crate) fn record_is_its_own(ledger: &mut Ledger, release: ReleaseIndex, landing: &Landing) {
    let (actor, at) = (landing.actor, landing.at);
    let Some((_, own)) = ledger.release_of(actor) else {
        return;
    };
    let name = release.name();
    if own != release {
        let text = format!("{actor} writes the record of {name}");
        ledger.violate(FOREIGN, at, text);
    }
    if landing.after.is_some() || ledger.meddled_since(release, 0) {
        return;
    }
    let lock = ledger.last_moment(release).and_then(|m| m.lock.as_deref());
    let holder = lock.and_then(|id| ledger.holder(id));
    if holder != Some(actor) {
        let text = format!("{actor} removes the record of {name}, whose lock is {holder:?}");
        ledger.violate(ONE_WRITER, at, text);
    }
}

/// Whether an object was there before a release took it over, and the release never got as far as
/// to record it.
fn is_half_taken(ledger: &Ledger, release: ReleaseIndex, object: &Value) -> bool {
    let Some(life) = ledger.objects.get(uid(object)) else {
        return false;
    };
    life.made_by != Some(release)
        && !life.recorded_by.contains(&release)
        && !is_shared(object)
        && !ledger.meddled_since(release, 0)
}

/// What a client may do to an object.
pub(crate) fn landed(ledger: &mut Ledger, landing: &Landing) {
    let (actor, at, path) = (landing.actor, landing.at, &landing.path);
    let (Some((step, release)), Some(before)) = (ledger.release_of(actor), &landing.before) else {
        return;
    };
    let life = ledger.objects.get(uid(before));
    let owners = life.map(|life| life.owners.clone()).unwrap_or_default();
    let own = owners.contains(&release)
        || ledger.is_still_labelled(release, before)
        || life.is_some_and(|life| life.may_be_taken_for(release));
    let mut broken = Vec::new();
    if landing.method != Method::DELETE {
        let shares = landing.after.as_ref().is_some_and(is_shared);
        let shell = life.is_some_and(Life::is_shell);
        if !own && !shares && !shell && !step.action.takes_over() {
            let text = format!("{actor} changes {path}, which belongs to {owners:?}");
            broken.push((FOREIGN, text));
        }
    } else {
        if !own || owners.len() > 1 {
            let text = format!("{actor} deletes {path}, which belongs to {owners:?}");
            broken.push((FOREIGN, text));
        }
        let guarded = Kind::at(path).is_some_and(Kind::is_guarded);
        if guarded && !step.action.lifts_guards() {
            let text = format!("{actor} deletes {path} without being told to");
            broken.push((GUARDED, text));
        }
        // What came in the last moment, nobody can have seen.
        let inside = ledger.inside(path).filter(|life| life.from < step.from);
        for life in inside {
            if !life.owners.contains(&release) {
                let text = format!("{actor} deletes {path}, and with it {}", life.path);
                broken.push((FOREIGN, text));
            } else if life.stays() {
                let text = format!("{actor} deletes {path}, and with it {}", life.path);
                broken.push((GUARDED, text));
            }
        }
        let stays = before["metadata"]["annotations"][labels::PRUNE] == "false";
        if stays && !matches!(step.action, Action::Prune(..)) && !step.action.recreates(path) {
            let text = format!("{actor} deletes {path}, which says that it stays");
            broken.push((GUARDED, text));
        }
        let told = matches!(step.action, Action::Prune(..));
        if !told && is_half_taken(ledger, release, before) {
            let text = format!("{actor} deletes {path}, which was there before");
            broken.push((FOREIGN, text));
        }
        if was_kept(ledger, actor, release, before) {
            let text = format!("{actor} deletes {path}, which was kept before");
            broken.push((GUARDED, text));
        }
        let meant = landing.body["preconditions"]["uid"].as_str();
        if !meant.is_some_and(|uid| step.was_shown(uid)) {
            let text = format!("{actor} deletes {path} as {meant:?}, which it never saw");
            broken.push((LOOKED_AT, text));
        }
    }
    for (rule, text) in broken {
        ledger.violate(rule, at, text);
    }
}

/// Whether the record said that an object is kept when an apply took the lock that does not render
/// it.
fn was_kept(ledger: &Ledger, actor: Actor, release: ReleaseIndex, object: &Value) -> bool {
    let Some(Action::Apply(_, module, _)) = ledger.step(actor).map(|step| &step.action) else {
        return false;
    };
    // The way back runs the hooks of the change before, which the module may not have.
    let went_back = ledger.runs_of(actor).len() > 1;
    if went_back && object["metadata"]["annotations"][HELM_HOOK].is_string() {
        return false;
    }
    let field = |value: &Value, key: &str| value["metadata"][key].clone();
    let place = |value: &Value| {
        let kind = value["kind"].clone();
        (kind, field(value, "name"), field(value, "namespace"))
    };
    let place_of_object = place(object);
    let mut rendered = module.objects.iter().map(|one| one.manifest());
    if rendered.any(|one| place(&one) == place_of_object) {
        return false;
    }
    let moments = ledger.moments(release);
    let begun = moments.iter().position(|moment| moment.by == actor);
    let before = begun.and_then(|at| moments.get(at.checked_sub(1)?));
    let kept = before.and_then(|moment| moment.part("kept"));
    let kept = kept.unwrap_or_default();
    let mut kept = kept["objects"].as_array().into_iter().flatten();
    kept.any(|one| {
        let place = (one["kind"].clone(), one["name"].clone());
        let namespace = one["namespace"].as_str().filter(|name| !name.is_empty());
        place == (place_of_object.0.clone(), place_of_object.1.clone())
            && namespace == place_of_object.2.as_str()
    })
}
