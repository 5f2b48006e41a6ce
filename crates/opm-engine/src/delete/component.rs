//! Deleting one component: what is left of the release is a change of its own.

use std::collections::{BTreeMap, HashMap};

use opm_core::candidate::{Candidate, Selection};
use opm_core::check::CheckedPlan;
use opm_core::digest::ManifestDigest;
use opm_core::event::Event;
use opm_core::feature::declared::CHANGE_RECORDS;
use opm_core::identity::Identity;
use opm_core::ids::ChangeId;
use opm_core::name::ComponentName;
use opm_core::protocol::{Applied, NewChange, PruneOutcome};
use opm_core::record::room::make_room;
use opm_core::record::{Change, LogResult, RecordRef};

use super::{Delete, DeleteSource};
use crate::failure::{Failure, FailureKind, Remedy};
use crate::observe::scopes;
use crate::record::{CHANGE_ANNOTATION, KeptChange, LockGuard};
use crate::report::{Release, Report};

impl Delete<'_> {
    pub(super) async fn record_component(
        &self,
        applied: Applied,
        results: &HashMap<Identity, PruneOutcome>,
        guard: &LockGuard,
        report: &mut Report,
        source: &DeleteSource,
    ) -> Result<(), Failure> {
        let Some(current) = source.record.current() else {
            return Err(nothing_to_leave().after(report.clone()));
        };
        self.warn_if_it_comes_back(current, report);
        let change = match self.left(current).await {
            Some(left) => {
                let features = current.features.clone().unwrap_or_default();
                let record = self.keep_left(&left, features.clone(), guard).await;
                NewChange::of(&left, features, record)
            }
            None => self.stand_in(current, applied.plan()),
        };
        let (id, digest) = (change.id.clone(), change.manifest_digest.clone());
        let reconciled = applied.reconcile(results, self.run.server_now());
        let ended = self
            .run
            .ended(LogResult::Succeeded, None, &report.resources);
        let recorded = reconciled.record(change, self.request.max_history, &ended);
        let (mut record, unpruned) = (recorded.record, recorded.unpruned);
        make_room(&mut record);
        report.change_id = id.parse().ok();
        report.manifest_digest = Some(digest);
        report.take_tracked(&record);
        if let Err(error) = self.run.write_and_sweep(guard, record).await {
            let what = "the release's record could not be written";
            return Err(Failure::unwritten(error, what).after(report.clone()));
        }
        report.warnings.extend(guard.take_notes().await);
        self.run.emit(Event::Recorded { change: Some(id) });
        if unpruned {
            let message = "recorded, but not everything could be deleted; it stays pending";
            return Err(Failure::new(FailureKind::Incomplete, message).after(report.clone()));
        }
        Ok(())
    }

    /// What is left, exactly as an apply without the component would have made it: equal input,
    /// equal change. None where the manifests of the current change cannot be had.
    async fn left(&self, current: &Change) -> Option<Candidate> {
        let restored = self.run.restored(&self.release, current).await.ok()?;
        let going = self.request.component.as_ref()?;
        let mut rendered = restored.rendered;
        for component in &mut rendered.components {
            if component.name == *going {
                component.optional = true;
                component.manifests.clear();
            }
        }
        let manifests = rendered.components.iter().flat_map(|one| &one.manifests);
        // Where they live is known from themselves, also if the cluster does not answer now.
        let served = self.run.discover().await.unwrap_or_default();
        let scopes = scopes(&served).with_applied(manifests);
        let Release {
            name, namespace, ..
        } = self.release.clone();
        let selection = Selection::Given(self.selection(current));
        Candidate::new(rendered, name, namespace, &selection, scopes).ok()
    }

    async fn keep_left(
        &self,
        left: &Candidate,
        features: BTreeMap<String, bool>,
        guard: &LockGuard,
    ) -> Option<RecordRef> {
        if !self.run.has(CHANGE_RECORDS.as_str()) {
            return None;
        }
        let stored = guard.record().await;
        let kept = self.run.keep_manifests(
            &self.release,
            KeptChange {
                candidate: left,
                features,
                annotation: CHANGE_ANNOTATION,
            },
            &stored,
            self.run.permit_under(guard),
        );
        Some(kept.await)
    }

    /// What is left, where only its entries are known.
    fn stand_in(&self, current: &Change, plan: &CheckedPlan) -> NewChange {
        let entries = plan.remaining.iter().map(|recorded| &recorded.entry);
        let digest = ManifestDigest::of_entries(entries);
        let values = current.values.here().cloned().unwrap_or_default();
        let version = current.module.version.as_deref();
        let id = ChangeId::of(&current.module.path, version, &values.0, &digest);
        NewChange {
            id: id.to_string(),
            module: current.module.clone(),
            values,
            manifest_digest: digest.to_string(),
            components: self.selection(current),
            features: current.features.clone().unwrap_or_default(),
            order: current.order.clone(),
            hooks: current.hooks.clone(),
            set: current.set.clone(),
            record: None,
        }
    }

    /// The optional components that stay selected.
    fn selection(&self, current: &Change) -> Vec<String> {
        let going = self.request.component.as_ref().map(ComponentName::as_str);
        let selected = current.components.iter().flatten();
        let stays = selected.filter(|name| Some(name.as_str()) != going);
        stays.cloned().collect()
    }

    /// Only an optional component stays away; the others belong to the module.
    fn warn_if_it_comes_back(&self, current: &Change, report: &mut Report) {
        let (Some(going), Some(selected)) = (&self.request.component, &current.components) else {
            return;
        };
        if !selected.iter().any(|name| name == going.as_str()) {
            report.warnings.push(format!(
                "component {going} is not optional: the next apply of the module brings it back"
            ));
        }
    }
}

/// A component leaves a change behind that is recorded without it, so there has to be one.
pub(super) fn nothing_to_leave() -> Failure {
    Failure::refused("the release has no recorded change that a component could leave")
        .remedy(Remedy::Repair)
}
