//! A request becomes a question to the engine, and its report a view.

mod told;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::Markup;
use opm_core::identity::{GroupKind, Identity};
use opm_core::name::{NamespaceName, ReleaseName};
use opm_engine::request::{
    CompareRequest, ComparedChanges, HistoryRequest, LogRequest, ObjectRequest, ReleaseRef,
    ShowRequest, StatusRequest,
};
use opm_engine::{Failure, FailureKind};
use serde::Deserialize;

use crate::Page;
use crate::changes;
use crate::live::{self, ReleaseList, Subject, Wanted};
use crate::views::confirm::Form;
use crate::views::{self, Frame, LiveView};

/// How many events and how many lines of each container a page shows.
const EVENTS: usize = 100;
const LINES: u32 = 100;

pub(crate) type Shared = State<Arc<Page>>;

/// All pages.
pub(crate) fn router(page: Arc<Page>) -> Router {
    let release = "/releases/{namespace}/{name}";
    let below = |place: &str| format!("{release}/{place}");
    let changing = page.settings.allow_changes;
    let router = Router::new()
        .route("/", get(releases))
        .route(release, get(status))
        .route(&below("tree"), get(tree))
        .route(&below("object"), get(object))
        .route(&below("history"), get(history))
        .route(&below("compare"), get(compare))
        .route(&below("manifests"), get(manifests))
        .route(&below("events"), get(events))
        .route(&below("logs"), get(logs))
        .route("/live/plan", get(told::plan))
        .route("/live/releases", get(told::releases))
        .route(&format!("/live{release}"), get(told::release))
        .route(&format!("/live{release}/object"), get(told::object))
        .route("/live/object", get(told::below))
        .route("/style.css", get(style))
        .route("/page.js", get(script))
        .fallback(nothing_here);
    let router = match changing {
        true => router.merge(changes::routes()),
        false => router.merge(changes::rehearsals()),
    };
    router.with_state(page)
}

async fn style() -> Response {
    let text = include_str!("../assets/style.css");
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], text).into_response()
}

async fn script() -> Response {
    let text = include_str!("../assets/page.js");
    let kind = "text/javascript; charset=utf-8";
    ([(CONTENT_TYPE, kind)], text).into_response()
}

async fn nothing_here() -> Response {
    (StatusCode::NOT_FOUND, "there is no such page\n").into_response()
}

/// A release, as an address names it.
#[derive(Deserialize)]
pub(crate) struct Named {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Named {
    pub(crate) fn parse(&self) -> Result<(ReleaseRef, NamespaceName), Failure> {
        let (name, namespace) = self.names()?;
        Ok((ReleaseRef::Name(name), namespace))
    }

    fn names(&self) -> Result<(ReleaseName, NamespaceName), Failure> {
        let invalid = |message: String| Failure::new(FailureKind::NotFound, message);
        let name = ReleaseName::new(&self.name).map_err(|error| invalid(error.to_string()))?;
        let namespace = NamespaceName::new(&self.namespace);
        let namespace = namespace.map_err(|error| invalid(error.to_string()))?;
        Ok((name, namespace))
    }

    pub(crate) fn status(&self) -> Result<StatusRequest, Failure> {
        let (release, namespace) = self.parse()?;
        Ok(StatusRequest {
            release,
            namespace,
            scan: false,
        })
    }

    /// The release as something to look at.
    fn subject(&self) -> Result<Subject, Failure> {
        let (name, namespace) = self.names()?;
        Ok(Subject::Release(namespace, name))
    }

    pub(crate) fn title(&self) -> String {
        format!("{} in {}", self.name, self.namespace)
    }

    pub(crate) fn address(&self) -> String {
        views::release_address(&self.namespace, &self.name)
    }
}

impl Page {
    /// A page, or what stands in its way.
    pub(crate) fn answer(
        &self,
        title: &str,
        view: Result<(Markup, Option<LiveView>), Failure>,
    ) -> Response {
        let (code, content, live) = match view {
            Ok((content, live)) => (StatusCode::OK, content, live),
            Err(failure) => {
                let hints = (self.settings.hints)(&failure.remedies);
                let content = views::failure::view(&failure, &hints);
                (code_of(failure.kind), content, None)
            }
        };
        let frame = Frame {
            title,
            cluster: &self.settings.cluster,
            plan: self.settings.plan.is_some(),
            live: live.as_ref(),
        };
        (code, Html(views::page(&frame, &content).into_string())).into_response()
    }
}

fn code_of(kind: FailureKind) -> StatusCode {
    match kind {
        FailureKind::NotFound => StatusCode::NOT_FOUND,
        FailureKind::Unreachable => StatusCode::BAD_GATEWAY,
        _ => StatusCode::CONFLICT,
    }
}

/// How the list is filtered.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListQuery {
    /// What a line has to hold.
    pub(crate) q: String,
    /// Look at the objects before anything is shown.
    pub(crate) health: bool,
    /// Those that are deleted, instead.
    pub(crate) deleted: bool,
    /// Which part of a long list, from 1.
    pub(crate) page: usize,
}

