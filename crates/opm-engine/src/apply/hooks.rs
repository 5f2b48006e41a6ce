//! The hooks of an apply: before the objects of their component, and once those are ready.

use opm_core::check::{
    ApplyStep, CheckedPhase, CheckedPlan, HookMethod, HookStep, Refusal, RefusalReason,
    TrialFinding,
};
use opm_core::hook::HookFlow;
use opm_core::identity::Identity;
use opm_core::plan::Plan;
use opm_core::record::Record;

use super::Apply;
use super::check::ApplyContext;
use super::stages::ApplyResults;
use crate::failure::Failure;
use crate::hooks::HookOptions;
use crate::ports::Permit;

impl Apply<'_> {
    /// What this apply is to charts; none if no hook runs.
    pub(super) fn hook_flow(&self, record: &Record) -> Option<HookFlow> {
        if !self.request.options.hooks {
            return None;
        }
        let current = record.current().filter(|_| !record.is_deleted());
        let current = current.map(|change| change.id.as_str());
        let change = self.candidate.change.as_str();
        HookFlow::of_apply(current, change, self.mode.reapply.is_some())
    }

    /// In a dry run, which hooks would run.
    pub(super) fn hooks_to_come(&self, plan: &Plan) -> Option<String> {
        if !self.request.options.dry_run || plan.hooks.is_empty() {
            return None;
        }
        let hooks = plan.hooks.iter();
        let hooks = hooks.map(|hook| format!("{} ({})", hook.entry.identity, hook.event));
        let hooks: Vec<String> = hooks.collect();
        Some(format!("hooks would run: {}", hooks.join(", ")))
    }

    /// In a preflight, lets the server pretend to make the hooks, and says which it would not
    /// take. What an earlier run left goes first, so nobody can pretend in its place.
    pub(super) async fn try_out_hooks(
        &self,
        hooks: &[HookStep],
        applies: &[ApplyStep],
        context: &mut ApplyContext,
    ) -> Result<Vec<Refusal>, Failure> {
        if !self.is_preflight() {
            return Ok(Vec::new());
        }
        let mut created = self.created(applies, context);
        created.extend(hooks.iter().map(|step| step.entry.identity.clone()));
        let brought = self.brought(&created, context);
        let mut tried: Vec<&Identity> = Vec::new();
        let mut refusals = Vec::new();
        let mut warnings = Vec::new();
        for step in hooks {
            let identity = &step.entry.identity;
            let replaced = matches!(step.method, HookMethod::Replace(_));
            if replaced || brought.holds(identity) || tried.contains(&identity) {
                continue;
            }
            tried.push(identity);
            let Some(hook) = self.candidate.hook_at(identity, step.event) else {
                continue;
            };
            let pretended = self.run.pretend_hook(step, hook).await;
            let Err(error) = pretended else { continue };
            let object = hook.object.manifest.object();
            match TrialFinding::of(&error, &object, &created) {
                TrialFinding::Unanswered => {
                    let what = "cannot check the hooks beforehand";
                    return Err(Failure::before_writing(what, &error));
                }
                TrialFinding::WouldFail { cause, forbidden } => refusals.push(Refusal {
                    object: Some(identity.clone()),
                    why: RefusalReason::WouldFail { cause, forbidden },
                }),
                _ => warnings.push(format!(
                    "the {} hook {identity} could not be tried beforehand: {error}",
                    step.event
                )),
            }
        }
        context.warnings.extend(warnings);
        Ok(refusals)
    }

    pub(super) async fn hooks_before(
        &self,
        checked: &CheckedPlan,
        phase: &CheckedPhase,
        permit: Permit<'_>,
        all: &mut ApplyResults,
    ) {
        let steps = hooks_of(checked, phase).filter(|step| step.event.is_before());
        self.run_hooks(steps.collect(), permit, all).await;
    }

    /// The objects of the phase are ready, unless something is broken.
    pub(super) async fn hooks_after(
        &self,
        checked: &CheckedPlan,
        phase: &CheckedPhase,
        permit: Permit<'_>,
        all: &mut ApplyResults,
    ) {
        let steps = hooks_of(checked, phase).filter(|step| !step.event.is_before());
        self.run_hooks(steps.collect(), permit, all).await;
    }

    /// Components that are nothing but hooks come when all others are done.
    pub(super) async fn hooks_without_objects(
        &self,
        checked: &CheckedPlan,
        permit: Permit<'_>,
        all: &mut ApplyResults,
    ) {
        let has_objects = |component: &String| {
            let mut phases = checked.phases.iter();
            phases.any(|phase| phase.components.contains(component))
        };
        let steps = checked.hooks.iter();
        let steps = steps.filter(|step| !has_objects(&step.entry.component));
        self.run_hooks(steps.collect(), permit, all).await;
    }

    async fn run_hooks(&self, steps: Vec<&HookStep>, permit: Permit<'_>, all: &mut ApplyResults) {
        if all.is_broken() {
            return all.hooks.skip(steps);
        }
        let options = HookOptions {
            release: &self.candidate.owner.id,
            hooks: &self.candidate.hooks,
            timeout: self.request.options.timeout,
            removed: false,
            permit,
        };
        self.run.run_hooks(&steps, options, &mut all.hooks).await;
    }
}

fn hooks_of<'a>(
    checked: &'a CheckedPlan,
    phase: &'a CheckedPhase,
) -> impl Iterator<Item = &'a HookStep> {
    let steps = checked.hooks.iter();
    steps.filter(|step| phase.components.contains(&step.entry.component))
}

/// Whether hooks wait for the objects of a phase.
pub(super) fn has_hooks_after(checked: &CheckedPlan, phase: &CheckedPhase) -> bool {
    hooks_of(checked, phase).any(|step| !step.event.is_before())
}
