//! What can be done from the page, where that is allowed: each with its plan first, and the name
//! of the release typed to confirm it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Form, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Router, extract::Query};
use opm_engine::ports::{Backend, Caller, Frontend};
use opm_engine::request::{
    ApplyOptions, Concurrency, DeleteRequest, ObjectSelection, PruneRequest, RollbackRequest,
    UnlockRequest,
};
use opm_engine::{Engine, Failure, FailureKind, Report};
use serde::Deserialize;

use crate::Page;
use crate::routes::{ChangeQuery, Named, NoRenderer, Shared};
use crate::runs::{Agreed, PageRun};
use crate::views::{self, LiveView, confirm};

/// More than any form here has.
const LARGEST_FORM: usize = 64 << 10;

/// What is done, by those who may.
pub(crate) fn routes<B: Backend + Send + Sync + 'static>() -> Router<Arc<Page<B>>> {
    let below = |place: &str| format!("/releases/{{namespace}}/{{name}}/{place}");
    Router::new()
        .route(&below("rollback"), get(look_back::<B>).post(go_back::<B>))
        .route(&below("delete"), get(look_at_delete::<B>).post(delete::<B>))
        .route(&below("prune"), get(look_at_prune::<B>).post(prune::<B>))
        .route(&below("unlock"), get(look_at_lock::<B>).post(unlock::<B>))
        .route("/plan", get(crate::routes::plan::<B>).post(apply::<B>))
        .route("/runs/{id}", get(run::<B>))
        .route("/live/runs/{id}", get(live_run::<B>))
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
}

/// What a form says.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Confirmation {
    /// The page's own.
    token: String,
    /// What was typed.
    confirm: String,
    /// The change to go back to, or the plan to carry out.
    what: String,
}

impl Confirmation {
    /// Whether this page made the form, and the name that was typed is the right one.
    fn check<B>(&self, page: &Page<B>, name: &str) -> Result<(), Failure> {
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
type Work<B> = Box<
    dyn for<'a> FnOnce(
            &'a Engine<B>,
            &'a Caller<'a>,
        ) -> futures::future::BoxFuture<'a, Result<Report, Failure>>
        + Send,
>;

impl<B: Backend + Send + Sync + 'static> Page<B> {
    /// Begins a run, and leads to where it is told. It goes on whoever looks.
    fn begin(self: &Arc<Self>, title: String, address: String, work: Work<B>) -> Response {
        let run = self.runs.begin(title, address);
        let place = format!("/runs/{}", run.id);
        let (page, told) = (Arc::clone(self), run);
        self.tasks.spawn(async move {
            let caller = Caller {
                frontend: Frontend {
                    events: &*told,
                    prompt: &Agreed,
                },
                cancel: page.cancel.child_token(),
                act_as: None,
                manager: None,
            };
            let end = work(&page.engine, &caller).await;
            told.end(end);
        });
        Redirect::to(&place).into_response()
    }

    fn refuse(&self, failure: Failure) -> Response {
        self.answer("Refused", Err(failure))
    }
}

impl Named {
    fn rollback(&self, to: &str, dry_run: bool) -> Result<RollbackRequest, Failure> {
        let (release, namespace) = self.parse()?;
        Ok(RollbackRequest {
            release,
            namespace,
            revision: Some(to.to_owned()).filter(|to| !to.is_empty()),
            options: ApplyOptions {
                dry_run,
                ..ApplyOptions::default()
            },
        })
    }

    fn delete(&self, dry_run: bool) -> Result<DeleteRequest, Failure> {
        let (release, namespace) = self.parse()?;
        Ok(DeleteRequest {
            dry_run,
            ..DeleteRequest::new(release, namespace)
        })
    }

    fn prune(&self, dry_run: bool) -> Result<PruneRequest, Failure> {
        let (release, namespace) = self.parse()?;
        Ok(PruneRequest {
            release,
            namespace,
            objects: ObjectSelection::All,
            dry_run,
            lock_timeout: Duration::ZERO,
            concurrency: Concurrency::default(),
        })
    }
}

async fn look_back<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
    Query(query): Query<ChangeQuery>,
) -> Response {
    let view = async {
        let request = named.rollback(&query.to, true)?;
        let caller = page.caller();
        let rehearsed = page.engine.rollback(&request, &NoRenderer, &caller);
        let report = rehearsed.await?;
        let change = report.change_id.as_ref().map(|id| id.to_string());
        let form = confirm::Form {
            address: &format!("{}/rollback", named.address()),
            release: &named.name,
            token: page.form_token.secret(),
            what: change.as_deref().unwrap_or(&query.to),
            button: "Go back",
        };
        let content = views::rollback::view(&report, &named.address(), Some(&form));
        Ok((content, None))
    };
    page.answer(&format!("Going back: {}", named.title()), view.await)
}

