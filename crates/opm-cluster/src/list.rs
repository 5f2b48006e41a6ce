//! Lists, page by page.
//!
//! Consistent reads only: the resourceVersion is never set. Objects come out with the
//! apiVersion and kind that they have when read alone, which lists leave out.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use opm_core::identity::GroupKind;
use opm_engine::ports::{ApiError, ApiErrorKind, Detail, ServedKind, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::answered::expect_labels;
use crate::bounds::{Allowance, MOST_EMPTY_PAGES, MOST_PAGES};
use crate::client::ClusterClient;
use crate::discovery::place;
use crate::json::{self, Object};
use crate::read_page::read_page;
use crate::request::{ListPage, Place};
use crate::send::SendOptions;

/// Objects on a page where only metadata is read, and the most on any page.
const METADATA_PAGE: usize = 1000;

/// Objects on the first page where whole objects are read, which may be a megabyte each.
const WHOLE_PAGE: usize = 100;

/// How many bytes a page may have for the next one to have more objects.
const PAGE_BYTES: usize = 1 << 20;

/// How often a list begins anew because the server forgot where it was.
const RESTARTS: u32 = 3;

/// A kind, where it is served, and the namespace that is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind<'a> {
    pub(crate) group_kind: &'a GroupKind,
    pub(crate) served: &'a ServedKind,
    /// The version that it is read in.
    pub(crate) version: &'a str,
    pub(crate) namespace: Option<&'a str>,
}

impl<'a> Kind<'a> {
    /// A kind in the version that the server prefers.
    pub(crate) fn preferred(
        group_kind: &'a GroupKind,
        served: &'a ServedKind,
        namespace: Option<&'a str>,
    ) -> Self {
        Self {
            group_kind,
            served,
            version: &served.preferred,
            namespace,
        }
    }

    pub(crate) fn place(&self) -> Place<'a> {
        Place {
            version: self.version,
            ..place(self.group_kind, self.served, self.namespace)
        }
    }

    /// Says of an object what it is: lists and metadata-only answers do not.
    pub(crate) fn name_kind(&self, object: &mut Object) {
        name_kind(object, self.group_kind, self.version);
    }
}

pub(crate) fn name_kind(object: &mut Object, kind: &GroupKind, version: &str) {
    let api_version = match kind.group.as_str() {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    object.insert("apiVersion".to_owned(), Value::from(api_version));
    object.insert("kind".to_owned(), Value::from(kind.kind.as_str()));
}

/// One page of a list, with what was made of its objects.
#[derive(Debug)]
pub(crate) struct Page<T = Object> {
    pub(crate) metadata: PageMetadata,
    pub(crate) items: Vec<T>,
    pub(crate) date: Option<Timestamp>,
    /// How many objects were on it, and in how many bytes they came.
    objects: usize,
    bytes: usize,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self {
            metadata: PageMetadata::default(),
            items: Vec::new(),
            date: None,
            objects: 0,
            bytes: 0,
        }
    }
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PageMetadata {
    pub(crate) resource_version: String,
    #[serde(rename = "continue")]
    pub(crate) token: String,
    pub(crate) remaining_item_count: Option<usize>,
}

impl<T> Page<T> {
    /// What leads to the next page, if there is one.
    pub(crate) fn next(&self) -> Option<String> {
        (!self.metadata.token.is_empty()).then(|| self.metadata.token.clone())
    }
}

/// What of a list is kept, and what it may take in memory.
pub(crate) struct Keep<'a> {
    allowance: Allowance,
    /// The names that matter; all if there are none.
    names: Option<&'a BTreeSet<String>>,
}

impl<'a> Keep<'a> {
    /// Everything.
    pub(crate) fn all() -> Self {
        Self::expecting(0)
    }

    /// Everything, which may be so many.
    pub(crate) fn expecting(objects: usize) -> Self {
        Self {
            allowance: Allowance::about(objects),
            names: None,
        }
    }

    /// What has one of these names.
    pub(crate) fn named(names: &'a BTreeSet<String>) -> Self {
        Self {
            allowance: Allowance::about(names.len()),
            names: Some(names),
        }
    }

    fn is_wanted(&self, object: &Object) -> bool {
        let name = json::metadata(object, "name").unwrap_or_default();
        self.names.is_none_or(|names| names.contains(name))
    }
}

/// The way through the pages of a list, which has an end whatever the server says.
#[derive(Debug)]
pub(crate) struct Paging {
    pub(crate) limit: usize,
    pub(crate) token: Option<String>,
    pages: usize,
    /// How many pages in a row had nothing in them.
    empty: usize,
    tokens: BTreeSet<u64>,
}

