//! What can be done from the page, where that is allowed: each with its plan first, and the name
//! of the release typed to confirm it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use maud::Markup;
use opm_core::rendered::Rendered;
use opm_engine::ports::{Caller, Frontend, RenderFailure, RenderRequest, Renderer};
use opm_engine::request::{
    ApplyOptions, ApplyRequest, Concurrency, DeleteRequest, ObjectSelection, PruneRequest,
    RollbackRequest, UnlockRequest,
};
use opm_engine::{Failure, FailureKind, Report};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::Page;
use crate::routes::{ChangeQuery, Named, PartQuery, Shared};
use crate::runs::{Agreed, PageRun};
use crate::views::{self, LiveView, confirm};

/// More than any form here has.
const LARGEST_FORM: usize = 64 << 10;

/// What is done, by those who may.
pub(crate) fn routes() -> Router<Arc<Page>> {
    let router = Router::new()
        .route("/plan", get(crate::routes::plan).post(apply))
        .route("/runs/{id}", get(run))
        .route("/live/runs/{id}", get(live_run));
    let all = [Doing::GoBack, Doing::Delete, Doing::Prune, Doing::Unlock];
    let router = all.into_iter().fold(router, |router, doing| {
        let look = move |page, named, query, part| look(page, named, query, part, doing);
        let act = move |page, named, form| act(page, named, form, doing);
        router.route(&doing.route(), get(look).post(act))
    });
    router.layer(DefaultBodyLimit::max(LARGEST_FORM))
}

/// What only shows what would be done.
pub(crate) fn rehearsals() -> Router<Arc<Page>> {
    let look = |page, named, query, part| look(page, named, query, part, Doing::GoBack);
    Router::new()
        .route("/plan", get(crate::routes::plan))
        .route(&Doing::GoBack.route(), get(look))
}

/// What can be done to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    GoBack,
    Delete,
    /// Delete what was kept.
    Prune,
    Unlock,
}

impl Doing {
    fn place(self) -> &'static str {
        match self {
            Self::GoBack => "rollback",
            Self::Delete => "delete",
            Self::Prune => "prune",
            Self::Unlock => "unlock",
        }
    }

    /// Where it is, for any release.
    fn route(self) -> String {
        format!("/releases/{{namespace}}/{{name}}/{}", self.place())
    }

    fn title(self) -> &'static str {
        match self {
            Self::GoBack => "Going back",
            Self::Delete => "Deleting the release",
            Self::Prune => "Deleting what was kept",
            Self::Unlock => "Removing the lock",
        }
    }

    fn button(self) -> &'static str {
        match self {
            Self::GoBack => "Go back",
            Self::Delete => "Delete the release",
            Self::Prune => "Delete what was kept",
            Self::Unlock => "Remove the lock",
        }
    }

    /// Does it, or rehearses it. A lock is removed, or not: there is nothing to rehearse.
    async fn carry_out(
        self,
        page: &Page,
        target: &Target,
        dry_run: bool,
        caller: &Caller<'_>,
    ) -> Result<Report, Failure> {
        let (release, namespace) = target.named.parse()?;
        match self {
            Self::GoBack => {
                let request = target.rollback(dry_run)?;
                page.engine.rollback(&request, &NoRenderer, caller).await
            }
            Self::Delete => {
                let request = DeleteRequest {
                    dry_run,
                    ..DeleteRequest::new(release, namespace)
                };
                page.engine.delete(&request, caller).await
            }
            Self::Prune => {
                let request = PruneRequest {
                    release,
                    namespace,
                    objects: ObjectSelection::All,
                    dry_run,
                    lock_timeout: Duration::ZERO,
                    concurrency: Concurrency::default(),
                };
                page.engine.prune(&request, caller).await
            }
            Self::Unlock => {
                let request = UnlockRequest { release, namespace };
                page.engine.unlock(&request, caller).await
            }
        }
    }
}

/// A page has no module at hand: one goes back to what is kept.
struct NoRenderer;

impl Renderer for NoRenderer {
    fn render<'a>(
        &'a self,
        request: &'a RenderRequest,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Rendered, RenderFailure>> {
        let message = format!("{} cannot be rendered here", request.module.path);
        let hints = Vec::new();
        Box::pin(async move { Err(RenderFailure { message, hints }) })
    }
}

/// What it is done to.
struct Target {
    named: Named,
    /// The change to go back to; empty means the one before.
    what: String,
}

impl Target {
    fn rollback(&self, dry_run: bool) -> Result<RollbackRequest, Failure> {
        let (release, namespace) = self.named.parse()?;
        Ok(RollbackRequest {
            release,
            namespace,
            revision: Some(self.what.clone()).filter(|to| !to.is_empty()),
            options: ApplyOptions {
                dry_run,
                ..ApplyOptions::default()
            },
        })
    }
}

/// What a form says.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Confirmation {
    /// The page's own.
    token: String,
    /// What was typed.
    confirm: String,
    /// The change to go back to, or the plan to carry out.
    what: String,
}

impl Confirmation {
    /// Whether this page made the form, and the name that was typed is the right one.
    fn check(&self, page: &Page, name: &str) -> Result<(), Failure> {
        let refused = |message: String| Failure::new(FailureKind::Refused, message);
        if !page.form_token.is(&self.token) {
            return Err(refused("this form is not of this page".to_owned()));
        }
        match self.confirm == name {
            true => Ok(()),
            false => Err(refused(format!(
                "nothing was done: to confirm it, type the name of the release, {name}"
            ))),
        }
    }
}