async fn go_back<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
    Form(form): Form<Confirmation>,
) -> Response {
    let request = form.check(&page, &named.name);
    let request = request.and_then(|()| named.rollback(&form.what, false));
    let request = match request {
        Ok(request) => request,
        Err(failure) => return page.refuse(failure),
    };
    let title = format!("Going back: {}", named.title());
    let work: Work<B> = Box::new(move |engine, caller| {
        Box::pin(async move { engine.rollback(&request, &NoRenderer, caller).await })
    });
    page.begin(title, named.address(), work)
}

async fn look_at_delete<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
) -> Response {
    let view = async {
        let request = named.delete(true)?;
        let report = page.engine.delete(&request, &page.caller()).await?;
        let form = confirm::Form {
            address: &format!("{}/delete", named.address()),
            release: &named.name,
            token: page.form_token.secret(),
            what: "",
            button: "Delete the release",
        };
        Ok((confirm::view("Deleting the release", &report, &form), None))
    };
    page.answer(&format!("Deleting {}", named.title()), view.await)
}

async fn delete<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
    Form(form): Form<Confirmation>,
) -> Response {
    let request = form.check(&page, &named.name);
    let request = match request.and_then(|()| named.delete(false)) {
        Ok(request) => request,
        Err(failure) => return page.refuse(failure),
    };
    let title = format!("Deleting {}", named.title());
    let work: Work<B> = Box::new(move |engine, caller| {
        Box::pin(async move { engine.delete(&request, caller).await })
    });
    page.begin(title, named.address(), work)
}

async fn look_at_prune<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
) -> Response {
    let view = async {
        let request = named.prune(true)?;
        let report = page.engine.prune(&request, &page.caller()).await?;
        let form = confirm::Form {
            address: &format!("{}/prune", named.address()),
            release: &named.name,
            token: page.form_token.secret(),
            what: "",
            button: "Delete what was kept",
        };
        Ok((
            confirm::view("Deleting what was kept", &report, &form),
            None,
        ))
    };
    page.answer(&format!("Kept objects of {}", named.title()), view.await)
}

async fn prune<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
    Form(form): Form<Confirmation>,
) -> Response {
    let request = form.check(&page, &named.name);
    let request = match request.and_then(|()| named.prune(false)) {
        Ok(request) => request,
        Err(failure) => return page.refuse(failure),
    };
    let title = format!("Deleting what {} kept", named.title());
    let work: Work<B> = Box::new(move |engine, caller| {
        Box::pin(async move { engine.prune(&request, caller).await })
    });
    page.begin(title, named.address(), work)
}

async fn look_at_lock<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
) -> Response {
    let view = async {
        let status = page.engine.status(&named.status()?, &page.caller()).await?;
        let form = confirm::Form {
            address: &format!("{}/unlock", named.address()),
            release: &named.name,
            token: page.form_token.secret(),
            what: "",
            button: "Remove the lock",
        };
        Ok((confirm::lock(&status, &form), None))
    };
    page.answer(&format!("The lock of {}", named.title()), view.await)
}

async fn unlock<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
    Form(form): Form<Confirmation>,
) -> Response {
    let checked = form.check(&page, &named.name);
    let (release, namespace) = match checked.and_then(|()| named.parse()) {
        Ok(parsed) => parsed,
        Err(failure) => return page.refuse(failure),
    };
    let request = UnlockRequest { release, namespace };
    let title = format!("Removing the lock of {}", named.title());
    let work: Work<B> = Box::new(move |engine, caller| {
        Box::pin(async move { engine.unlock(&request, caller).await })
    });
    page.begin(title, named.address(), work)
}

/// Applies the plan that was shown: if anything moved since, it is refused.
async fn apply<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Form(form): Form<Confirmation>,
) -> Response {
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
    let work: Work<B> = Box::new(move |engine, caller| {
        Box::pin(async move { engine.apply(&request, caller).await })
    });
    page.begin(title, address, work)
}

async fn run<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(id): Path<u64>,
) -> Response {
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

async fn live_run<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(id): Path<u64>,
) -> Response {
    match page.runs.find(id) {
        Some(run) => crate::live::follow(run.watched()).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such run\n").into_response(),
    }
}
