//! Pruning only when the new objects are ready, where an old and a new workload mount the same volume claim: neither
//! could ever go on, so it is refused before anything is touched.

use std::collections::BTreeMap;

use opm_core::check::{ApplyStep, PruneStep};
use opm_core::identity::Identity;
use opm_core::plan::{ContestedClaim, claims, contested, runs_pods};
use serde_json::{Map, Value};

use super::Apply;
use super::check::ApplyContext;
use crate::failure::{Failure, Remedy};
use crate::ports::{Detail, Observation};

impl Apply<'_> {
    /// Refuses if what has to be ready first waits for a claim of what goes only then.
    pub(super) async fn without_contested_claims(
        &self,
        applies: impl Iterator<Item = &ApplyStep>,
        going: &[PruneStep],
        context: &ApplyContext,
    ) -> Result<(), Failure> {
        if !self.request.options.prune_after_ready {
            return Ok(());
        }
        let going = going.iter().map(|step| &step.entry.identity);
        let going: Vec<Identity> = going
            .filter(|i| runs_pods(&i.group_kind))
            .cloned()
            .collect();
        let old = self.whole(&going).await?;
        let rendered: Vec<Identity> = applies
            .map(|step| step.entry.identity.clone())
            .filter(|identity| runs_pods(&identity.group_kind))
            .collect();
        let new = rendered
            .iter()
            .filter_map(|identity| Some((identity, self.object(identity, context)?)));
        let new: Vec<_> = new.collect();
        let new = new
            .iter()
            .map(|(identity, object)| (*identity, object.as_ref()));
        let old: Vec<_> = old.iter().collect();
        let found = contested(&old, &new.collect::<Vec<_>>());
        let found = self.not_shared_already(found).await?;
        match found.is_empty() {
            true => Ok(()),
            false => Err(refused(&found)),
        }
    }

    /// Two workloads that both mount a claim already can evidently both have it.
    async fn not_shared_already(
        &self,
        found: Vec<ContestedClaim>,
    ) -> Result<Vec<ContestedClaim>, Failure> {
        let new: Vec<Identity> = found.iter().map(|one| one.new.clone()).collect();
        let live = self.whole(&new).await?;
        let has_it = |one: &ContestedClaim| {
            let object = live.get(&one.new);
            object.is_some_and(|object| {
                claims(&one.new, object)
                    .iter()
                    .any(|claim| claim.overlaps(&one.claim))
            })
        };
        Ok(found.into_iter().filter(|one| !has_it(one)).collect())
    }

    async fn whole(
        &self,
        wanted: &[Identity],
    ) -> Result<BTreeMap<Identity, Map<String, Value>>, Failure> {
        let mut whole = BTreeMap::new();
        for (identity, found) in self.run.backend.look(wanted, Detail::Whole).await {
            match found {
                Observation::Present(object) => _ = whole.insert(identity, object),
                Observation::Absent => {}
                Observation::Failed(error) => {
                    let what = format!("cannot see which volume claims {identity} mounts");
                    return Err(Failure::before_writing(&what, &error));
                }
            }
        }
        Ok(whole)
    }
}

fn refused(found: &[ContestedClaim]) -> Failure {
    let messages = found.iter().map(|one| {
        format!(
            "{} mounts {}, which {} mounts until it is removed",
            one.new, one.claim, one.old
        )
    });
    let message = messages.collect::<Vec<_>>().join("\n");
    let mut failure = Failure::refused(message).remedy(Remedy::PruneAtOnce);
    for one in found {
        let reason = format!("{} mounts {} as well", one.old, one.claim);
        failure = failure.object(one.new.clone(), reason);
    }
    failure
}
