//! Where pages are told of changes.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use opm_engine::ports::Backend;

use super::{Named, ObjectQuery, Shared, nothing_here};
use crate::live::{self, Subject};

pub(super) async fn plan<B: Backend + Send + Sync + 'static>(State(page): Shared<B>) -> Response {
    match page.settings.plan {
        Some(_) => live::tell(&page, &Subject::Plan).into_response(),
        None => nothing_here().await,
    }
}

pub(super) async fn releases<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
) -> Response {
    live::tell(&page, &Subject::Releases).into_response()
}

pub(super) async fn release<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
) -> Response {
    match named.subject() {
        Ok(subject) => live::tell(&page, &subject).into_response(),
        Err(_) => nothing_here().await,
    }
}

pub(super) async fn object<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Path(named): Path<Named>,
    Query(query): Query<ObjectQuery>,
) -> Response {
    match named.subject() {
        Ok(subject) => live::tell_object(&page, &subject, query.identity()).into_response(),
        Err(_) => nothing_here().await,
    }
}

pub(super) async fn below<B: Backend + Send + Sync + 'static>(
    State(page): Shared<B>,
    Query(query): Query<ObjectQuery>,
) -> Response {
    live::tell(&page, &Subject::Below(query.identity())).into_response()
}
