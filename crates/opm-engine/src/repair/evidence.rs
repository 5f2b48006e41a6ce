//! Gathering what is left of a release: its Secret, its record Secrets, its labelled objects.

use opm_core::entry::Entry;
use opm_core::identity::Identity;
use opm_core::labels::{self, Owner, OwnerLabels};
use opm_core::manifest::Manifest;
use opm_core::name::ModuleName;
use opm_core::packed::PackedObject;
use opm_core::record::{SalvagedRecord, salvage};
use opm_core::repair::{
    ChangeMatch, RepairEvidence, Repaired, UnlabelledState, compare, draft, needs_records,
    recovered_log, undetermined,
};
use std::collections::{BTreeMap, HashMap};

use super::find::nothing_left;
use super::kept_changes::KeptChanges;
use crate::failure::{Failure, FailureKind};
use crate::observe::{AllKinds, LabelledObjects};
use crate::ports::{Detail, Observation, StoredSecret, WantedObject};
use crate::record::parts;
use crate::report::Release;
use crate::run::Run;

impl Run<'_> {
    /// The repaired record, and what could not be looked at.
    pub(super) async fn repaired(
        &self,
        release: &Release,
        stored: Option<&StoredSecret>,
        served: &AllKinds,
    ) -> Result<(Repaired, Vec<String>), Failure> {
        let mut salvaged = stored.map(|stored| salvage(&parts(&stored.content)));
        writable(stored, salvaged.as_ref())?;
        let found: LabelledObjects = self.labelled(release, served).await?;
        let mut warnings = found.warnings.clone();
        if let Some(salvaged) = &mut salvaged {
            self.bring_back(release, salvaged, &mut warnings).await;
        }
        let kept = match needs_records(salvaged.as_ref()) {
            true => self.kept_changes(release, &mut warnings).await?,
            false => KeptChanges::default(),
        };
        let kept_changes = kept.changes;
        let log = recovered_log(
            salvaged.as_ref(),
            &kept.logs,
            &kept_changes,
            self.server_now(),
        );
        if stored.is_none() && found.objects.is_empty() && kept_changes.is_empty() {
            return Err(nothing_left(
                release.name.as_str(),
                release.namespace.as_str(),
                found.unseen,
            ));
        }
        let labelled: Vec<Entry> = found
            .as_pending("")
            .into_iter()
            .map(|object| object.entry)
            .collect();
        let modules: Vec<String> = found
            .objects
            .iter()
            .filter_map(|object| OwnerLabels::read(object).module)
            .collect();
        let recorded = kept_changes.first().map(|change| &change.module.name);
        let mut evidence = RepairEvidence {
            owner: owner(release, &modules, stored, recorded),
            salvaged,
            kept_changes,
            matches: BTreeMap::new(),
            log,
            labelled,
            now: self.server_now(),
        };
        evidence.matches = self.matches(release, &evidence).await;
        let draft = draft(evidence);
        let doubtful: Vec<Identity> = draft.doubtful().cloned().collect();
        let looks = self.looks(&doubtful).await;
        Ok((draft.reconcile(&looks), warnings))
    }

    /// What the stored objects of changes are beside the live ones, where that decides which one
    /// is current.
    async fn matches(
        &self,
        release: &Release,
        evidence: &RepairEvidence,
    ) -> BTreeMap<String, ChangeMatch> {
        let mut live: HashMap<Identity, Observation<PackedObject>> = HashMap::new();
        let mut matched = BTreeMap::new();
        // One change at a time: all of them together may be more than fits into memory.
        for change in undetermined(evidence) {
            let unpacked = self.unpacked.used();
            let found = match self.manifests_of(release, &change).await {
                Ok(manifests) => {
                    // A change before may have had it in another version.
                    let unseen = manifests.iter().filter(|one| !is_read(one, &live));
                    let unseen: Vec<WantedObject> = unseen.map(WantedObject::from).collect();
                    let found = self.backend.look_in_version(&unseen, Detail::Whole);
                    live.extend(found.await);
                    compare(&manifests, &live, &release.id)
                }
                Err(error) => ChangeMatch::Unknown(error.to_string()),
            };
            matched.insert(change.id, found);
            self.unpacked.give_back_to(unpacked);
        }
        matched
    }

    async fn looks(&self, doubtful: &[Identity]) -> HashMap<Identity, UnlabelledState> {
        let found = self.backend.look(doubtful, Detail::Metadata).await;
        found
            .into_iter()
            .map(|(identity, found)| {
                let look = match found {
                    Observation::Absent => UnlabelledState::Absent,
                    Observation::Present(_) => UnlabelledState::Foreign,
                    Observation::Failed(_) => UnlabelledState::Unknown,
                };
                (identity, look)
            })
            .collect()
    }
}

/// Whether it is known how an object is in the version of this manifest.
fn is_read(manifest: &Manifest, live: &HashMap<Identity, Observation<PackedObject>>) -> bool {
    let known = live.get(manifest.identity());
    known.is_some_and(|known| match known.present() {
        Some(object) => object.text(&["apiVersion"]) == Some(&manifest.api_version()),
        None => true,
    })
}

/// A record that is going away, or that another version wrote, is not this one's to repair.
fn writable(
    stored: Option<&StoredSecret>,
    salvaged: Option<&SalvagedRecord>,
) -> Result<(), Failure> {
    let Some(stored) = stored else {
        return Ok(());
    };
    let (name, namespace) = (&stored.content.name, &stored.content.namespace);
    if stored.terminating {
        let message = format!("Secret/{name} in namespace {namespace} is being deleted");
        return Err(Failure::refused(message).remedy("try again when it is gone"));
    }
    match salvaged.and_then(|salvaged| salvaged.foreign.as_ref()) {
        None => Ok(()),
        Some((kind, version)) => Err(Failure::new(
            FailureKind::Refused,
            format!(
                "Secret/{name} in namespace {namespace} was written by another version of opm \
                 ({version}, kind {kind}): this one may not write it"
            ),
        )
        .remedy("use the version of opm that wrote it, or a newer one")),
    }
}

/// Whose record it is. The module's name is what the Secret says, else what most objects say.
fn owner(
    release: &Release,
    modules: &[String],
    stored: Option<&StoredSecret>,
    recorded: Option<&String>,
) -> Owner {
    let labelled = stored.and_then(|stored| stored.content.labels.get(labels::MODULE_NAME));
    let mut counts: HashMap<&String, usize> = HashMap::new();
    for module in modules {
        *counts.entry(module).or_default() += 1;
    }
    let most = counts
        .into_iter()
        .max_by_key(|(name, count)| (*count, *name));
    let names = [labelled, most.map(|(name, _)| name), recorded];
    let mut names = names.into_iter().flatten();
    let module = names.find_map(|name| ModuleName::new(name.as_str()).ok());
    Owner {
        module: module.unwrap_or_else(|| ModuleName::from(&release.name)),
        namespace: release.namespace.clone(),
        release: release.name.clone(),
        id: release.id,
    }
}
