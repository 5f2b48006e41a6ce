//! Atomic applies: one that fails leaves the release as it was.

use opm_core::event::{Event, Wait};
use opm_core::health::HealthState;
use opm_core::identity::{GroupKind, Identity};
use opm_engine::FailureKind;
use opm_engine::request::ApplyRequest;

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, config, deployment, module};

fn atomic(value: &str, simulate: &str) -> ApplyRequest {
    let objects = config("a", value) + &deployment("web", "web", simulate);
    ApplyRequest {
        atomic: true,
        ..apply(module("app", &[("main", &objects)]), "games")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_atomic_apply_that_fails_goes_back() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let first = done(lab.apply(atomic("1", ""), &nobody)).await.unwrap();
    let failure = done(lab.apply(atomic("2", "fail"), &nobody)).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Failed);
    let change = first.change_id.unwrap();
    let done = format!("went back to {}", change.as_str());
    assert!(failure.message.contains(&done), "{failure}");
    let status = lab.status_of("app", "games").await;
    assert_eq!(status.health, HealthState::Ready);
    assert_eq!(status.change_id.as_deref(), Some(change.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_atomic_apply_that_fails_leaves_nothing() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let failure = done(lab.apply(atomic("1", "fail"), &nobody)).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Failed);
    assert!(
        failure
            .message
            .contains("everything that it created was removed again"),
        "{failure}"
    );
    let left = Identity::new(GroupKind::new("", "ConfigMap"), Some("games"), "a");
    assert!(lab.object(&left).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_atomic_apply_that_is_cancelled_goes_back() {
    let lab = Lab::open();
    let first = done(lab.apply(atomic("1", ""), &Visitor::default())).await;
    let change = first.unwrap().change_id.unwrap();
    let (visitor, mut events) = Visitor::watching();
    let run = lab.apply(atomic("2", "pending"), &visitor);
    let waits = |event: &Event| matches!(event, Event::Waiting(Wait::Ready(_)));
    events.until(waits).await;
    visitor.cancel.cancel();
    let failure = done(run).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted);
    let status = lab.status_of("app", "games").await;
    assert_eq!(status.health, HealthState::Ready);
    assert_eq!(status.change_id.as_deref(), Some(change.as_str()));
    assert!(status.lock.is_none() && status.pending.is_empty());
}