impl Paging {
    pub(crate) fn start(detail: Detail) -> Self {
        Self {
            limit: match detail {
                Detail::Metadata => METADATA_PAGE,
                Detail::Whole => WHOLE_PAGE,
            },
            token: None,
            pages: 0,
            empty: 0,
            tokens: BTreeSet::new(),
        }
    }

    /// Goes on to the next page, which has more on it if objects are small; false at the end.
    pub(crate) fn advance<T>(&mut self, page: &Page<T>, plural: &str) -> Result<bool, ApiError> {
        let fitting = page.objects.saturating_mul(PAGE_BYTES);
        let fitting = fitting.checked_div(page.bytes).unwrap_or_default();
        self.limit = fitting.min(METADATA_PAGE).max(self.limit);
        self.token = page.next();
        let Some(token) = &self.token else {
            return Ok(false);
        };
        self.pages = self.pages.saturating_add(1);
        let mut hasher = DefaultHasher::new();
        token.hash(&mut hasher);
        if !self.tokens.insert(hasher.finish()) {
            return Err(endless(plural, "it names the same next page twice"));
        }
        self.empty = match page.objects == 0 {
            true => self.empty.saturating_add(1),
            false => 0,
        };
        if self.empty >= MOST_EMPTY_PAGES {
            let why = format!("{MOST_EMPTY_PAGES} pages in a row have nothing in them");
            return Err(endless(plural, &why));
        }
        if self.pages >= MOST_PAGES {
            return Err(endless(
                plural,
                &format!("it has more than {MOST_PAGES} pages"),
            ));
        }
        Ok(true)
    }

    /// Asks for less at a time after a page that was too large; false if it cannot be less.
    pub(crate) fn shrink(&mut self) -> bool {
        let smaller = self.limit.div_euclid(4).max(1);
        let shrunk = smaller < self.limit;
        self.limit = smaller;
        shrunk
    }
}

fn endless(plural: &str, why: &str) -> ApiError {
    ApiError::local(
        ApiErrorKind::Rejected,
        format!("the server's list of {plural} does not end: {why}"),
    )
}

impl ClusterClient {
    /// Reads one page, and holds what it has against what was asked.
    pub(crate) async fn page(
        &self,
        place: Place<'_>,
        page: &ListPage<'_>,
    ) -> Result<Page, ApiError> {
        self.page_of(place, page, Some).await
    }

    /// The same, and `take` makes of each object what is kept of it: one is open at a time.
    pub(crate) async fn page_of<T>(
        &self,
        place: Place<'_>,
        page: &ListPage<'_>,
        mut take: impl FnMut(Object) -> Option<T> + Send,
    ) -> Result<Page<T>, ApiError> {
        let call = place.list(page)?;
        let answer = self
            .exchange(&call, SendOptions::reading(self))
            .await
            .result?;
        let mut items = Vec::new();
        let mut refused = None;
        let listed = read_page(&answer.body, place.plural, &mut |object| {
            let expected = place.expect_listed(&object);
            let expected = expected.and_then(|()| match page.labels {
                Some(labels) => expect_labels(&object, labels),
                None => Ok(()),
            });
            match expected {
                Ok(()) => items.extend(take(object)),
                Err(error) => refused = refused.take().or(Some(error)),
            }
        })?;
        place.expect_list(&listed.api_version, &listed.kind)?;
        let objects = listed.objects.ok_or_else(|| {
            let plural = place.plural;
            let what = format!("a list of {plural}");
            let message = format!("failed to read the server's answer about {what}: no items");
            ApiError::local(ApiErrorKind::Rejected, message)
        })?;
        match refused {
            Some(error) => Err(error),
            None => Ok(Page {
                metadata: listed.metadata,
                items,
                date: Some(answer.date),
                objects,
                bytes: answer.body.len(),
            }),
        }
    }

    /// All objects of a kind that match and are wanted, with the server's time and the list's
    /// resourceVersion.
    pub(crate) async fn list_all(
        &self,
        place: Place<'_>,
        selectors: Selectors<'_>,
        keep: &Keep<'_>,
    ) -> Result<Page, ApiError> {
        let mut items = Vec::new();
        let mut take = |object: Option<Object>| match object {
            Some(object) => items.push(object),
            None => items.clear(),
        };
        let last = self.list_each(place, selectors, keep, &mut take).await?;
        Ok(Page { items, ..last })
    }

