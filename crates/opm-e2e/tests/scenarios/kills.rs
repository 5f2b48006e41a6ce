//! The kill matrix: kill −9 right before and right after every single request of a run, and each
//! time the same module again, the previous one, or a delete. Every point with every recovery in
//! the full run; in the ordinary one a sample, whose seed is printed.

use futures::StreamExt as _;
use opm_e2e::{KillOutcome, Moment, Seed, World, scenarios};

use crate::flows::{Bystanders, Flow, Recovery};

scenarios! {
    killed_first_apply,
    killed_upgrade_with_rename,
    killed_apply_after_two_failed_ones,
    killed_upgrade_with_hooks,
    killed_delete_with_hooks,
    killed_rollback_with_hooks,
    killed_tests,
    killed_delete,
    killed_adoption_with_moved_fields,
    killed_delete_of_a_controller_and_its_objects,
    killed_upgrade_of_a_record_that_does_not_fit,
    killed_delete_of_a_record_that_does_not_fit,
}

/// How many points are tried when not all of them are.
const SAMPLE: usize = 3;

/// How many runs go on at the same time, each on a release of its own.
const AT_ONCE: usize = 3;

async fn killed_first_apply(w: World) {
    kill_everywhere(w, Flow::FirstApply).await;
}

async fn killed_upgrade_with_rename(w: World) {
    kill_everywhere(w, Flow::Upgrade).await;
}

async fn killed_upgrade_with_hooks(w: World) {
    if let Some(w) = w.with_helm() {
        kill_everywhere(w, Flow::UpgradeWithHooks).await;
    }
}

async fn killed_delete_with_hooks(w: World) {
    if let Some(w) = w.with_helm() {
        kill_everywhere(w, Flow::DeleteWithHooks).await;
    }
}

async fn killed_rollback_with_hooks(w: World) {
    if let Some(w) = w.with_helm() {
        kill_everywhere(w, Flow::RollbackWithHooks).await;
    }
}

async fn killed_tests(w: World) {
    if let Some(w) = w.with_helm() {
        kill_everywhere(w, Flow::TestHooks).await;
    }
}

async fn killed_apply_after_two_failed_ones(w: World) {
    kill_everywhere(w, Flow::AfterTwoFailures).await;
}

async fn killed_delete(w: World) {
    kill_everywhere(w, Flow::Delete).await;
}

async fn killed_adoption_with_moved_fields(w: World) {
    kill_everywhere(w, Flow::Adopt).await;
}

async fn killed_delete_of_a_controller_and_its_objects(w: World) {
    kill_everywhere(w, Flow::DeleteOperator).await;
}

async fn killed_upgrade_of_a_record_that_does_not_fit(w: World) {
    kill_everywhere(
        w.with_env("OPM_RECORD_LIMIT", "1000"),
        Flow::AfterTwoFailures,
    )
    .await;
}

async fn killed_delete_of_a_record_that_does_not_fit(w: World) {
    kill_everywhere(w.with_env("OPM_RECORD_LIMIT", "1000"), Flow::Delete).await;
}

/// Where a run is killed, and what happens next.
#[derive(Debug, Clone, Copy)]
struct Case {
    nth: usize,
    moment: Moment,
    recovery: Recovery,
}

/// Every point of a run of so many requests, with every recovery.
fn cases(requests: usize) -> Vec<Case> {
    let points = (1..=requests).flat_map(|nth| [(nth, Moment::Before), (nth, Moment::After)]);
    let with_all = |(nth, moment)| {
        Recovery::ALL.map(|recovery| Case {
            nth,
            moment,
            recovery,
        })
    };
    points.flat_map(with_all).collect()
}

async fn kill_everywhere(w: World, flow: Flow) {
    let bystanders = Bystanders::put(&w).await;
    flow.prepare(&w, "probe").await;
    let probe = flow.command(&w, "probe");
    let probe: Vec<&str> = probe.iter().map(String::as_str).collect();
    let requests = w.requests_of(&probe).await;
    let all = cases(requests);
    let chosen = match opm_e2e::full() {
        true => all,
        false => Seed::of_this_run(flow.word()).some_of(all, SAMPLE),
    };
    let tried = chosen.len();
    let runs = chosen.into_iter().enumerate();
    let runs = futures::stream::iter(runs.map(|(index, case)| kill(&w, flow, index, case)));
    let _: Vec<()> = runs.buffer_unordered(AT_ONCE).collect().await;
    bystanders.are_untouched(&w).await;
    opm_e2e::note(&format!(
        "{flow:?}: {requests} requests, {tried} kills, nothing lost"
    ));
}

/// Kills a run at this point. One that waits sends now more and now fewer requests: if it has ended
/// before it comes to the point, another one is killed half as far on the way.
async fn kill(w: &World, flow: Flow, index: usize, mut case: Case) {
    loop {
        let release = format!("{}{index}-{}", flow.word(), case.nth);
        flow.prepare(w, &release).await;
        let command = flow.command(w, &release);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let ran = w.killed_at(case.nth, case.moment, &command).await;
        assert_ne!(ran, KillOutcome::Failed, "{flow:?}, {case:?}");
        opm_e2e::trying(&format!("{release}: {case:?}"));
        case.recovery.run(flow, w, &release).await;
        if ran == KillOutcome::Killed {
            return;
        }
        case.nth /= 2;
        assert!(case.nth > 0, "a run without a request: {flow:?}, {case:?}");
    }
}
