//! Small readings of Kubernetes objects: metadata, lists, times.

use std::marker::PhantomData;
use std::time::Duration;

use jiff::fmt::rfc2822;
use opm_engine::ports::{ApiError, ApiErrorKind, Timestamp};
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde_json::{Map, Value};

use crate::bounds::fits;

/// One object as the API writes it.
pub(crate) type Object = Map<String, Value>;

/// A text in `metadata`.
pub(crate) fn metadata<'a>(object: &'a Object, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str()
}

/// A label.
pub(crate) fn label<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(name)?.as_str()
}

/// What an answer's body says, if that fits into memory.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8], what: &str) -> Result<T, ApiError> {
    read_with(body, what, PhantomData)
}

/// The same, read by somebody who takes it in parts.
pub(crate) fn read_with<'de, S: DeserializeSeed<'de>>(
    body: &'de [u8],
    what: &str,
    seed: S,
) -> Result<S::Value, ApiError> {
    fits(body)?;
    let mut text = serde_json::Deserializer::from_slice(body);
    let read = seed.deserialize(&mut text);
    let read = read.and_then(|read| text.end().map(|()| read));
    read.map_err(|error| {
        // The parser's own words may quote the text it stumbled over.
        let place = format!("line {}, column {}", error.line(), error.column());
        ApiError::local(
            ApiErrorKind::Rejected,
            format!("failed to read the server's answer about {what} ({place})"),
        )
    })
}

/// The entries of `metadata.managedFields`.
pub(crate) fn managed_fields(object: &Object) -> impl Iterator<Item = &Value> {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// A time as objects have it: `2026-11-15T09:30:00Z`.
pub(crate) fn object_time(text: &str) -> Option<Timestamp> {
    since_epoch(text.parse().ok()?)
}

/// A time as the Date header has it: `Sun, 15 Nov 2026 09:30:00 GMT`.
pub(crate) fn header_time(text: &str) -> Option<Timestamp> {
    since_epoch(rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?)
}

fn since_epoch(time: jiff::Timestamp) -> Option<Timestamp> {
    Duration::try_from(time.as_duration()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_a_time_agree() {
        let expected = Some(Timestamp(Duration::from_secs(1_794_735_000)));
        assert_eq!(
            object_time("2026-11-15T08:50:00Z"),
            object_time("2026-11-15T09:50:00+01:00")
        );
        assert_eq!(
            object_time("2026-11-15T07:30:00Z"),
            header_time("Sun, 15 Nov 2026 07:30:00 GMT")
        );
        assert_eq!(object_time("2026-11-15T09:30:00Z"), expected);
        assert_eq!(header_time("yesterday"), None);
        assert_eq!(object_time("1969-12-31T23:59:59Z"), None);
    }
}
