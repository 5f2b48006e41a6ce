//! Cancelling one call ends that call, in order, and no other.

use std::time::Duration;

use opm_core::event::{Event, Wait};
use opm_core::identity::{GroupKind, Identity};
use opm_engine::request::DeleteRequest;
use opm_engine::{Action, FailureKind};

use crate::kit::{Held, Lab, Visitor, done};
use crate::locks::recreation;
use crate::modules::{apply, config, deployment, in_order, module, namespace, release};

fn config_map(name: &str) -> Identity {
    Identity::new(GroupKind::new("", "ConfigMap"), Some("games"), name)
}

fn waits_until_ready(event: &Event) -> bool {
    matches!(event, Event::Waiting(Wait::Ready(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_of_several_is_cancelled_and_the_others_finish() {
    let lab = Lab::open();
    let mut others = Vec::new();
    for number in 0..4 {
        let name = format!("other-{number}");
        let (held, second) = recreation(&lab, &name, "games").await;
        let run = lab.apply(second, &Visitor::asked(held.clone()));
        held.asked(1).await;
        others.push((name, held, run));
    }
    // The second component never comes: the first one does not become ready.
    let parts = [
        (
            "first",
            config("left", "1") + &deployment("stuck", "stuck", "pending"),
        ),
        ("second", config("never", "1")),
    ];
    let parts = parts.each_ref().map(|(name, yaml)| (*name, yaml.as_str()));
    let rendered = in_order(module("app", &parts));
    let (visitor, mut events) = Visitor::watching();
    let run = lab.apply(apply(rendered, "games"), &visitor);
    events.until(waits_until_ready).await;
    visitor.cancel.cancel();

    let failure = done(run).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted);
    let pending = failure.report.pending.iter();
    let pending: Vec<&str> = pending.map(|one| one.identity.name.as_str()).collect();
    assert_eq!(pending, ["left", "stuck", "never"], "all that was meant");
    let status = lab.status_of("app", "games").await;
    assert!(status.lock.is_none());
    let exists = status.pending.iter().map(|one| one.exists);
    let exists: Vec<Option<bool>> = exists.collect();
    assert_eq!(exists, [Some(true), Some(true), Some(false)]);
    assert!(status.change_id.is_none(), "nothing was recorded");

    for (name, held, run) in others {
        assert!(!run.is_finished());
        held.let_go();
        done(run).await.unwrap();
        assert!(lab.status_of(&name, "games").await.pending.is_empty());
    }

    let rendered = module("app", &[("first", &config("kept", "1"))]);
    let report = done(lab.apply(apply(rendered, "games"), &Visitor::default()));
    let report = report.await.unwrap();
    let pruned = report.resources.iter();
    let pruned = pruned.filter(|one| one.action == Action::Pruned);
    assert_eq!(pruned.count(), 2, "{report:?}");
    assert!(report.pending.is_empty());
    assert!(lab.object(&config_map("left")).await.is_none());
    assert!(lab.object(&config_map("kept")).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_an_answer_is_cancelled() {
    let lab = Lab::open();
    let (held, second) = recreation(&lab, "app", "games").await;
    let visitor = Visitor::asked(held.clone());
    let run = lab.apply(second, &visitor);
    held.asked(1).await;
    visitor.cancel.cancel();
    let failure = done(run).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted, "{failure}");
    assert!(lab.status_of("app", "games").await.lock.is_none());

    let held = Held::new();
    let visitor = Visitor::asked(held.clone());
    let request = DeleteRequest::new(release("app"), namespace("games"));
    let run = lab.delete(request, &visitor);
    held.asked(1).await;
    visitor.cancel.cancel();
    let failure = done(run).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted, "{failure}");
    lab.delete_release("app", "games").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_beforehand_writes_nothing() {
    let lab = Lab::open();
    let visitor = Visitor::default();
    visitor.cancel.cancel();
    let rendered = module("app", &[("main", &config("a", "1"))]);
    let run = lab.apply(apply(rendered.clone(), "games"), &visitor);
    let failure = done(run).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted, "{failure}");
    let shown = done(lab.diff(apply(rendered, "games"), &visitor)).await;
    assert_eq!(shown.unwrap_err().kind, FailureKind::Interrupted);
    assert!(lab.wire.sent().iter().all(|sent| !sent.writes()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_recorded_and_waits_until_ready_is_cancelled() {
    let lab = Lab::open();
    let rendered = module("app", &[("main", &deployment("web", "web", "pending"))]);
    let mut request = apply(rendered, "games");
    request.options.wait = true;
    let (visitor, mut events) = Visitor::watching();
    let run = lab.apply(request, &visitor);
    events.until(waits_until_ready).await;
    visitor.cancel.cancel();
    let failure = done(run).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted);
    let status = lab.status_of("app", "games").await;
    assert!(status.change_id.is_some(), "it is recorded");
    assert!(status.lock.is_none() && status.pending.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_lock_is_cancelled_and_the_holder_goes_on() {
    let lab = Lab::open();
    let (held, second) = recreation(&lab, "app", "games").await;
    let holder = lab.apply(second.clone(), &Visitor::asked(held.clone()));
    held.asked(1).await;
    let mut patient = second;
    patient.options.lock_timeout = Duration::from_secs(300);
    let (visitor, mut events) = Visitor::watching();
    let run = lab.apply(patient, &visitor);
    let waits = |event: &Event| matches!(event, Event::Waiting(Wait::Lock(_)));
    events.until(waits).await;
    visitor.cancel.cancel();
    let failure = done(run).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted);
    held.let_go();
    done(holder).await.unwrap();
}
