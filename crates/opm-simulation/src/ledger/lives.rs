//! The lives of objects, and questions about them.

use std::collections::BTreeSet;

use http::Method;
use opm_core::identity::{GroupKind, Identity};
use opm_core::ids::ReleaseId;
use opm_core::labels as keys;
use serde_json::{Map, Value};

use super::{Actor, Landing, Ledger};
use crate::modules::{WIDGETS, home, module_path, release_name};
use crate::plan::{Kind, ReleaseIndex};

/// The life of one object.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) path: String,
    /// The release that created it; none if somebody else did.
    pub(crate) made_by: Option<ReleaseIndex>,
    /// The releases that have recorded it as theirs.
    pub(crate) recorded_by: BTreeSet<ReleaseIndex>,
    /// The releases that it belongs to.
    pub(crate) owners: BTreeSet<ReleaseIndex>,
    /// The releases that let go of it.
    forgotten_by: BTreeSet<ReleaseIndex>,
    pub(crate) from: u64,
    pub(crate) until: Option<u64>,
    /// Since when it is being deleted: the server removes it when nothing holds it any more.
    ending: Option<u64>,
    /// Whether somebody else made it in the place of the release's own, and the release has not
    /// applied it since.
    pub(crate) remade: bool,
    /// Whether somebody else took the release's label off.
    pub(crate) stripped: bool,
    /// Who created, changed or deleted it, and when.
    deeds: Vec<(u64, Actor, Method)>,
    /// What it was, from when on.
    states: Vec<(u64, Value)>,
}

pub(crate) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Whether an object says that it belongs to some release.
pub(crate) fn is_labelled(object: &Value) -> bool {
    let labels = object["metadata"]["labels"].as_object();
    let mut labels = labels.into_iter().flatten();
    labels.any(|(key, _)| key.contains("opmodel.dev/"))
}

/// Whether an object says that it belongs to a release.
fn carries_label(object: &Value, release: ReleaseIndex) -> bool {
    let id = ReleaseId::of(&module_path(release), &release_name(release), &home());
    let all = &object["metadata"]["labels"];
    all[keys::RELEASE_ID].as_str() == Some(id.to_string().as_str())
        || all[keys::shared_label(&id)].is_string()
}

pub(crate) fn is_shared(object: &Value) -> bool {
    object["metadata"]["annotations"][keys::SHARED] == "true"
}

/// Whether `opm` has applied something of an object.
fn is_applied(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut entries = entries.into_iter().flatten();
    entries.any(|entry| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        entry["operation"] == "Apply" && manager.starts_with(keys::FIELD_MANAGER)
    })
}

/// Whether an object has all of this.
pub(crate) fn contains(object: &Value, wanted: &Value) -> bool {
    match (object, wanted) {
        (Value::Object(object), Value::Object(wanted)) => wanted.iter().all(|(key, value)| {
            let found = object.get(key);
            found.is_some_and(|found| contains(found, value))
        }),
        (Value::Array(object), Value::Array(wanted)) => {
            object.len() == wanted.len() && object.iter().zip(wanted).all(|(a, b)| contains(a, b))
        }
        _ => object == wanted,
    }
}

/// What the URLs of all objects have in common that go with this one.
fn inside(path: &str) -> Option<String> {
    let (_, name) = path.rsplit_once('/')?;
    match Kind::at(path)? {
        Kind::Namespace => Some(format!("/namespaces/{name}/")),
        Kind::Definition => Some(format!("/{WIDGETS}/")),
        _ => None,
    }
}

impl Life {
    /// What it is now.
    pub(crate) fn state(&self) -> Option<&Map<String, Value>> {
        self.states.last()?.1.as_object()
    }

    /// Whether it says that it stays.
    pub(crate) fn stays(&self) -> bool {
        let state = self.states.last();
        state.is_some_and(|(_, now)| now["metadata"]["annotations"][keys::PRUNE] == "false")
    }

    /// Whether it is the shell of a ClusterRole that its controller wrote anew: nothing in it says
    /// whose it was, so whoever applies it has it.
    pub(crate) fn is_shell(&self) -> bool {
        let labelled = self.states.last().is_some_and(|(_, now)| is_labelled(now));
        self.remade && self.path.contains("/clusterroles/") && !labelled
    }

