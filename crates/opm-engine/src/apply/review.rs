//! Reviews: what was reviewed is what happens, and whoever can be asked is asked.

use opm_core::check::{ApplyStep, CheckedPlan, StaleDecisions};
use opm_core::event::AnnouncedObject;
use opm_core::failure::Remedy;
use opm_core::record::Record;
use opm_core::review::{PlanBasis, ReviewedPlan};

use super::Apply;
use super::check::{ApplyContext, CheckedApply};
use super::tell::announcement;
use crate::failure::Failure;
use crate::ports::{AnnouncedHook, Answer, Question};

impl Apply<'_> {
    /// The plan, as it can be reviewed and held against later.
    pub(super) fn reviewable<'s>(
        &self,
        applies: impl Iterator<Item = &'s ApplyStep>,
        stale: &StaleDecisions,
        context: &ApplyContext,
        record: &Record,
    ) -> ReviewedPlan {
        let current = record.current().filter(|_| !record.is_deleted());
        let basis = PlanBasis {
            release: self.candidate.owner.id.to_string(),
            change: self.candidate.change.to_string(),
            digest: self.candidate.digest.to_string(),
            current: current.map(|change| change.id.clone()),
            deployment: record.last_run().map(|entry| entry.id.clone()),
        };
        ReviewedPlan::new(basis, &announcement(applies, stale), &context.live)
    }

    /// Refuses what is not what was reviewed.
    pub(super) fn as_reviewed(
        &self,
        checked: &CheckedPlan,
        context: &ApplyContext,
        record: &Record,
    ) -> Result<(), Failure> {
        let Some(reviewed) = &self.request.options.reviewed else {
            return Ok(());
        };
        let now = self.reviewable(checked.applies(), &checked.stale, context, record);
        let moved = reviewed.differences(&now);
        match moved.is_empty() {
            true => Ok(()),
            false => {
                let message = format!(
                    "this is not what was reviewed, and nothing was touched: {}",
                    moved.join("; ")
                );
                let failure = Failure::refused(message).remedy(Remedy::ReviewAgain);
                Err(self.refusal(failure))
            }
        }
    }

    /// Lets somebody look at the plan who has not agreed to this very one, if it is worth it.
    pub(super) async fn review(
        &self,
        checked: &CheckedApply,
        agreed: &mut Option<Vec<AnnouncedObject>>,
    ) -> Result<(), Failure> {
        let (context, checked) = (&checked.context, &checked.checked);
        let options = &self.request.options;
        let objects = announcement(checked.applies(), &checked.stale);
        let asked = options.review.applies_to(&objects, &context.recreate);
        if !asked || options.reviewed.is_some() || agreed.as_ref() == Some(&objects) {
            return Ok(());
        }
        let question = Question::Review {
            release: self.candidate.owner.release.to_string(),
            objects: objects.clone(),
            recreated: context.recreate.iter().cloned().collect(),
            hooks: checked.hooks.iter().map(AnnouncedHook::of).collect(),
        };
        let answer = self.run.confirm(&question).await;
        match answer.map_err(|failure| self.refusal(failure))? {
            // Where nobody can be asked, the checks have had their say.
            Answer::Yes | Answer::CannotAsk => {
                *agreed = Some(objects);
                Ok(())
            }
            Answer::No => Err(self.refusal(Failure::refused("declined: nothing was changed"))),
        }
    }
}
