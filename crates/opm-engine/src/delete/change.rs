//! `--component`: what is left of the release is a change of its own.

use std::collections::HashMap;

use opm_core::event::Event;
use opm_core::identity::Identity;
use opm_core::ids::ChangeId;
use opm_core::protocol::{Applied, NewChange, PruneOutcome};
use opm_core::record::{Change, LogResult, Values};

use super::{Delete, Source};
use crate::failure::{Failure, FailureKind};
use crate::ports::{Clock, Cluster, SecretStore};
use crate::record::{Holding, WriteError};
use crate::report::Report;
use crate::run::{kept, pending};

impl<C: Cluster, S: SecretStore, K: Clock> Delete<'_, C, S, K> {
    pub(super) async fn record_component(
        &self,
        applied: Applied,
        results: &HashMap<Identity, PruneOutcome>,
        holding: &Holding,
        report: &mut Report,
        source: &Source,
    ) -> Result<Report, Failure> {
        let Some(current) = source.record.current() else {
            let message = "the release has no recorded change that a component could leave";
            return Err(Failure::new(FailureKind::Refused, message).after(report.clone()));
        };
        let digest = opm_core::digest::ManifestDigest::of_entries(
            applied
                .plan()
                .remaining
                .iter()
                .map(|recorded| &recorded.entry),
        );
        let change = self.what_is_left(current, digest.to_string(), &digest);
        let id = change.id.clone();
        let settled = applied.settle(results, self.engine.server_now());
        let ended = self
            .engine
            .ended(LogResult::Succeeded, None, &report.resources);
        let recorded = settled.record(change, self.request.max_history, &ended);
        let unpruned = recorded.unpruned;
        let record = recorded.record;
        report.change_id = id.parse().ok();
        report.manifest_digest = Some(digest.to_string());
        report.pending = pending(&record);
        report.kept = kept(&record);
        if let Err(error) = self.engine.write_and_sweep(holding, record).await {
            let (kind, message) = match error {
                WriteError::Lost => (
                    FailureKind::LockLost,
                    "the release's lock was lost".to_owned(),
                ),
                WriteError::Api(error) => (
                    FailureKind::Failed,
                    format!("the release's record could not be written: {error}"),
                ),
            };
            return Err(Failure::new(kind, message).after(report.clone()));
        }
        report.warnings.extend(holding.take_notes().await);
        self.audience
            .events
            .emit(Event::Recorded { change: Some(id) });
        if unpruned {
            let message = "recorded, but not everything could be deleted; it stays pending";
            return Err(Failure::new(FailureKind::Incomplete, message).after(report.clone()));
        }
        Ok(report.clone())
    }

    fn what_is_left(
        &self,
        current: &Change,
        manifest_digest: String,
        digest: &opm_core::digest::ManifestDigest,
    ) -> NewChange {
        let values = current.values.here().cloned().unwrap_or_default();
        let Values(text) = &values;
        let version = current.module.version.as_deref();
        let id = ChangeId::of(&current.module.path, version, text, digest);
        let component = self.request.component.as_ref().map(|c| c.as_str());
        let selected = current.components.clone().unwrap_or_default();
        NewChange {
            id: id.to_string(),
            module: current.module.clone(),
            values,
            manifest_digest,
            components: selected
                .into_iter()
                .filter(|name| Some(name.as_str()) != component)
                .collect(),
            features: current.features.clone().unwrap_or_default(),
            order: current.order.clone(),
            record: None,
        }
    }
}
