//! Reading a page of a list object by object: the trees of a thousand objects with their managed
//! fields take ten times as much memory as what is kept of them.

use std::fmt;

use opm_engine::ports::ApiError;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use crate::json::{self, Object};
use crate::list::PageMetadata;

/// What a list says of itself.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ListedPage {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: PageMetadata,
    /// How many objects there were; none if it has no `items`, which makes it no list.
    pub(crate) objects: Option<usize>,
}

/// Who gets each object.
type Take<'a> = &'a mut dyn FnMut(Object);

/// Reads a page, and hands on each object as it comes.
pub(crate) fn read_page(body: &[u8], plural: &str, take: Take<'_>) -> Result<ListedPage, ApiError> {
    json::read_with(body, &format!("a list of {plural}"), PageSeed(take))
}

struct PageSeed<'a>(Take<'a>);

impl<'de> DeserializeSeed<'de> for PageSeed<'_> {
    type Value = ListedPage;

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<ListedPage, D::Error> {
        list.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PageSeed<'_> {
    type Value = ListedPage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut list: A) -> Result<ListedPage, A::Error> {
        let mut page = ListedPage::default();
        while let Some(key) = list.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" => page.api_version = list.next_value()?,
                "kind" => page.kind = list.next_value()?,
                "metadata" => page.metadata = list.next_value()?,
                "items" if page.objects.is_some() => {
                    return Err(A::Error::duplicate_field("items"));
                }
                "items" => page.objects = Some(list.next_value_seed(ItemsSeed(&mut *self.0))?),
                _ => _ = list.next_value::<IgnoredAny>()?,
            }
        }
        Ok(page)
    }
}

struct ItemsSeed<'a>(Take<'a>);

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, items: D) -> Result<usize, D::Error> {
        items.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the objects of a list")
    }

    /// Go writes an empty list as `null` where it never made one.
    fn visit_unit<E>(self) -> Result<usize, E> {
        Ok(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<usize, A::Error> {
        let mut objects: usize = 0;
        while let Some(object) = items.next_element::<Object>()? {
            objects = objects.saturating_add(1);
            (self.0)(object);
        }
        Ok(objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(ListedPage, usize), ApiError> {
        let mut taken = 0;
        let page = read_page(text.as_bytes(), "pods", &mut |_| taken += 1)?;
        Ok((page, taken))
    }

    #[test]
    fn objects_come_one_by_one_wherever_they_stand() {
        let text = r#"{"items": [{"a": 1}, {}], "more": [1], "kind": "PodList",
            "metadata": {"continue": "x"}, "apiVersion": "v1"}"#;
        let (page, taken) = read(text).unwrap();
        assert_eq!((page.objects, taken), (Some(2), 2));
        assert_eq!(
            (page.api_version.as_str(), page.kind.as_str()),
            ("v1", "PodList")
        );
        assert_eq!(page.metadata.token, "x");
    }

    #[test]
    fn an_empty_list_may_be_null() {
        let (page, _) = read(r#"{"metadata": {}, "items": null}"#).unwrap();
        assert_eq!(page.objects, Some(0));
        let (page, _) = read(r#"{"metadata": {}}"#).unwrap();
        assert_eq!(page.objects, None, "no list at all");
    }

    #[test]
    fn what_is_no_list_cannot_be_read() {
        for text in [
            "",
            "null",
            "[]",
            "7",
            r#"{"items": 7}"#,
            r#"{"items": {}}"#,
            r#"{"items": [7]}"#,
            r#"{"items": [{}"#,
            r#"{"items": []} {}"#,
            r#"{"items": [], "items": []}"#,
            r#"{"kind": null}"#,
            r#"{"metadata": "x"}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
