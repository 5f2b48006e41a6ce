//! Whose an object is that was seen, and whether that is a reason to look: decided here, watched
//! elsewhere.
//!
//! What the controller wrote itself is no reason. Of a release that is being reconciled, sightings
//! wait until that is done, and then the last one of each object counts.

use std::collections::{HashMap, HashSet};

use opm_core::identity::{GroupKind, Identity};

use crate::request::ReleaseKey;

/// What was seen of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sighting {
    /// It is there, in this version.
    At(String),
    /// It is not there any more.
    Gone,
}

/// The objects that releases have applied, and those that they refer to.
#[derive(Debug, Default)]
pub(super) struct TrackedObjects {
    /// Whose each object is: what is shared has several.
    owners: HashMap<Identity, HashSet<ReleaseKey>>,
    objects: HashMap<ReleaseKey, HashSet<Identity>>,
    referrers: HashMap<Identity, HashSet<ReleaseKey>>,
    references: HashMap<ReleaseKey, HashSet<Identity>>,
    /// How each object looked last, as far as drift is concerned.
    seen: HashMap<Identity, u64>,
    /// The resourceVersion that the controller's own last write of an object came to.
    written: HashMap<Identity, String>,
    /// Releases that are being reconciled, and what was seen of their objects meanwhile.
    busy: HashMap<ReleaseKey, HashMap<Identity, Sighting>>,
}

/// Takes a release off an object; says whether nobody is left.
fn release_from(
    all: &mut HashMap<Identity, HashSet<ReleaseKey>>,
    identity: &Identity,
    key: &ReleaseKey,
) -> bool {
    let Some(users) = all.get_mut(identity) else {
        return true;
    };
    users.remove(key);
    let unused = users.is_empty();
    if unused {
        all.remove(identity);
    }
    unused
}

impl TrackedObjects {
    /// The controller itself has written an object, which has this version since.
    pub(super) fn wrote(&mut self, identity: &Identity, version: &str) {
        self.written.insert(identity.clone(), version.to_owned());
    }

    /// A release refers to these objects, and to no others.
    pub(super) fn refer(&mut self, key: &ReleaseKey, references: HashSet<Identity>) {
        let old = self.references.insert(key.clone(), references.clone());
        for gone in old.unwrap_or_default().difference(&references) {
            release_from(&mut self.referrers, gone, key);
        }
        for identity in references {
            let users = self.referrers.entry(identity).or_default();
            users.insert(key.clone());
        }
    }

    /// A release is being reconciled from now on.
    pub(super) fn begin(&mut self, key: &ReleaseKey) {
        self.busy.entry(key.clone()).or_default();
    }

    /// A release was reconciled, to these objects if that is known. Says whether somebody else has
    /// touched one of its objects meanwhile.
    pub(super) fn end(&mut self, key: &ReleaseKey, objects: Option<HashSet<Identity>>) -> bool {
        if let Some(objects) = objects {
            let old = self.objects.insert(key.clone(), objects.clone());
            for gone in old.unwrap_or_default().difference(&objects) {
                self.let_go(gone, key);
            }
            for identity in objects {
                let owners = self.owners.entry(identity).or_default();
                owners.insert(key.clone());
            }
        }
        let sightings = self.busy.remove(key).unwrap_or_default();
        let mut sightings = sightings.iter();
        sightings.any(|(identity, sighting)| {
            let owners = self.owners.get(identity);
            owners.is_some_and(|owners| owners.contains(key)) && !self.is_own(identity, sighting)
        })
    }

    /// Nothing of this release counts any more.
    pub(super) fn forget(&mut self, key: &ReleaseKey) {
        for identity in self.objects.remove(key).unwrap_or_default() {
            self.let_go(&identity, key);
        }
        for identity in self.references.remove(key).unwrap_or_default() {
            release_from(&mut self.referrers, &identity, key);
        }
        self.busy.remove(key);
    }

    fn let_go(&mut self, identity: &Identity, key: &ReleaseKey) {
        if release_from(&mut self.owners, identity, key) {
            self.written.remove(identity);
        }
    }

    /// An object that a release may have applied is there. Says who has to look. When a watch
    /// begins, nothing is known yet of what it finds, and whoever waits for it looks afterwards.
    pub(super) fn sighted(
        &mut self,
        identity: &Identity,
        fingerprint: u64,
        version: &str,
        first: bool,
    ) -> Vec<ReleaseKey> {
        let before = self.seen.insert(identity.clone(), fingerprint);
        match before == Some(fingerprint) || (first && before.is_none()) {
            true => Vec::new(),
            false => self.touched(identity, &Sighting::At(version.to_owned())),
        }
    }

