//! What a rollback cannot bring back: the content of volumes.

use opm_core::check::{ApplyMethod, ApplyStep, StaleDecisions};
use opm_core::identity::Identity;

use crate::failure::{Failure, Remedy};
use crate::ports::{Answer, Question};
use crate::report::{Action, Report};

/// The claims whose content a rollback leaves behind, or begins anew.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct VolumeData {
    leaves: Vec<Identity>,
    fresh: Vec<Identity>,
}

impl VolumeData {
    /// What a plan leaves behind and begins anew.
    pub(crate) fn of_plan<'a>(
        applies: impl Iterator<Item = &'a ApplyStep>,
        stale: &StaleDecisions,
    ) -> Self {
        let kept = stale.keep.iter().map(|keep| &keep.entry.identity);
        let created = applies.filter(|step| step.method == ApplyMethod::Create);
        let created = created.map(|step| &step.entry.identity);
        Self {
            leaves: kept.filter(|one| is_claim(one)).cloned().collect(),
            fresh: created.filter(|one| is_claim(one)).cloned().collect(),
        }
    }

    /// The same of a dry run.
    pub(crate) fn of_report(report: &Report) -> Self {
        let claims = |action: Action| {
            let found = report
                .resources
                .iter()
                .filter(move |one| one.action == action);
            let found = found.map(|one| &one.identity).filter(|one| is_claim(one));
            found.cloned().collect()
        };
        Self {
            leaves: claims(Action::Kept),
            fresh: claims(Action::Created),
        }
    }

    /// What the answer means.
    pub(crate) fn agreed(&self, answer: Answer) -> Result<(), Failure> {
        let refused = |message: &str| {
            let why = self.warnings().join("\n");
            Failure::refused(format!("{message}\n{why}"))
        };
        match answer {
            Answer::Yes => Ok(()),
            Answer::No => Err(refused("declined: nothing was changed")),
            Answer::CannotAsk => {
                let message = "this rollback does not bring data back, and has to be confirmed";
                Err(refused(message).remedy(Remedy::Confirm))
            }
        }
    }

    /// What a person should be asked, if anything.
    pub(crate) fn question(&self) -> Option<Question> {
        match self.leaves.is_empty() && self.fresh.is_empty() {
            true => None,
            false => Some(Question::VolumeData {
                leaves: self.leaves.clone(),
                fresh: self.fresh.clone(),
            }),
        }
    }

    /// The same, where nobody is asked.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let leaves = self.leaves.iter();
        let leaves = leaves.map(|claim| {
            format!(
                "{claim} is not part of that change: it stays, with its data, and nothing uses it"
            )
        });
        let fresh = self.fresh.iter();
        let fresh = fresh.map(|claim| format!("{claim} does not exist any more: it begins empty"));
        leaves.chain(fresh).collect()
    }
}

fn is_claim(identity: &Identity) -> bool {
    identity.group_kind.is("", "PersistentVolumeClaim")
}
