//! Kept objects, objects that are let go of, and locks of the dead.

use std::time::Duration;

use opm_core::identity::{GroupKind, Identity};
use opm_engine::ports::Question;
use opm_engine::request::{
    Concurrency, ForgetRequest, ObjectSelection, PruneRequest, UnlockRequest,
};
use opm_engine::{Action, Actor, FailureKind, Settings};

use crate::kit::{Held, Lab, Visitor, done, settings};
use crate::locks::recreation;
use crate::modules::{apply, claim, config, module, namespace, release};

fn object(kind: &str, name: &str) -> Identity {
    Identity::new(GroupKind::new("", kind), Some("games"), name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_object_goes_when_it_is_named() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let with = module("app", &[("main", &(config("a", "1") + &claim("data")))]);
    let without = module("app", &[("main", &config("a", "1"))]);
    done(lab.apply(apply(with, "games"), &nobody))
        .await
        .unwrap();
    let report = done(lab.apply(apply(without, "games"), &nobody)).await;
    let report = report.unwrap();
    assert_eq!(report.kept.len(), 1, "{report:?}");
    assert!(report.kept[0].is_guarded());

    let request = |objects, dry_run| PruneRequest {
        release: release("app"),
        namespace: namespace("games"),
        objects,
        dry_run,
        lock_timeout: Duration::ZERO,
        concurrency: Concurrency::Fixed(4),
    };
    let named = |name: &str| ObjectSelection::Named(vec![name.parse().unwrap()]);
    let wrong = done(lab.prune(request(named("pvc/other"), false), &nobody)).await;
    assert_eq!(wrong.unwrap_err().kind, FailureKind::NotFound);
    let unasked = done(lab.prune(request(ObjectSelection::All, false), &nobody)).await;
    assert_eq!(unasked.unwrap_err().kind, FailureKind::Refused);
    let named = named("PersistentVolumeClaim/data");
    let rehearsed = done(lab.prune(request(named.clone(), true), &nobody)).await;
    assert!(rehearsed.unwrap().dry_run);
    let report = done(lab.prune(request(named, false), &nobody))
        .await
        .unwrap();
    assert_eq!(report.resources[0].action, Action::Pruned);
    assert!(report.kept.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_object_stays_and_is_nobodys() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let rendered = module("app", &[("main", &(config("a", "1") + &config("b", "1")))]);
    done(lab.apply(apply(rendered, "games"), &nobody))
        .await
        .unwrap();
    let request = ForgetRequest {
        release: release("app"),
        namespace: namespace("games"),
        objects: ObjectSelection::Named(vec!["ConfigMap/b".parse().unwrap()]),
        lock_timeout: Duration::ZERO,
    };
    let report = done(lab.forget(request, &nobody)).await.unwrap();
    assert_eq!(report.resources.len(), 1);
    let left = lab.object(&object("ConfigMap", "b")).await.unwrap();
    assert!(left["metadata"].get("labels").is_none(), "{left:?}");
    lab.delete_release("app", "games").await;
    assert!(lab.object(&object("ConfigMap", "a")).await.is_none());
    assert!(lab.object(&object("ConfigMap", "b")).await.is_some());
}

/// An actor whose machine knows which of its processes are alive.
fn on_one_machine(is_alive: fn(u64) -> bool) -> Settings {
    let actor = Actor {
        boot: Some("this boot".to_owned()),
        pid_namespace: Some("1".to_owned()),
        is_alive,
        ..Actor::named("tester")
    };
    Settings {
        actor,
        ..settings()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_of_a_dead_holder_is_removed_and_of_a_living_one_is_not() {
    let lab = Lab::with(on_one_machine(|_| true));
    let request = UnlockRequest {
        release: release("app"),
        namespace: namespace("games"),
    };
    let (held, second) = recreation(&lab, "app", "games").await;
    let open = done(lab.unlock(request.clone(), &Visitor::agreeing())).await;
    let open = open.unwrap();
    assert_eq!(open.warnings, ["the release is not locked"]);

    let run = lab.apply(second, &Visitor::asked(held.clone()));
    held.asked(1).await;
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled(), "its lock is left");
    let lock = lab.status_of("app", "games").await.lock.unwrap();
    assert_eq!(lock.lock.holder, "tester");

    let alive = done(lab.unlock(request.clone(), &Visitor::agreeing())).await;
    assert_eq!(alive.unwrap_err().kind, FailureKind::Locked);
    let later = lab.beside(on_one_machine(|_| false));
    let refused = done(later.unlock(request.clone(), &Visitor::default())).await;
    assert_eq!(refused.unwrap_err().kind, FailureKind::Refused);
    let asked = Held::new();
    asked.let_go();
    done(later.unlock(request, &Visitor::asked(asked.clone())))
        .await
        .unwrap();
    let questions = asked.asked(1).await;
    assert!(
        matches!(&questions[..], [Question::Unlock { holder }] if holder.starts_with("tester on ")),
        "{questions:?}"
    );
    assert!(lab.status_of("app", "games").await.lock.is_none());
}