    /// An object that a release may have applied is gone. Says who has to look.
    pub(super) fn gone(&mut self, identity: &Identity) -> Vec<ReleaseKey> {
        self.seen.remove(identity);
        self.touched(identity, &Sighting::Gone)
    }

    /// The objects of a kind that went while nobody watched.
    pub(super) fn missed(&self, kind: &GroupKind, listed: &HashSet<Identity>) -> Vec<Identity> {
        let known = self.seen.keys().filter(|one| one.group_kind == *kind);
        known
            .filter(|one| !listed.contains(*one))
            .cloned()
            .collect()
    }

    /// Who refers to an object.
    pub(super) fn referrers(&self, identity: &Identity) -> Vec<ReleaseKey> {
        let users = self.referrers.get(identity);
        users.into_iter().flatten().cloned().collect()
    }

    /// The kinds of what a release has.
    pub(super) fn kinds_of(&self, key: &ReleaseKey) -> HashSet<GroupKind> {
        let objects = self.objects.get(key).into_iter().flatten();
        objects.map(|one| one.group_kind.clone()).collect()
    }

    /// Nothing but objects of these kinds is watched any more.
    pub(super) fn keep_kinds(&mut self, kinds: &HashSet<GroupKind>) {
        self.seen
            .retain(|identity, _| kinds.contains(&identity.group_kind));
    }

    /// How many objects releases have.
    pub(super) fn count(&self) -> usize {
        self.owners.len()
    }

    fn is_own(&self, identity: &Identity, sighting: &Sighting) -> bool {
        match sighting {
            Sighting::At(version) => self.written.get(identity) == Some(version),
            Sighting::Gone => false,
        }
    }