    /// Hands on what matches and is wanted, object by object, and none where the list begins anew.
    /// Answers with the last page, without its objects.
    pub(crate) async fn list_each(
        &self,
        place: Place<'_>,
        selectors: Selectors<'_>,
        keep: &Keep<'_>,
        take: &mut (dyn FnMut(Option<Object>) + Send),
    ) -> Result<Page, ApiError> {
        let mut restarts: u32 = 0;
        let mut paging = Paging::start(selectors.detail);
        loop {
            let page = ListPage {
                detail: selectors.detail,
                limit: paging.limit,
                labels: selectors.labels,
                fields: selectors.fields,
                token: paging.token.as_deref(),
            };
            let mut page = match self.page(place, &page).await {
                Ok(page) => page,
                Err(error) if error.status == Some(410) && restarts < RESTARTS => {
                    restarts = restarts.saturating_add(1);
                    paging = Paging::start(selectors.detail);
                    take(None);
                    continue;
                }
                Err(error) if error.kind == ApiErrorKind::TooLarge && paging.shrink() => continue,
                Err(error) => return Err(error),
            };
            let more = paging.advance(&page, place.plural)?;
            for object in std::mem::take(&mut page.items) {
                if keep.is_wanted(&object) {
                    keep.allowance.take(&object)?;
                    take(Some(object));
                }
            }
            if !more {
                return Ok(page);
            }
        }
    }

    /// All objects of one kind that match, each with its kind.
    pub(crate) async fn list_kind(
        &self,
        kind: &GroupKind,
        namespace: Option<&str>,
        selectors: Selectors<'_>,
    ) -> Result<Vec<Object>, ApiError> {
        let mut served = self.served_kind(kind).await?;
        let mut place = Kind::preferred(kind, &served, namespace).place();
        let mut listed = Box::pin(self.list_all(place, selectors, &Keep::all())).await;
        if is_not_served(&listed)
            && let Some(now) = self.served_elsewhere(kind, &served).await?
        {
            served = now;
            place = Kind::preferred(kind, &served, namespace).place();
            listed = Box::pin(self.list_all(place, selectors, &Keep::all())).await;
        }
        let kind = Kind::preferred(kind, &served, namespace);
        let mut list = listed?;
        list.items
            .iter_mut()
            .for_each(|object| kind.name_kind(object));
        Ok(list.items)
    }
}

fn is_not_served<T>(answer: &Result<T, ApiError>) -> bool {
    matches!(answer, Err(error) if error.kind == ApiErrorKind::KindNotServed)
}

/// What of a collection is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selectors<'a> {
    pub(crate) detail: Detail,
    pub(crate) labels: Option<&'a str>,
    pub(crate) fields: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(token: &str) -> Page {
        Page {
            metadata: PageMetadata {
                token: token.to_owned(),
                ..PageMetadata::default()
            },
            ..Page::default()
        }
    }

    #[test]
    fn every_list_has_an_end() {
        let mut paging = Paging::start(Detail::Whole);
        assert!(paging.advance(&page("a"), "pods").unwrap());
        assert!(paging.advance(&page("b"), "pods").unwrap());
        assert!(!paging.advance(&page(""), "pods").unwrap());
        let error = paging.advance(&page("a"), "pods").unwrap_err();
        assert!(error.message.contains("the same next page"), "{error}");
        let ends = |page: &dyn Fn(usize) -> Page| {
            let mut paging = Paging::start(Detail::Whole);
            let ended = (0..).find_map(|n| paging.advance(&page(n), "pods").err());
            ended.unwrap().message
        };
        let full = |n: usize| Page {
            objects: 1,
            ..page(&n.to_string())
        };
        assert!(ends(&full).contains("2000 pages"), "{}", ends(&full));
        let empty = |n: usize| page(&n.to_string());
        assert!(ends(&empty).contains("nothing in them"), "{}", ends(&empty));
        let seldom = |n: usize| match n % 49 {
            0 => full(n),
            _ => empty(n),
        };
        assert!(ends(&seldom).contains("2000 pages"), "{}", ends(&seldom));
    }

    #[test]
    fn pages_of_small_objects_become_larger() {
        for (objects, bytes, expected) in [
            (100, 200_000, 524),
            (100, 20_000, 1000),
            (100, 100 << 20, 100),
            (0, 80, 100),
            (0, 0, 100),
        ] {
            let mut paging = Paging::start(Detail::Whole);
            let page = Page {
                objects,
                bytes,
                ..page("a")
            };
            paging.advance(&page, "pods").unwrap();
            assert_eq!(paging.limit, expected, "{objects} in {bytes} bytes");
        }
    }

    #[test]
    fn pages_become_smaller_until_they_hold_one_object() {
        let mut paging = Paging::start(Detail::Whole);
        let mut limits = vec![paging.limit];
        while paging.shrink() {
            limits.push(paging.limit);
        }
        assert_eq!(limits, [100, 25, 6, 1]);
    }
}