    /// Whether a release cannot know that it lost it: it has recorded this very object, and
    /// somebody else took the label off that said whose it is since.
    pub(crate) fn may_be_taken_for(&self, release: ReleaseIndex) -> bool {
        let labelled = self.states.last().is_some_and(|(_, now)| is_labelled(now));
        self.stripped && !labelled && self.recorded_by.contains(&release)
    }

    /// What it is called.
    pub(crate) fn identity(&self) -> Identity {
        let object = self
            .states
            .last()
            .map_or(&Value::Null, |(_, object)| object);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let kind = GroupKind::of(&text(&object["apiVersion"]), &text(&object["kind"]));
        Identity::new(
            kind,
            metadata["namespace"].as_str(),
            text(&metadata["name"]),
        )
    }
}

impl Ledger {
    /// What is in a namespace or of a kind, and goes with it.
    pub(crate) fn inside<'a>(&'a self, holder: &'a str) -> impl Iterator<Item = &'a Life> {
        let place = inside(holder);
        let within = move |life: &&Life| place.as_ref().is_some_and(|at| life.path.contains(at));
        self.objects
            .values()
            .filter(|life| life.until.is_none() && life.ending.is_none())
            .filter(within)
    }

    /// Writes down what became of an object.
    pub(super) fn keep(&mut self, landing: &Landing) {
        if landing.method == Method::DELETE
            && let Some(place) = inside(&landing.path)
        {
            let lives = self.objects.values_mut();
            for life in lives.filter(|life| life.path.contains(&place)) {
                life.ending.get_or_insert(landing.at);
            }
        }
        let deed = (landing.at, landing.actor, landing.method.clone());
        let release = self.release_of(landing.actor).map(|(_, release)| release);
        let before = landing.before.as_ref();
        let after = landing.after.as_ref();
        if let Some(before) = before
            && after.is_none_or(|after| uid(after) != uid(before))
            && let Some(life) = self.objects.get_mut(uid(before))
        {
            life.until.get_or_insert(landing.at);
            life.deeds.push(deed.clone());
        }
        let Some(after) = after else {
            return;
        };
        let fresh = before.is_none_or(|before| uid(before) != uid(after));
        if fresh {
            // What was held by something is gone without a request once nothing holds it.
            let place = self
                .objects
                .values_mut()
                .filter(|life| life.path == landing.path);
            place.for_each(|life| _ = life.until.get_or_insert(landing.at));
        }
        let life = self
            .objects
            .entry(uid(after).to_owned())
            .or_insert_with(|| Life {
                path: landing.path.clone(),
                made_by: release,
                recorded_by: BTreeSet::new(),
                owners: BTreeSet::new(),
                forgotten_by: BTreeSet::new(),
                from: landing.at,
                until: None,
                ending: None,
                remade: false,
                stripped: false,
                deeds: Vec::new(),
                states: Vec::new(),
            });
        if !after["metadata"]["deletionTimestamp"].is_null() {
            life.ending.get_or_insert(landing.at);
        }
        life.deeds.push(deed);
        let shell = life.is_shell();
        life.states.push((landing.at, after.clone()));
        let Some(release) = release else {
            let mut owners = life.owners.iter();
            life.stripped |= owners.any(|owner| !carries_label(after, *owner));
            // Without labels, and with nothing left that `opm` has applied, it is nobody's.
            if !is_applied(after) {
                life.owners.retain(|owner| carries_label(after, *owner));
            }
            return;
        };
        if landing.method == Method::DELETE {
            return;
        }
        let carries = carries_label(after, release);
        let carried = before.is_some_and(|before| !fresh && carries_label(before, release));
        match (carries, carried) {
            (true, _) => {
                if shell {
                    life.made_by = Some(release);
                }
                if !is_shared(after) {
                    life.owners.clear();
                }
                // Whose label goes with this write, that release has lost it to this one; also
                // whose label somebody else took off before.
                let stripped = life.stripped;
                let lost = |owner: &ReleaseIndex| {
                    let had = before.is_some_and(|before| carries_label(before, *owner));
                    (had || stripped) && !carries_label(after, *owner)
                };
                life.owners.retain(|owner| !lost(owner));
                life.owners.insert(release);
                (life.remade, life.stripped) = (false, false);
            }
            (false, true) => {
                life.owners.remove(&release);
            }
            (false, false) => {}
        }
    }

    /// A release was told to let go of an object, and did, whatever its labels say.
    pub(crate) fn let_go(&mut self, release: ReleaseIndex, path: &str) {
        let lives = self.objects.values_mut().filter(|life| life.path == path);
        for life in lives {
            life.owners.remove(&release);
            life.forgotten_by.insert(release);
        }
    }