/// Which part of a long list is shown.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct PartQuery {
    pub(crate) page: usize,
    /// Nothing is shown before all is known.
    whole: bool,
}

async fn releases(State(page): Shared, Query(query): Query<ListQuery>) -> Response {
    let (wanted, patience) = match query.health {
        true => (Wanted::Whole, Duration::MAX),
        false => (Wanted::Anything, page.settings.patience),
    };
    let live = |digest| {
        let address = "/live/releases".to_owned();
        Some(LiveView { address, digest })
    };
    let view = async {
        let known = live::known(&page, &Subject::Releases, wanted, patience).await;
        let Some(known) = known else {
            return Ok((views::releases::not_yet(&query), live(live::NOTHING_YET)));
        };
        let releases = match known.releases {
            Some(releases) => releases,
            None => {
                let listing = page.engine.list(&page.all_releases(), &page.caller()).await;
                Arc::new(ReleaseList::of(listing?))
            }
        };
        let digest = releases.digest();
        Ok((views::releases::view(&releases, &query), live(digest)))
    };
    page.answer("Releases", view.await)
}

async fn status(
    State(page): Shared,
    Path(named): Path<Named>,
    Query(query): Query<PartQuery>,
) -> Response {
    let view = async {
        let request = named.status()?;
        let live = |digest| {
            let address = format!("/live{}", named.address());
            Some(LiveView { address, digest })
        };
        let patience = match query.whole {
            true => Duration::MAX,
            false => page.settings.patience,
        };
        let known = live::known(&page, &named.subject()?, Wanted::Anything, patience).await;
        let Some(known) = known else {
            let view = views::release::not_yet(&named.namespace, &named.name);
            return Ok((view, live(live::NOTHING_YET)));
        };
        let status = match known.status {
            Some(status) => status,
            // It cannot be seen, and this says why.
            None => Arc::new(page.engine.status(&request, &page.caller()).await?),
        };
        let hints = (page.settings.hints)(&status.remedies);
        let changing = page.settings.allow_changes;
        let view = views::release::view(&status, &hints, changing, query.page);
        Ok((view, live(live::digest(&*status))))
    };
    page.answer(&named.title(), view.await)
}

async fn tree(State(page): Shared, Path(named): Path<Named>) -> Response {
    let view = async {
        let tree = page.engine.tree(&named.status()?, &page.caller()).await?;
        Ok((views::tree::view(&tree), None))
    };
    page.answer(&format!("Tree of {}", named.title()), view.await)
}

/// Which object is meant.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectQuery {
    group: String,
    kind: String,
    name: String,
    /// Its namespace.
    r#in: Option<String>,
}

impl ObjectQuery {
    fn identity(&self) -> Identity {
        let kind = GroupKind::new(&*self.group, &*self.kind);
        Identity::new(kind, self.r#in.as_deref(), &*self.name)
    }
}

async fn object(
    State(page): Shared,
    Path(named): Path<Named>,
    Query(query): Query<ObjectQuery>,
) -> Response {
    let object = query.identity();
    let title = format!("{}/{} of {}", object.kind(), object.name, named.title());
    let view = async {
        let (release, namespace) = named.parse()?;
        let request = ObjectRequest {
            release,
            namespace,
            object: object.clone(),
            events: EVENTS,
            tail: LINES,
        };
        // What changes while it is read makes another digest, and the page is asked for again.
        let patience = page.settings.patience;
        let subject = named.subject()?;
        let of_release = live::known(&page, &subject, Wanted::Anything, patience).await;
        let report = page.engine.object(&request, &page.caller()).await?;
        let live = match report.status.is_some() || report.tracked.is_some() {
            true => LiveView {
                address: format!("/live{}", views::object_address(&named.address(), &object)),
                digest: of_release.map_or(live::NOTHING_YET, |known| known.digest_of(&object)),
            },
            false => {
                let subject = Subject::Below(object.clone());
                let known = live::known(&page, &subject, Wanted::Anything, patience).await;
                LiveView {
                    address: views::object_address("/live", &object),
                    digest: known.map_or(live::NOTHING_YET, |known| known.digest),
                }
            }
        };
        Ok((views::object::view(&report), Some(live)))
    };
    page.answer(&title, view.await)
}

async fn history(State(page): Shared, Path(named): Path<Named>) -> Response {
    let view = async {
        let (release, namespace) = named.parse()?;
        let request = HistoryRequest { release, namespace };
        let history = page.engine.history(&request, &page.caller()).await?;
        Ok((views::history::view(&history), None))
    };
    page.answer(&format!("History of {}", named.title()), view.await)
}

/// Which changes are meant.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChangeQuery {
    from: String,
    pub(crate) to: String,
}

