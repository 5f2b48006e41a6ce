//! A wait that cannot end well ends early, with its cause.

use opm_e2e::objects::{config_map, crashing, deployment, failing, job};
use opm_e2e::{Module, World, scenarios};

scenarios! {
    #[real_only("does not apply to the sandbox, whose pods do not crash")]
    a_crash_loop_ends_the_wait_with_its_cause,
    #[real_only("does not apply to the sandbox, whose Jobs do not fail")]
    a_failed_job_ends_the_wait_with_its_cause,
    #[real_only("does not apply to the sandbox, whose pods do not crash")]
    what_puts_an_end_to_crashes_is_not_held_up_by_them,
    a_time_out_says_how_long_what_and_what_to_do,
}

async fn ends_early(w: &World, module: &Module) -> opm_e2e::OpmOutput {
    let ran = w
        .apply(module, &["--wait", "--timeout", "10m"])
        .await
        .ends(8);
    ran.says("waiting does not help")
}

async fn a_crash_loop_ends_the_wait_with_its_cause(w: World) {
    let module =
        Module::new("web").component("app", &[config_map("a", "1"), crashing(deployment("d"))]);
    let ran = ends_early(&w, &module).await;
    let ran = ran
        .says("crashes again and again")
        .says("container ")
        .says("image ");
    ran.says("opm mod rollback");
    let log = w.opm(&["mod", "history", "web", "--log"]).await.ok();
    assert!(log.stdout().contains("not-ready"), "{log}");
}

async fn a_failed_job_ends_the_wait_with_its_cause(w: World) {
    let module = Module::new("web").component("app", &[failing(job("j"))]);
    ends_early(&w, &module).await.says("Job/j");
}

async fn what_puts_an_end_to_crashes_is_not_held_up_by_them(w: World) {
    let broken = Module::new("web").component("app", &[crashing(deployment("d"))]);
    ends_early(&w, &broken).await;
    let mended = Module::new("web").component("app", &[deployment("d")]);
    w.apply(&mended, &["--wait", "--timeout", "5m"]).await.ok();
}

async fn a_time_out_says_how_long_what_and_what_to_do(w: World) {
    let slow = opm_e2e::objects::never_ready(deployment("slow"));
    let module = Module::new("web").component("app", &[slow]);
    let ran = w
        .apply(&module, &["--wait", "--timeout", "1s"])
        .await
        .ends(8);
    let ran = ran
        .says("not ready after 1s: Deployment/slow")
        .says("--timeout");
    ran.says("status --watch");
}
