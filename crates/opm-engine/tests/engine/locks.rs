//! Two runs of one release: one at a time, and who waits is told for whom.

use std::time::Duration;

use opm_core::event::{Event, Wait};
use opm_engine::ports::Question;
use opm_engine::request::ApplyRequest;
use opm_engine::{Action, FailureKind, Remedy};

use crate::kit::{Held, Lab, Visitor, done};
use crate::modules::{apply, config, deployment, module};

/// A release whose next apply has to ask, under the lock, whether its Deployment may be
/// recreated. What comes back is that apply, and a prompt that holds it up.
pub(crate) async fn recreation(lab: &Lab, name: &str, into: &str) -> (Held, ApplyRequest) {
    let with = |label: &str| {
        let workload = deployment(&format!("{name}-web"), label, "");
        let config = config(&format!("{name}-config"), label);
        apply(module(name, &[("main", &(config + &workload))]), into)
    };
    done(lab.apply(with("old"), &Visitor::default()))
        .await
        .unwrap();
    // Else it would ask beforehand.
    lab.wire.pretend_blindly();
    (Held::new(), with("new"))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_want_to_wait_is_told_who_holds_the_lock() {
    let lab = Lab::open();
    let (held, second) = recreation(&lab, "app", "games").await;
    let first = lab.apply(second.clone(), &Visitor::asked(held.clone()));
    let questions = held.asked(1).await;
    assert!(
        matches!(&questions[..], [Question::Recreate { identity, fields }]
            if identity.name == "app-web" && fields == &["spec.selector"]),
        "{questions:?}"
    );

    let locked = done(lab.apply(second.clone(), &Visitor::default())).await;
    let locked = locked.unwrap_err();
    assert_eq!(locked.kind, FailureKind::Locked);
    let begin = "release app in namespace games is locked by tester on unknown (pid ";
    assert!(locked.message.starts_with(begin), "{}", locked.message);
    assert!(locked.remedies.contains(&Remedy::WaitForLock));
    let shown = done(lab.diff(second, &Visitor::default())).await.unwrap();
    let told = |warning: &String| warning.contains("the release is locked by tester");
    assert!(shown.warnings.iter().any(told), "a look needs no lock");

    held.let_go();
    let report = done(first).await.unwrap();
    let recreated = report.resources.iter();
    let mut recreated = recreated.filter(|one| one.action == Action::Recreated);
    assert_eq!(recreated.next().unwrap().identity.name, "app-web");
    assert!(lab.status_of("app", "games").await.lock.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_wants_to_wait_comes_after_the_other() {
    let lab = Lab::open();
    let (held, second) = recreation(&lab, "app", "games").await;
    let first = lab.apply(second.clone(), &Visitor::asked(held.clone()));
    held.asked(1).await;

    let mut patient = second;
    patient.options.lock_timeout = Duration::from_secs(300);
    let (visitor, mut events) = Visitor::watching();
    let other = lab.apply(patient, &visitor);
    let waits = |event: &Event| matches!(event, Event::Waiting(Wait::Lock(_)));
    let Event::Waiting(Wait::Lock(holder)) = events.until(waits).await else {
        unreachable!("it waits for a lock");
    };
    assert!(holder.starts_with("tester on unknown (pid "), "{holder}");
    held.let_go();
    done(first).await.unwrap();
    let report = done(other).await.unwrap();
    let unchanged = |action| action == Action::Unchanged;
    assert!(
        report.resources.iter().all(|one| unchanged(one.action)),
        "the other has done it all: {report:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_applies_that_begin_at_once_none_is_lost_without_being_told() {
    let lab = Lab::open();
    let runs = (0..8).map(|number| {
        let rendered = module("app", &[("main", &config("a", &number.to_string()))]);
        lab.apply(apply(rendered, "games"), &Visitor::default())
    });
    let runs: Vec<_> = runs.collect();
    let mut applied = 0;
    for run in runs {
        match done(run).await {
            Ok(_) => applied += 1,
            Err(failure) => assert!(
                matches!(failure.kind, FailureKind::Locked | FailureKind::LockLost),
                "{failure:?}"
            ),
        }
    }
    assert!(applied >= 1);
    let status = lab.status_of("app", "games").await;
    assert!(status.lock.is_none());
    assert!(status.pending.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_who_waits_gets_a_turn() {
    let lab = Lab::open();
    let runs = (0..8).map(|number| {
        let rendered = module("app", &[("main", &config("a", &number.to_string()))]);
        let mut request = apply(rendered, "games");
        request.options.lock_timeout = Duration::from_secs(300);
        lab.apply(request, &Visitor::default())
    });
    let runs: Vec<_> = runs.collect();
    for run in runs {
        done(run).await.unwrap();
    }
}
