//! Doing several things at a time, within bounds.

use std::future::Future;

use futures::stream::{self, Stream, StreamExt as _};

/// Does the work for each of `count` places, at most `limit` of them at a time, and gives the
/// results as they come.
///
/// Work is named by its place and not by a reference to it: a closure that takes references and
/// is kept across an await makes the whole future not [`Send`].
pub(crate) fn concurrently<F: Future>(
    limit: usize,
    count: usize,
    work: impl FnMut(usize) -> F,
) -> impl Stream<Item = F::Output> {
    stream::iter((0..count).map(work)).buffer_unordered(limit.max(1))
}

/// The same, with the results in order.
pub(crate) fn concurrently_in_order<F: Future>(
    limit: usize,
    count: usize,
    work: impl FnMut(usize) -> F,
) -> impl Stream<Item = F::Output> {
    stream::iter((0..count).map(work)).buffered(limit.max(1))
}
