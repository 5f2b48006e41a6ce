//! The use cases that no other test here needs, each in a task of its own as well.

use std::collections::BTreeMap;
use std::time::Duration;

use opm_core::identity::{GroupKind, Identity};
use opm_engine::FailureKind;
use opm_engine::list::{ListObserver, Listing, Overviews};
use opm_engine::request::{
    ApplyOptions, ListRequest, LogRequest, ObjectRequest, RollbackRequest, StatusRequest,
    TestRequest,
};
use opm_engine::status::{ContainerLog, LogObserver};
use tokio_util::sync::CancellationToken;

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, module, namespace, release, workload};
use crate::rollback::NoRenderer;

/// Runs a use case in a task of its own, for a caller who cancels with this token.
macro_rules! in_a_task {
    ($lab:ident, $cancel:expr, |$engine:ident, $caller:ident| $work:expr) => {{
        let $engine = $lab.engine.clone();
        let mut visitor = Visitor::default();
        visitor.cancel = $cancel;
        let task = tokio::spawn(async move {
            let $caller = visitor.caller();
            $work.await
        });
        done(task).await
    }};
    ($lab:ident, |$engine:ident, $caller:ident| $work:expr) => {
        in_a_task!($lab, CancellationToken::new(), |$engine, $caller| $work)
    };
}

/// One release with a Deployment, ready.
async fn lab_with_web() -> Lab {
    let lab = Lab::open();
    let mut request = apply(module("app", &[("main", &workload("web"))]), "games");
    request.options.wait = true;
    done(lab.apply(request, &Visitor::default())).await.unwrap();
    lab
}

fn web() -> Identity {
    Identity::new(GroupKind::new("apps", "Deployment"), Some("games"), "web")
}

fn status() -> StatusRequest {
    StatusRequest {
        release: release("app"),
        namespace: namespace("games"),
        scan: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_below_a_release_is_read() {
    let lab = lab_with_web().await;
    let tree = in_a_task!(lab, |engine, caller| engine.tree(&status(), &caller)).unwrap();
    assert_eq!(tree.components.len(), 1, "{tree:?}");
    let events = in_a_task!(lab, |engine, caller| engine.events(&status(), 10, &caller)).unwrap();
    assert_eq!(events.release, tree.release);
    let names = in_a_task!(lab, |engine, caller| engine.namespaces(&caller)).unwrap();
    assert!(names.contains(&"games".to_owned()), "{names:?}");
    let unready = in_a_task!(lab, |engine, caller| engine.unready(&[web()], &caller)).unwrap();
    assert_eq!(unready, BTreeMap::new());
    let request = ObjectRequest {
        release: release("app"),
        namespace: namespace("games"),
        object: web(),
        events: 10,
        tail: 10,
    };
    let object = in_a_task!(lab, |engine, caller| engine.object(&request, &caller)).unwrap();
    assert!(object.status.is_some(), "{object:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_end_is_watched_until_the_caller_cancels() {
    let lab = lab_with_web().await;
    let cancel = CancellationToken::new();
    let mut told = CancelsWhenTold(cancel.clone());
    let ended = in_a_task!(lab, cancel, |engine, caller| async {
        let mut observer = |version: Option<&str>| version.iter().for_each(|_| told.0.cancel());
        engine.watch_object(&web(), &mut observer, &caller).await
    });
    assert_eq!(ended.unwrap_err().kind, FailureKind::Interrupted);

    let cancel = CancellationToken::new();
    told = CancelsWhenTold(cancel.clone());
    let request = ListRequest {
        namespace: None,
        home: namespace("games"),
        health: false,
        deleted: false,
    };
    let ended = in_a_task!(lab, cancel, |engine, caller| {
        engine.watch_list(&request, &mut told, &caller)
    });
    assert_eq!(ended.unwrap_err().kind, FailureKind::Interrupted);
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_read_and_followed() {
    let lab = lab_with_web().await;
    let request = LogRequest {
        release: release("app"),
        namespace: namespace("games"),
        component: None,
        tail: 10,
        previous: false,
    };
    // The sandbox runs no containers, and says so of each.
    let asked = request.clone();
    let logs = in_a_task!(lab, |engine, caller| engine.logs(&asked, &caller)).unwrap();
    let cancel = CancellationToken::new();
    let mut told = CancelsWhenTold(cancel.clone());
    if logs.logs.is_empty() {
        cancel.cancel();
    }
    let followed = in_a_task!(lab, cancel, |engine, caller| {
        engine.follow_logs(&request, &mut told, &caller)
    });
    let ended = followed
        .map(|logs| logs.release)
        .map_err(|failure| failure.kind);
    assert!(
        matches!(ended, Ok(_) | Err(FailureKind::Interrupted)),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rollback_would_do_and_what_cannot_be_tested_is_told() {
    let lab = lab_with_web().await;
    let request = RollbackRequest {
        release: release("app"),
        namespace: namespace("games"),
        revision: Some("~0".to_owned()),
        options: ApplyOptions::default(),
    };
    let diff = in_a_task!(lab, |engine, caller| {
        engine.diff_rollback(&request, &NoRenderer, &caller)
    });
    assert!(!diff.unwrap().differs());
    let request = TestRequest {
        release: release("app"),
        namespace: namespace("games"),
        timeout: Duration::from_secs(60),
        lock_timeout: Duration::ZERO,
    };
    let tested = in_a_task!(lab, |engine, caller| engine.test(&request, &caller));
    assert_eq!(tested.unwrap_err().kind, FailureKind::NotFound);
    let managed = lab.status_of("app", "games").await.release;
    let left = in_a_task!(lab, |engine, caller| engine
        .end_management(&managed, &caller));
    assert_eq!(left.unwrap().resources.len(), 0);
}

struct CancelsWhenTold(CancellationToken);

impl ListObserver for CancelsWhenTold {
    fn releases(&mut self, listing: &Listing, _: &Overviews) {
        assert_eq!(listing.releases.len(), 1);
        self.0.cancel();
    }
}

impl LogObserver for CancelsWhenTold {
    fn wrote(&mut self, _: &ContainerLog) {
        self.0.cancel();
    }
}
