//! RFC-0001's second layer: objects that carry this release's labels and that no record names,
//! found by a scan of all kinds. Behind the feature flag `label-orphan-pruning`.
//!
//! What is found becomes pending, so that it is pruned, kept, guarded and retried like anything
//! else that is known to exist and is in no recorded change.

use std::collections::HashSet;

use opm_core::feature::declared::LABEL_ORPHAN_PRUNING;
use opm_core::identity::Identity;
use opm_core::record::{Body, Record};

use super::Apply;
use crate::failure::Failure;
use crate::ports::{Clock, Cluster, SecretStore, ServedKinds};

impl<C: Cluster, S: SecretStore, K: Clock> Apply<'_, C, S, K> {
    /// Adds the release's orphans to what is pending in `record`, if the feature is on.
    pub(super) async fn add_orphans(
        &self,
        record: &mut Record,
        served: &ServedKinds,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        if !self.engine.has(LABEL_ORPHAN_PRUNING.as_str()) {
            return Ok(());
        }
        let found = self.engine.labelled(&self.release(), served).await?;
        let since = self.engine.server_now().to_string();
        let orphans = found.as_pending(&since);
        warnings.extend(found.warnings);
        let known = self.known(record);
        if let Body::Here(pending) = &mut record.pending.objects {
            pending.extend(
                orphans
                    .into_iter()
                    .filter(|o| !known.contains(&o.entry.identity)),
            );
        }
        Ok(())
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
