//! Where pages are told of changes.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};

use super::{Named, ObjectQuery, Shared, nothing_here};
use crate::live::{self, Subject};

pub(super) async fn plan(State(page): Shared) -> Response {
    match page.settings.plan {
        Some(_) => live::tell(&page, &Subject::Plan).into_response(),
        None => nothing_here().await,
    }
}

pub(super) async fn releases(State(page): Shared) -> Response {
    live::tell(&page, &Subject::Releases).into_response()
}

pub(super) async fn release(State(page): Shared, Path(named): Path<Named>) -> Response {
    match named.subject() {
        Ok(subject) => live::tell(&page, &subject).into_response(),
        Err(_) => nothing_here().await,
    }
}

pub(super) async fn object(
    State(page): Shared,
    Path(named): Path<Named>,
    Query(query): Query<ObjectQuery>,
) -> Response {
    match named.subject() {
        Ok(subject) => live::tell_object(&page, &subject, query.identity()).into_response(),
        Err(_) => nothing_here().await,
    }
}

pub(super) async fn below(State(page): Shared, Query(query): Query<ObjectQuery>) -> Response {
    live::tell(&page, &Subject::Below(query.identity())).into_response()
}