    /// A forget did not get to tell what it struck off the record without removing its labels,
    /// because it may not touch it: this object, or any.
    pub(crate) fn let_go_untold(
        &mut self,
        actor: Actor,
        release: ReleaseIndex,
        path: Option<&str>,
    ) {
        if !self.step(actor).is_some_and(|step| step.forbidden) {
            return;
        }
        let lives = self.objects.values();
        let lives = lives.filter(|life| life.owners.contains(&release));
        let lives = lives.filter(|life| path.is_none_or(|path| life.path == path));
        let paths: Vec<String> = lives.map(|life| life.path.clone()).collect();
        for path in paths {
            self.let_go(release, &path);
        }
    }

    /// Whether an object that a release let go of still says that it is the release's: where its
    /// labels could not be taken off, it counts as such, and `forget` says so.
    pub(crate) fn is_still_labelled(&self, release: ReleaseIndex, object: &Value) -> bool {
        let life = self.objects.get(uid(object));
        life.is_some_and(|life| life.forgotten_by.contains(&release))
            && carries_label(object, release)
    }

    /// A deleted release told that an object stays which no longer says that it is the release's.
    pub(crate) fn leave_stripped(&mut self, release: ReleaseIndex, path: &str) {
        let lives = self.objects.values_mut();
        for life in lives.filter(|life| life.path == path && life.stripped) {
            life.owners.remove(&release);
        }
    }

    /// A release told that it leaves a shared object to others which no longer says who shares it.
    pub(crate) fn leave_shared(&mut self, release: ReleaseIndex, path: &str) {
        let lives = self.objects.values_mut();
        let lives = lives.filter(|life| life.path == path && life.stripped);
        for life in lives.filter(|life| life.states.last().is_some_and(|(_, now)| is_shared(now))) {
            life.owners.remove(&release);
        }
    }

    /// A controller recreates an object as it was: by its labels it is whose it was, and nobody
    /// has to know of it.
    pub(crate) fn inherit(&mut self, old: &str, new: &str) {
        let old = self.objects.get(old).cloned();
        if let (Some(old), Some(life)) = (old, self.objects.get_mut(new)) {
            life.owners = old.owners;
            (life.made_by, life.recorded_by) = (old.made_by, old.recorded_by);
            life.remade = true;
        }
    }

    /// All lives at a place.
    fn lives_at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Life> {
        self.objects.values().filter(move |life| life.path == path)
    }

    /// Whether something was there at some moment of a span.
    pub(crate) fn existed(&self, path: &str, from: u64, until: u64) -> bool {
        self.lives_at(path)
            .any(|life| life.from <= until && life.until.is_none_or(|end| end >= from))
    }

    /// Whether an object of which this holds was there at some moment of a span.
    pub(crate) fn held(
        &self,
        path: &str,
        (from, until): (u64, u64),
        holds: impl Fn(&Value) -> bool,
    ) -> bool {
        self.lives_at(path).any(|life| {
            let ended = life.until.unwrap_or(u64::MAX);
            let next = life.states.iter().skip(1).map(|(at, _)| *at);
            let ends = next.chain([ended]);
            let mut states = life.states.iter().zip(ends);
            states.any(|((begun, state), end)| *begun <= until && end >= from && holds(state))
        })
    }

    /// Whether nothing was there at some moment of a span.
    pub(crate) fn was_absent(&self, path: &str, from: u64, until: u64) -> bool {
        let mut lives: Vec<_> = self.lives_at(path).collect();
        lives.sort_by_key(|life| life.from);
        let (mut covered, mut replaced) = (from, false);
        for life in lives {
            if covered > until {
                return false;
            }
            // Between an object and the one that takes its place, nothing is there.
            if life.from > covered || (replaced && life.from == covered) {
                return true;
            }
            if life.ending.is_some_and(|ending| ending <= until) {
                return true;
            }
            match life.until {
                None => return false,
                Some(end) if end >= covered => (covered, replaced) = (end, true),
                Some(_) => {}
            }
        }
        covered <= until
    }

    /// Whether an actor did this to the object at a place.
    pub(crate) fn did(&self, actor: Actor, path: &str, method: &Method) -> bool {
        self.lives_at(path).any(|life| {
            let mut deeds = life.deeds.iter();
            deeds.any(|(_, by, how)| *by == actor && how == method)
        })
    }
}
