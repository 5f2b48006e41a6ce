//! Lists, page by page.
//!
//! Consistent reads only: the resourceVersion is never set. Objects come out with the
//! apiVersion and kind that they have when read alone, which lists leave out.

use opm_core::identity::GroupKind;
use opm_engine::ports::{ApiError, ApiErrorKind, Detail, ServedKind, Timestamp};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::client::ClusterClient;
use crate::discovery::place;
use crate::json::Object;
use crate::request::{ListPage, Place};
use crate::send::SendOptions;

/// Objects per page where only metadata is read.
pub(crate) const METADATA_PAGE: usize = 500;

/// Objects per page where whole objects are read, which may be a megabyte each.
pub(crate) const WHOLE_PAGE: usize = 100;

/// How often a list begins anew because the server forgot where it was.
const RESTARTS: u32 = 3;

pub(crate) fn page_size(detail: Detail) -> usize {
    match detail {
        Detail::Metadata => METADATA_PAGE,
        Detail::Whole => WHOLE_PAGE,
    }
}

/// A kind, where it is served, and the namespace that is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind<'a> {
    pub(crate) group_kind: &'a GroupKind,
    pub(crate) served: &'a ServedKind,
    pub(crate) namespace: Option<&'a str>,
}

impl<'a> Kind<'a> {
    pub(crate) fn place(&self) -> Place<'a> {
        place(self.group_kind, self.served, self.namespace)
    }

    /// Says of an object what it is: lists and metadata-only answers do not.
    pub(crate) fn name_kind(&self, object: &mut Object) {
        name_kind(object, self.group_kind, &self.served.preferred);
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

/// One page of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Page {
    #[serde(deserialize_with = "none_is_empty")]
    pub(crate) items: Vec<Object>,
    pub(crate) metadata: PageMetadata,
    #[serde(skip)]
    pub(crate) date: Option<Timestamp>,
}

/// Go writes an empty list as `null` where it never made one.
fn none_is_empty<'de, D: Deserializer<'de>>(items: D) -> Result<Vec<Object>, D::Error> {
    Option::deserialize(items).map(Option::unwrap_or_default)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PageMetadata {
    pub(crate) resource_version: String,
    #[serde(rename = "continue")]
    pub(crate) token: String,
    pub(crate) remaining_item_count: Option<usize>,
}

impl Page {
    /// What leads to the next page, if there is one.
    pub(crate) fn next(&self) -> Option<String> {
        (!self.metadata.token.is_empty()).then(|| self.metadata.token.clone())
    }
}

impl ClusterClient {
    /// Reads one page; an answer beyond `largest` bytes is an error of kind `TooLarge`.
    pub(crate) async fn page(
        &self,
        place: Place<'_>,
        page: &ListPage<'_>,
        largest: Option<usize>,
    ) -> Result<Page, ApiError> {
        let call = place.list(page)?;
        let mut options = SendOptions::reading(self);
        if let Some(largest) = largest {
            options = options.at_most(largest);
        }
        let answer = self.exchange(&call, options).await.result?;
        let mut page: Page = serde_json::from_slice(&answer.body)
            .map_err(|error| unreadable(&format!("a list of {}", place.plural), &error))?;
        page.date = Some(answer.date);
        Ok(page)
    }

    /// All objects of a kind that match, with the server's time and the list's
    /// resourceVersion.
    pub(crate) async fn list_all(
        &self,
        place: Place<'_>,
        selectors: Selectors<'_>,
    ) -> Result<Page, ApiError> {
        let mut restarts = 0;
        'anew: loop {
            let mut all = Page::default();
            let mut token = None;
            loop {
                let page = ListPage {
                    detail: selectors.detail,
                    limit: page_size(selectors.detail),
                    labels: selectors.labels,
                    fields: selectors.fields,
                    token: token.as_deref(),
                };
                let page = match self.page(place, &page, None).await {
                    Ok(page) => page,
                    Err(error) if error.status == Some(410) && restarts < RESTARTS => {
                        restarts += 1;
                        continue 'anew;
                    }
                    Err(error) => return Err(error),
                };
                token = page.next();
                all.date = page.date;
                all.metadata = page.metadata;
                all.items.extend(page.items);
                if token.is_none() {
                    return Ok(all);
                }
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
        let served = self.served_kind(kind).await?;
        let kind = Kind {
            group_kind: kind,
            served: &served,
            namespace,
        };
        let mut list = self.list_all(kind.place(), selectors).await?;
        list.items
            .iter_mut()
            .for_each(|object| kind.name_kind(object));
        Ok(list.items)
    }
}

/// What of a collection is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selectors<'a> {
    pub(crate) detail: Detail,
    pub(crate) labels: Option<&'a str>,
    pub(crate) fields: Option<&'a str>,
}

/// The error for an answer that is not what the API promises.
pub(crate) fn unreadable(what: &str, error: &serde_json::Error) -> ApiError {
    // The parser's own words may quote the text it stumbled over.
    let place = format!("line {}, column {}", error.line(), error.column());
    ApiError::local(
        ApiErrorKind::Rejected,
        format!("failed to read the server's answer about {what} ({place})"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_may_be_null() {
        let page: Page = serde_json::from_str(r#"{"metadata": {}, "items": null}"#).unwrap();
        assert!(page.items.is_empty());
    }
}
