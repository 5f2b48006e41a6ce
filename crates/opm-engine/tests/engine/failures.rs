//! A failure keeps what caused it, typed.

use std::error::Error as _;

use opm_core::check::{RefusalReason, Refusals};
use opm_engine::ports::{ApiError, ApiErrorKind};
use opm_engine::request::{ApplyRequest, StatusRequest};
use opm_engine::{FailureKind, Remedy};

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, config, module, namespace, release};
use crate::wire::CLOSED;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_not_permitted_keeps_the_answer_of_the_server() {
    let lab = Lab::open();
    let request = StatusRequest {
        release: release("app"),
        namespace: namespace(CLOSED),
        scan: false,
    };
    let failure = done(lab.status(request, &Visitor::default())).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotPermitted, "{failure:?}");
    let cause: &ApiError = failure.source().unwrap().downcast_ref().unwrap();
    assert_eq!(cause.kind, ApiErrorKind::Forbidden);
    assert_eq!(cause.status, Some(403));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_does_not_exist_can_be_created() {
    let lab = Lab::open();
    let request = ApplyRequest {
        create_namespace: false,
        ..apply(module("app", &[("main", &config("a", "1"))]), "nowhere")
    };
    let failure = done(lab.apply(request, &Visitor::default())).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Refused, "{failure:?}");
    let create = Remedy::CreateNamespace("nowhere".to_owned());
    assert_eq!(failure.remedies, [create], "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_run_keeps_why_nothing_was_sent() {
    let lab = Lab::open();
    let visitor = Visitor::default();
    visitor.cancel.cancel();
    let rendered = module("app", &[("main", &config("a", "1"))]);
    let failure = done(lab.apply(apply(rendered, "default"), &visitor)).await;
    let failure = failure.unwrap_err();
    let cause = failure.source().unwrap();
    let cause = cause.downcast_ref::<ApiError>().unwrap();
    assert!(matches!(cause.kind, ApiErrorKind::Stopped(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_that_refuse_are_all_there() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let objects = config("a", "1") + &config("b", "1");
    let one = module("one", &[("main", &objects)]);
    done(lab.apply(apply(one, "games"), &nobody)).await.unwrap();
    let two = module("two", &[("main", &objects)]);
    let failure = done(lab.apply(apply(two, "games"), &nobody)).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert_eq!(failure.remedies, [Remedy::TakeOwnership]);
    assert_eq!(failure.objects.len(), 2);
    let Refusals(refusals) = failure.source().unwrap().downcast_ref().unwrap();
    let owned = |reason: &RefusalReason| matches!(reason, RefusalReason::OtherRelease(_));
    assert!(refusals.iter().all(|refusal| owned(&refusal.why)));
    assert_eq!(refusals.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_exist_is_not_found() {
    let lab = Lab::open();
    let request = StatusRequest {
        release: release("app"),
        namespace: namespace("default"),
        scan: false,
    };
    let failure = done(lab.status(request, &Visitor::default())).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotFound);
    assert_eq!(failure.kind.exit_code(), 5);
}
