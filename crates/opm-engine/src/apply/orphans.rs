//! RFC-0001's second layer: objects that carry this release's labels and that no record names,
//! found by a scan of all kinds.
//!
//! With the feature flag `label-orphan-pruning` every apply scans, and what is found becomes
//! pending, so that it is pruned, kept, guarded and retried like anything else that is known to
//! exist and is in no recorded change. Without it, only an apply without a record scans, and
//! only if a cheap look says that the release was there before: then its record was lost, and
//! what the render no longer has is named in a warning.

use std::collections::{BTreeSet, HashSet};

use futures::future::join_all;
use opm_core::check::LiveObject;
use opm_core::entry::Entry;
use opm_core::feature::declared::LABEL_ORPHAN_PRUNING;
use opm_core::identity::{GroupKind, Identity};
use opm_core::record::{Body, Change, PendingObject, Record};
use opm_core::scope::Scope;
use opm_core::{labels, status};
use serde_json::{Map, Value};

use super::Apply;
use crate::failure::Failure;
use crate::observe::entry;
use crate::ports::{ApiErrorKind, Detail};

/// How many orphans a warning names.
const NAMED: usize = 10;

impl Apply<'_> {
    /// Looks for the release's orphans where there is reason to, and adds them to what is
    /// pending in `record` if the feature is on. `was_there` says that the release was there before
    /// and has no record. Answers whether some are left behind.
    pub(super) async fn add_orphans(
        &self,
        record: &mut Record,
        was_there: bool,
        warnings: &mut Vec<String>,
    ) -> Result<bool, Failure> {
        let prunes = self.run.has(LABEL_ORPHAN_PRUNING.as_str());
        if !prunes && !was_there {
            return Ok(false);
        }
        let served = self.run.discover_rest(self.served).await?;
        let found = self.run.labelled(&self.release(), &served).await?;
        let since = self.run.server_now().to_string();
        let known = self.known(record);
        let mut orphans = found.as_pending(&since);
        orphans.retain(|orphan| !known.contains(&orphan.entry.identity));
        if prunes {
            warnings.extend(found.warnings);
            if let Body::Here(pending) = &mut record.pending.objects {
                pending.extend(orphans);
            }
        } else if !orphans.is_empty() {
            warnings.extend(found.warnings);
            warnings.push(left_behind(&orphans));
            return Ok(true);
        }
        Ok(false)
    }

    /// The release's orphans where its recorded changes and the render put objects, as a status
    /// finds them: to be shown. Also says where it could not look.
    pub(super) async fn find_orphans(&self, record: &Record) -> (Vec<Entry>, Vec<String>) {
        let known = self.known(record);
        let past = record.changes().flat_map(Change::entries);
        let past = past.map(|recorded| &recorded.entry.identity);
        let places: BTreeSet<(GroupKind, Option<String>)> = past
            .chain(&known)
            .map(|identity| (identity.group_kind.clone(), identity.namespace.clone()))
            .collect();
        let id = self.candidate.owner.id.to_string();
        let label = (labels::RELEASE_ID, id.as_str());
        let (objects, warnings) = self.run.labelled_where(&places, label).await;
        let found = objects.iter().filter_map(entry).collect();
        (status::orphans(found, &known.iter().collect()), warnings)
    }

    /// Whether anything of this release is in the cluster already, though it has no record: one
    /// list for each rendered kind and one for Secrets, all at the same time, by label and in the
    /// release's own namespace, so that an ordinary first apply pays next to nothing. What may
    /// not be listed is no reason to stop, or even to warn; a list that failed otherwise is one to
    /// look closer.
    pub(super) async fn was_there_before(&self) -> bool {
        let owner = &self.candidate.owner;
        let id = owner.id.to_string();
        let rendered = self.candidate.objects.iter();
        let rendered = rendered.map(|object| object.manifest.identity().group_kind.clone());
        let kinds: BTreeSet<GroupKind> = rendered.chain([GroupKind::new("", "Secret")]).collect();
        let lists = kinds.iter().filter_map(|kind| {
            let served = self
                .served
                .kinds
                .get(kind)
                .filter(|served| served.listable)?;
            let namespaced = served.scope == Scope::Namespaced;
            let namespace = namespaced.then_some(owner.namespace.as_str());
            let label = Some((labels::RELEASE_ID, id.as_str()));
            Some(
                self.run
                    .backend
                    .list(kind, namespace, label, Detail::Metadata),
            )
        });
        join_all(lists).await.iter().any(|listed| match listed {
            Ok(found) => found.iter().any(|object| is_a_trace(object, &owner.id)),
            // The scan asks again, and says what it could not see.
            Err(error) => error.kind != ApiErrorKind::Forbidden,
        })
    }

    /// What the record or the render names already.
    fn known(&self, record: &Record) -> HashSet<Identity> {
        let inventory = record
            .inventory()
            .iter()
            .map(|recorded| &recorded.entry.identity);
        let pending = match &record.pending.objects {
            Body::Here(objects) => objects.as_slice(),
            Body::InRecord => &[],
        };
        let kept = record.kept.objects.iter().map(|kept| &kept.entry.identity);
        let rendered = self
            .candidate
            .objects
            .iter()
            .map(|object| object.manifest.identity());
        inventory
            .chain(pending.iter().map(|object| &object.entry.identity))
            .chain(kept)
            .chain(rendered)
            .cloned()
            .collect()
    }
}

/// Whether an object shows that the release was applied before: one that it applied, or a Secret
/// that holds the manifests of a change.
fn is_a_trace(object: &Map<String, Value>, release: &opm_core::ids::ReleaseId) -> bool {
    let component = object
        .get("metadata")
        .and_then(|metadata| metadata.get("labels"))
        .and_then(|labels| labels.get(labels::COMPONENT));
    match component.and_then(Value::as_str) {
        Some(labels::COMPONENT_RECORD) => true,
        Some(_) => false,
        None => LiveObject::read(object, release).applied_by_opm,
    }
}

/// What an apply without a record tells about what it found.
fn left_behind(orphans: &[PendingObject]) -> String {
    let named = orphans.iter().take(NAMED);
    let mut names: Vec<String> = named.map(|o| o.entry.identity.to_string()).collect();
    if orphans.len() > NAMED {
        names.push(format!("{} more", orphans.len() - NAMED));
    }
    format!(
        "there is no record of this release, but these objects carry its labels, are not \
         rendered, and are left as they are: {}. If its record was lost, a repair takes them up, \
         and the next apply removes them; with the feature {} every apply does",
        names.join(", "),
        LABEL_ORPHAN_PRUNING.as_str()
    )
}