/// What a run from the page does.
enum Work {
    ToRelease(Doing, Target),
    Apply(Box<ApplyRequest>),
}

impl Page {
    /// Begins a run, and leads to where it is told. It goes on whoever looks.
    fn begin(self: &Arc<Self>, title: String, address: String, work: Work) -> Response {
        let told = self.runs.begin(title, address);
        let place = format!("/runs/{}", told.id);
        let page = Arc::clone(self);
        self.tasks.spawn(async move {
            let caller = Caller {
                frontend: Frontend {
                    events: &*told,
                    prompt: &Agreed,
                },
                cancel: page.cancel.child_token(),
                ..Caller::default()
            };
            let end = match &work {
                Work::ToRelease(doing, target) => {
                    doing.carry_out(&page, target, false, &caller).await
                }
                Work::Apply(request) => page.engine.apply(request, &caller).await,
            };
            told.end(end);
        });
        Redirect::to(&place).into_response()
    }

    fn refuse(&self, failure: Failure) -> Response {
        self.answer("Refused", Err(failure))
    }

    /// What would be done, and the form that does it.
    async fn rehearse(
        &self,
        doing: Doing,
        target: &Target,
        page: usize,
    ) -> Result<Markup, Failure> {
        let named = &target.named;
        let address = format!("{}/{}", named.address(), doing.place());
        let form = |what| confirm::Form {
            address: &address,
            release: &named.name,
            token: self.form_token.secret(),
            what,
            button: doing.button(),
        };
        let caller = self.caller();
        if doing == Doing::GoBack {
            let request = target.rollback(true)?;
            let report = self.engine.diff_rollback(&request, &NoRenderer, &caller);
            let report = report.await?;
            let failure = report.would_fail.as_ref();
            let remedies = failure.map(|failure| failure.remedies.as_slice());
            let hints = (self.settings.hints)(remedies.unwrap_or(&report.remedies));
            // What is confirmed is the change that was shown.
            let form = form(report.change_id.as_str());
            let form = Some(&form).filter(|_| self.settings.allow_changes && failure.is_none());
            let address = named.address();
            return Ok(views::rollback::view(&report, &hints, &address, form, page));
        }
        if doing == Doing::Unlock {
            let status = self.engine.status(&named.status()?, &caller).await?;
            return Ok(confirm::lock(&status, &form("")));
        }
        let report = doing.carry_out(self, target, true, &caller).await?;
        Ok(confirm::view(doing.title(), &report, &form("")))
    }
}

async fn look(
    State(page): Shared,
    Path(named): Path<Named>,
    Query(query): Query<ChangeQuery>,
    Query(part): Query<PartQuery>,
    doing: Doing,
) -> Response {
    let title = format!("{}: {}", doing.title(), named.title());
    let what = query.to;
    let view = page
        .rehearse(doing, &Target { named, what }, part.page)
        .await;
    page.answer(&title, view.map(|content| (content, None)))
}

async fn act(
    State(page): Shared,
    Path(named): Path<Named>,
    Form(form): Form<Confirmation>,
    doing: Doing,
) -> Response {
    if let Err(failure) = form.check(&page, &named.name) {
        return page.refuse(failure);
    }
    let title = format!("{}: {}", doing.title(), named.title());
    let (address, what) = (named.address(), form.what);
    let work = Work::ToRelease(doing, Target { named, what });
    page.begin(title, address, work)
}

/// Applies the plan that was shown: if anything moved since, it is refused.
async fn apply(State(page): Shared, Form(form): Form<Confirmation>) -> Response {
    let Some(source) = page.settings.plan.clone() else {
        return (StatusCode::NOT_FOUND, "there is no such page\n").into_response();
    };
    let shown = page.shown_plan(&form.what);
    let planned = async {
        let request = source.request().await?;
        form.check(&page, request.name.as_str())?;
        let gone = "the plan that was shown is no longer known: look at it again";
        let plan = shown.ok_or_else(|| Failure::new(FailureKind::Refused, gone))?;
        Ok((request, plan))
    };
    let (mut request, plan) = match planned.await {
        Ok(planned) => planned,
        Err(failure) => return page.refuse(failure),
    };
    request.options.reviewed = Some(plan);
    let (namespace, name) = (request.namespace.to_string(), request.name.to_string());
    let title = format!("Applying {name} in {namespace}");
    let address = views::release_address(&namespace, &name);
    page.begin(title, address, Work::Apply(Box::new(request)))
}

async fn run(State(page): Shared, Path(id): Path<u64>) -> Response {
    let found = page.runs.find(id);
    let found = found.ok_or_else(|| {
        let message = "this run is no longer known: the history of its release has it";
        Failure::new(FailureKind::NotFound, message)
    });
    let view = found.map(|run: Arc<PageRun>| {
        let live = LiveView {
            address: format!("/live/runs/{id}"),
            digest: run.digest(),
        };
        let told = run.told();
        let hints = match &told.end {
            Some(Err(failure)) => (page.settings.hints)(&failure.remedies),
            Some(Ok(report)) => (page.settings.hints)(&report.remedies),
            None => Vec::new(),
        };
        (views::run::view(&run, &told, &hints), Some(live))
    });
    page.answer("Run", view)
}

async fn live_run(State(page): Shared, Path(id): Path<u64>) -> Response {
    match page.runs.find(id) {
        Some(run) => crate::live::follow(run.watched(), page.cancel.clone()).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such run\n").into_response(),
    }
}
