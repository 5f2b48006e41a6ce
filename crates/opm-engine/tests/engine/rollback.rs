//! Going back: a dry run rehearses the very task, and comes to the same end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use opm_core::rendered::Rendered;
use opm_engine::FailureKind;
use opm_engine::ports::{RenderFailure, RenderRequest, Renderer};
use opm_engine::request::{ApplyOptions, RollbackRequest};
use tokio_util::sync::CancellationToken;

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, config, module, namespace, release};

/// For rollbacks that must not need any.
pub(crate) struct NoRenderer;

impl Renderer for NoRenderer {
    fn render<'a>(
        &'a self,
        request: &'a RenderRequest,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Rendered, RenderFailure>> {
        panic!("{request:?} is kept, and is not to be rendered")
    }
}

/// Renders the same, whatever is asked for.
#[derive(Clone)]
struct Renders {
    rendered: Rendered,
    asked: Arc<AtomicUsize>,
}

impl Renderer for Renders {
    fn render<'a>(
        &'a self,
        _: &'a RenderRequest,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Rendered, RenderFailure>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(self.rendered.clone()) })
    }
}

fn version(value: &str) -> Rendered {
    module("app", &[("main", &config("a", value))])
}

/// A release with two changes, of which nothing is kept.
async fn unkept() -> Lab {
    let lab = Lab::open();
    for value in ["1", "2"] {
        let mut request = apply(version(value), "games");
        request.record = false;
        done(lab.apply(request, &Visitor::default())).await.unwrap();
    }
    lab
}

fn back(dry_run: bool) -> RollbackRequest {
    RollbackRequest {
        release: release("app"),
        namespace: namespace("games"),
        revision: None,
        options: ApplyOptions {
            dry_run,
            ..ApplyOptions::default()
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_that_is_another_change_is_refused_in_a_dry_run_as_in_earnest() {
    let lab = unkept().await;
    let renderer = Renders {
        rendered: version("3"),
        asked: Arc::default(),
    };
    let nobody = Visitor::default();
    let sent = lab.wire.sent().len();
    let rehearsed = done(lab.rollback(back(true), renderer.clone(), &nobody)).await;
    let real = done(lab.rollback(back(false), renderer.clone(), &nobody)).await;
    let (rehearsed, real) = (rehearsed.unwrap_err(), real.unwrap_err());
    assert_eq!(rehearsed.kind, FailureKind::Refused);
    assert_eq!(rehearsed.kind, real.kind);
    assert_eq!(rehearsed.message, real.message);
    assert_eq!(rehearsed.remedies, real.remedies);
    let why = "the restored manifests do not match this change";
    assert!(real.message.contains(why), "{real}");
    assert_eq!(renderer.asked.load(Ordering::Relaxed), 2);
    let sent = lab.wire.sent().split_off(sent);
    // That it was refused is in the log of the record; nothing else is written.
    let writes: Vec<_> = sent.iter().filter(|sent| sent.writes()).collect();
    assert_eq!(writes.len(), 1, "{sent:#?}");
    let record = "/secrets/opm.app.";
    assert!(format!("{:?}", writes[0]).contains(record), "{writes:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_that_is_the_same_change_is_gone_back_to() {
    let lab = unkept().await;
    let renderer = Renders {
        rendered: version("1"),
        asked: Arc::default(),
    };
    let nobody = Visitor::default();
    let rehearsed = done(lab.rollback(back(true), renderer.clone(), &nobody)).await;
    let rehearsed = rehearsed.unwrap();
    assert!(rehearsed.dry_run);
    let real = done(lab.rollback(back(false), renderer, &nobody))
        .await
        .unwrap();
    assert_eq!(rehearsed.change_id, real.change_id);
    assert_eq!(rehearsed.resources, real.resources);
}
