//! One object of a release, or of what lies below it: as it is, as it was sent last, and as the
//! record has it; what happened to it and what its containers wrote.

use std::collections::BTreeMap;

use opm_core::below::{ClusterEvent, TreeNode};
use opm_core::diff::{FieldChange, diff, stated};
use opm_core::entry::Entry;
use opm_core::health::{self, Health};
use opm_core::identity::Identity;
use opm_core::owned::OwnedObject;
use opm_core::status::{ObjectStatus, judge};
use serde_json::{Map, Value};

use super::KnownRelease;
use super::below::Grown;
use super::logs::ContainerLog;
use super::see::ReleaseObservations;
use crate::failure::{Failure, FailureKind};
use crate::ports::Observation;
use crate::report::{Release, TrackedObject};
use crate::request::ObjectRequest;
use crate::run::Run;

/// What was sent last of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct SentObject {
    /// In which change.
    pub change: String,
    /// The object; what a Secret holds is masked.
    pub object: OwnedObject,
}

/// One object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectReport {
    /// Of which release.
    pub release: Release,
    /// Which object.
    pub identity: Identity,
    /// How it stands, if the inventory has it: what is recorded of it, and what drifted.
    pub status: Option<ObjectStatus>,
    /// Why it is pending or kept, if it is.
    pub tracked: Option<TrackedObject>,
    /// How it is doing.
    pub health: Health,
    /// Its uid, if it is there.
    pub uid: Option<String>,
    /// What was sent last; none if nothing was, or if that is not kept.
    pub applied: Option<SentObject>,
    /// What there is; what a Secret holds is masked.
    pub live: Observation<OwnedObject>,
    /// The fields of what was sent last that have other values now.
    pub differences: Vec<FieldChange>,
    /// What happened to it and below it, oldest first.
    pub events: Vec<ClusterEvent>,
    /// What its containers wrote, and those below it.
    pub logs: Vec<ContainerLog>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Run<'_> {
    /// One object of a release.
    pub(crate) async fn object(&self, request: &ObjectRequest) -> Result<ObjectReport, Failure> {
        let known = self.known(&request.status()).await?;
        let identity = &request.object;
        let (grown, seen) = match root_of(&known, identity) {
            Some(root) => {
                let roots = [root];
                let (grown, seen) = futures::join!(
                    self.grow_from(&known, &roots, false),
                    self.see_whole(&known, identity)
                );
                (grown?, seen)
            }
            None => {
                let grown = self.grow_from(&known, &known.entries, false).await?;
                if grown.tree.find(identity).is_none() {
                    return Err(stranger(identity, &known.release, &grown));
                }
                let seen = self.see_whole(&known, identity).await;
                (grown, seen)
            }
        };
        let (component, node) = grown.tree.find(identity).unzip();
        let nodes = node.map(TreeNode::all).unwrap_or_default();
        let containers = nodes
            .iter()
            .map(|node| (component.unwrap_or_default(), *node));
        let containers = grown.containers(containers);
        let (told, logs) = (BTreeMap::new(), request.logs());
        let ((events, no_events), (logs, no_logs)) = futures::join!(
            self.events_about(&nodes, grown.served(), request.events),
            self.logs_of(containers, &logs, &told)
        );
        let warnings = [
            grown.tree.warnings.clone(),
            seen.warnings.clone(),
            no_events,
            no_logs,
        ];
        let warnings = warnings.concat();
        Ok(ObjectReport {
            events,
            logs,
            warnings,
            ..assemble(&known, identity, &seen)
        })
    }
}

/// The object as a root of a tree, if the release tracks it.
fn root_of(known: &KnownRelease, identity: &Identity) -> Option<Entry> {
    let recorded = known.entries.iter().find(|e| e.identity == *identity);
    recorded.cloned().or_else(|| {
        let tracked = tracked_of(known, identity)?;
        Some(Entry::new(
            identity.clone(),
            &tracked.version,
            &tracked.component,
        ))
    })
}

fn tracked_of<'a>(known: &'a KnownRelease, identity: &Identity) -> Option<&'a TrackedObject> {
    let mut tracked = known.pending.iter().chain(&known.kept);
    tracked.find(|tracked| tracked.identity == *identity)
}

/// An object that has nothing to do with the release, as far as could be seen.
fn stranger(identity: &Identity, release: &Release, grown: &Grown) -> Failure {
    let name = &release.name;
    let message = match grown.tree.warnings.is_empty() {
        true => format!("{identity} is not an object of {name}, and none of its objects owns it"),
        false => format!(
            "{identity} is not an object of {name}, and whether one of its objects owns it cannot be \
             told: {}",
            grown.tree.warnings.join("; ")
        ),
    };
    Failure::new(FailureKind::NotFound, message)
}

/// Everything but what happened and what was written.
fn assemble(known: &KnownRelease, identity: &Identity, seen: &ReleaseObservations) -> ObjectReport {
    let kind = &identity.group_kind;
    let recorded = known.entries.iter().find(|e| e.identity == *identity);
    let evidence = seen.evidence(known, identity);
    let status = recorded.map(|entry| judge(entry.clone(), evidence));
    let live = seen.objects.get(identity);
    let object = live.and_then(Observation::present);
    let object = object.map(|read| read.object.unpack());
    let object = object.as_ref();
    let health = match (&status, live, object) {
        (Some(status), _, _) => status.health.clone(),
        (None, _, Some(object)) => health::of(object),
        (None, Some(Observation::Failed(error)), _) => Health::unknown(error.to_string()),
        (None, _, _) => Health::failed("it is not there"),
    };
    let sent = sent_last(known, identity, seen, status.as_ref());
    let differences = match (&sent, object) {
        (Some((_, sent)), Some(live)) => diff(kind, sent, &stated(live, sent)),
        _ => Vec::new(),
    };
    ObjectReport {
        release: known.release.clone(),
        identity: identity.clone(),
        tracked: tracked_of(known, identity).cloned(),
        health,
        uid: object.and_then(|object| {
            let uid = crate::observe::metadata(object, "uid");
            uid.map(str::to_owned)
        }),
        applied: sent.map(|(change, object)| SentObject {
            change: change.to_owned(),
            object: OwnedObject::unowned(kind, object),
        }),
        live: match (live, object) {
            (_, Some(live)) => Observation::Present(OwnedObject::of(kind, live, &known.release.id)),
            (Some(Observation::Failed(error)), None) => Observation::Failed(error.clone()),
            (_, None) => Observation::Absent,
        },
        differences,
        status,
        events: Vec::new(),
        logs: Vec::new(),
        warnings: Vec::new(),
    }
}

/// What was sent last of an object, and in which change: by a run that did not end well, if that
/// brought the object to where it is.
fn sent_last<'a>(
    known: &'a KnownRelease,
    identity: &Identity,
    seen: &'a ReleaseObservations,
    status: Option<&ObjectStatus>,
) -> Option<(&'a str, Map<String, Value>)> {
    let unrecorded = known.unrecorded.as_ref();
    let strayed = status.is_none_or(|status| status.unrecorded.is_some());
    let since = unrecorded.filter(|_| strayed);
    let since = since.and_then(|run| Some((run.change.as_str(), seen.sent.get(identity)?)));
    let sent = since.or_else(|| {
        let change = known.change.as_ref()?;
        Some((change.id.as_str(), seen.applied.get(identity)?))
    });
    sent.map(|(change, object)| (change, object.unpack()))
}