async fn compare(
    State(page): Shared,
    Path(named): Path<Named>,
    Query(query): Query<ChangeQuery>,
    Query(part): Query<PartQuery>,
) -> Response {
    let view = async {
        let (release, namespace) = named.parse()?;
        let compared = match query.from.as_str() {
            "" => ComparedChanges::One(query.to.clone()),
            from => ComparedChanges::Two(from.to_owned(), query.to.clone()),
        };
        let request = CompareRequest {
            release,
            namespace,
            compared,
        };
        let comparison = page.engine.compare(&request, &page.caller()).await?;
        Ok((views::compare::view(&comparison, part.page), None))
    };
    page.answer(&format!("Changes of {}", named.title()), view.await)
}

async fn manifests(
    State(page): Shared,
    Path(named): Path<Named>,
    Query(query): Query<ChangeQuery>,
    Query(part): Query<PartQuery>,
) -> Response {
    let view = async {
        let (release, namespace) = named.parse()?;
        let request = ShowRequest {
            release,
            namespace,
            revision: Some(query.to.clone()).filter(|to| !to.is_empty()),
            reveal: false,
        };
        let shown = page.engine.show_manifests(&request, &page.caller()).await?;
        let view = views::manifests::view(&shown, &named.address(), part.page);
        Ok((view, None))
    };
    page.answer(&format!("Manifests of {}", named.title()), view.await)
}

async fn events(State(page): Shared, Path(named): Path<Named>) -> Response {
    let view = async {
        let request = named.status()?;
        let events = page.engine.events(&request, EVENTS, &page.caller()).await?;
        Ok((views::events::view(&events), None))
    };
    page.answer(&format!("Events of {}", named.title()), view.await)
}

async fn logs(State(page): Shared, Path(named): Path<Named>) -> Response {
    let view = async {
        let (release, namespace) = named.parse()?;
        let request = LogRequest {
            release,
            namespace,
            component: None,
            tail: LINES,
            previous: false,
        };
        let logs = page.engine.logs(&request, &page.caller()).await?;
        Ok((views::logs::view(&logs), None))
    };
    page.answer(&format!("Logs of {}", named.title()), view.await)
}

pub(crate) async fn plan(State(page): Shared, Query(query): Query<PartQuery>) -> Response {
    let Some(source) = &page.settings.plan else {
        return nothing_here().await;
    };
    // Files that change while they are read make another number, and the page is asked for again.
    let live = LiveView {
        address: "/live/plan".to_owned(),
        digest: source.stamp(),
    };
    let planned = async {
        let request = source.request().await?;
        page.engine.diff(&request, &page.caller()).await
    };
    let content = match planned.await {
        Ok(report) => {
            let failure = report.would_fail.as_ref();
            let remedies = failure.map(|failure| failure.remedies.as_slice());
            let hints = (page.settings.hints)(remedies.unwrap_or(&report.remedies));
            let shown = page.show_plan(report.plan.as_ref());
            let form = shown.as_deref().map(|what| Form {
                address: "/plan",
                release: report.release.name.as_str(),
                token: page.form_token.secret(),
                what,
                button: "Apply this plan",
            });
            let form = form.filter(|_| failure.is_none() && report.differs());
            views::plan::view(&report, &hints, form.as_ref(), query.page)
        }
        Err(failure) => {
            let hints = (page.settings.hints)(&failure.remedies);
            views::failure::view(&failure, &hints)
        }
    };
    page.answer("Plan", Ok((content, Some(live))))
}
