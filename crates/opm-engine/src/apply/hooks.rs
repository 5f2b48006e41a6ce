//! The hooks of an apply: before the objects of their component, and once those are ready.

use opm_core::check::{CheckedPhase, CheckedPlan, HookStep};
use opm_core::hook::HookFlow;
use opm_core::plan::Plan;
use opm_core::record::Record;

use super::Apply;
use super::stages::ApplyResults;
use crate::hooks::HookOptions;
use crate::ports::{Backend, Permit};

impl<B: Backend> Apply<'_, B> {
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
