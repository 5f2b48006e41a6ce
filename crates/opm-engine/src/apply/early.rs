//! What a first apply needs to see, looked at as soon as it is known that there is no record under
//! the release's name, while one under another name is still looked for.

use std::collections::BTreeMap;

use opm_core::candidate::Candidate;
use opm_core::check::Observed;
use opm_core::identity::Identity;
use opm_core::packed::PackedObject;
use opm_core::reach::NamespacePlan;

use super::{Apply, ApplySource, ApplyWriter};
use crate::failure::Failure;
use crate::observe::judged;
use crate::ports::{Detail, WantedObject};

/// What was seen early. Good for a release without a record only.
pub(super) struct EarlyLook {
    /// What to say about other releases of the name.
    pub(super) namesakes: Vec<String>,
    /// Whether anything of this release is in the cluster already.
    pub(super) was_there_before: bool,
    /// Whether what the candidate needs of the cluster is there.
    pub(super) reached: Result<NamespacePlan, Failure>,
    /// What there is of the rendered objects.
    pub(super) observed: Observed,
    pub(super) live: BTreeMap<Identity, PackedObject>,
}

impl ApplyWriter<'_> {
    /// Looks at what a first apply is about, which comes along. None where something else has to be
    /// known first.
    pub(super) async fn look_early(&self) -> Option<(Candidate, EarlyLook)> {
        let ApplySource::Module(request) = self.source else {
            return None;
        };
        if request.atomic {
            return None;
        }
        let task = Box::pin(self.source.render(self.run, self.release, None));
        let task = task.await.ok()?;
        let served = self.served.as_ref()?;
        let apply = Apply::candidate(self.run, &task, served, None).ok()?;
        let known = |kind| served.kinds.contains_key(kind);
        let manifests = || apply.candidate.objects.iter().map(|one| &one.manifest);
        if !manifests().all(|one| known(&one.identity().group_kind)) {
            return None;
        }
        let wanted = manifests().map(WantedObject::from).collect();
        let early = Box::pin(apply.look_early(wanted)).await;
        Some((apply.candidate, early))
    }
}

impl Apply<'_> {
    async fn look_early(&self, wanted: Vec<WantedObject>) -> EarlyLook {
        let (run, release) = (self.run, self.release());
        let (namesakes, was_there_before, reached, looks, _, ()) = futures::join!(
            Box::pin(run.namesakes(&release)),
            Box::pin(self.was_there_before()),
            Box::pin(self.reach(false)),
            Box::pin(run.backend.look_in_version(&wanted, Detail::Metadata)),
            Box::pin(run.who()),
            Box::pin(self.ask_rights())
        );
        let (observed, live) = judged(looks, &release.id);
        EarlyLook {
            namesakes,
            was_there_before,
            reached,
            observed,
            live,
        }
    }
}