    fn touched(&mut self, identity: &Identity, sighting: &Sighting) -> Vec<ReleaseKey> {
        let Some(owners) = self.owners.get(identity) else {
            // What a busy release is about to track is not tracked yet.
            for sightings in self.busy.values_mut() {
                sightings.insert(identity.clone(), sighting.clone());
            }
            return Vec::new();
        };
        let mut look = Vec::new();
        for key in owners {
            match self.busy.get_mut(key) {
                Some(sightings) => _ = sightings.insert(identity.clone(), sighting.clone()),
                None => look.push(key.clone()),
            }
        }
        if self.is_own(identity, sighting) {
            look.clear();
        }
        look
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ReleaseKey {
        ReleaseKey {
            namespace: "games".to_owned(),
            name: name.to_owned(),
        }
    }

    fn map(name: &str) -> Identity {
        Identity::new(GroupKind::new("", "ConfigMap"), Some("games"), name)
    }

    fn names(found: Vec<ReleaseKey>) -> Vec<String> {
        let mut names: Vec<String> = found.into_iter().map(|key| key.name).collect();
        names.sort();
        names
    }

    /// Releases with their objects, all of which have been seen.
    fn tracking(releases: &[(&str, &[&str])]) -> TrackedObjects {
        let mut tracked = TrackedObjects::default();
        for (name, objects) in releases {
            reconciled(&mut tracked, name, objects);
        }
        tracked
    }

    fn reconciled(tracked: &mut TrackedObjects, name: &str, objects: &[&str]) {
        tracked.begin(&key(name));
        for object in objects {
            tracked.wrote(&map(object), "1");
            tracked.sighted(&map(object), 1, "1", false);
        }
        let objects = objects.iter().map(|object| map(object)).collect();
        assert!(!tracked.end(&key(name), Some(objects)), "its own writes");
    }

    #[test]
    fn what_others_do_is_a_reason_to_look_and_nothing_else() {
        for (fingerprint, version, first, expected) in [
            // Its status has changed, or nothing that counts.
            (1, "2", false, vec![]),
            (2, "2", false, vec!["web"]),
            // What the controller itself wrote.
            (2, "1", false, vec![]),
            // Something was changed while a watch was away.
            (2, "2", true, vec!["web"]),
        ] {
            let mut tracked = tracking(&[("web", &["a"]), ("db", &["b"])]);
            let found = tracked.sighted(&map("a"), fingerprint, version, first);
            assert_eq!(names(found), expected, "{fingerprint} {version} {first}");
        }
        let mut tracked = tracking(&[("web", &["a"])]);
        assert_eq!(names(tracked.gone(&map("a"))), ["web"]);
        assert_eq!(names(tracked.gone(&map("strangers"))), [""; 0]);
        let found = tracked.sighted(&map("strangers"), 5, "9", false);
        assert_eq!(names(found), [""; 0]);
    }

    #[test]
    fn what_a_watch_finds_when_it_begins_is_no_reason() {
        let mut tracked = tracking(&[]);
        tracked.begin(&key("web"));
        assert_eq!(names(tracked.sighted(&map("a"), 7, "3", true)), [""; 0]);
        assert!(!tracked.end(&key("web"), Some(HashSet::from([map("a")]))));
        assert_eq!(names(tracked.sighted(&map("a"), 8, "4", true)), ["web"]);
    }

    #[test]
    fn sightings_wait_until_a_reconcile_is_done_and_the_last_one_counts() {
        // What is seen of `a` meanwhile, what the controller's own write came to, and whether it
        // looks again.
        for (sightings, written, again) in [
            (vec![], "1", false),
            (vec![Some("2")], "2", false),
            (vec![Some("2")], "1", true),
            // Somebody edits, and the controller puts it right.
            (vec![Some("2"), Some("3")], "3", false),
            // The other way round.
            (vec![Some("2"), Some("3")], "2", true),
            (vec![None], "1", true),
            (vec![None, Some("2")], "2", false),
        ] {
            let mut tracked = tracking(&[("web", &["a"])]);
            tracked.begin(&key("web"));
            for (n, sighting) in (2..).zip(&sightings) {
                let found = match sighting {
                    Some(version) => tracked.sighted(&map("a"), n, version, false),
                    None => tracked.gone(&map("a")),
                };
                assert_eq!(names(found), [""; 0], "it is busy");
            }
            tracked.wrote(&map("a"), written);
            let ended = tracked.end(&key("web"), Some(HashSet::from([map("a")])));
            assert_eq!(ended, again, "{sightings:?} {written}");
        }
    }

    #[test]
    fn an_attempt_that_failed_changes_nothing_of_what_is_tracked() {
        let mut tracked = tracking(&[("web", &["a"])]);
        tracked.begin(&key("web"));
        assert!(!tracked.end(&key("web"), None));
        assert_eq!(names(tracked.gone(&map("a"))), ["web"]);
    }

    #[test]
    fn what_is_shared_is_everybodys() {
        let mut tracked = tracking(&[("web", &["a", "both"]), ("db", &["both"])]);
        assert_eq!(names(tracked.gone(&map("both"))), ["db", "web"]);
        tracked.begin(&key("web"));
        assert_eq!(names(tracked.gone(&map("both"))), ["db"]);
        assert!(tracked.end(&key("web"), None), "it waited for this one");
        // One of them lets go of it, or of everything.
        reconciled(&mut tracked, "db", &[]);
        assert_eq!(names(tracked.gone(&map("both"))), ["web"]);
        tracked.forget(&key("web"));
        assert_eq!(names(tracked.gone(&map("both"))), [""; 0]);
        assert_eq!(tracked.count(), 0);
    }

    #[test]
    fn what_is_referred_to_is_told_to_all_who_do() {
        let mut tracked = TrackedObjects::default();
        tracked.refer(&key("web"), HashSet::from([map("values"), map("module")]));
        tracked.refer(&key("db"), HashSet::from([map("values")]));
        assert_eq!(names(tracked.referrers(&map("values"))), ["db", "web"]);
        tracked.refer(&key("web"), HashSet::from([map("module")]));
        assert_eq!(names(tracked.referrers(&map("values"))), ["db"]);
        tracked.forget(&key("db"));
        assert_eq!(names(tracked.referrers(&map("values"))), [""; 0]);
        assert_eq!(names(tracked.referrers(&map("module"))), ["web"]);
    }

    #[test]
    fn what_went_while_nobody_watched_is_missed() {
        let mut tracked = tracking(&[("web", &["a", "b"])]);
        let kind = GroupKind::new("", "ConfigMap");
        let missed = tracked.missed(&kind, &HashSet::from([map("a")]));
        assert_eq!(missed, [map("b")]);
        let others = tracked.missed(&GroupKind::new("", "Secret"), &HashSet::new());
        assert_eq!(others, []);
        assert_eq!(tracked.kinds_of(&key("web")), HashSet::from([kind]));
        tracked.keep_kinds(&HashSet::new());
        assert_eq!(
            tracked.missed(&GroupKind::new("", "ConfigMap"), &HashSet::new()),
            []
        );
    }
}
