//! How much of an answer is read, and for how long: the one place for all verbs, watches too.
//!
//! An API server is trusted with what it says, not with how much of it there is. Bodies are read
//! piece by piece up to a size, within a time, and without long silence; one large body is in
//! memory at a time, however many requests there are; and what a text of JSON becomes in memory
//! is reckoned before it is parsed.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use opm_core::identity::Identity;
use opm_engine::ports::{ApiError, ApiErrorKind};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::json::Object;

/// The largest answer. No object is larger than a few megabytes, and pages become smaller until
/// they fit.
pub(crate) const LARGEST_ANSWER: usize = 24 << 20;

/// The largest line of a watch, which is one object.
pub(crate) const LARGEST_LINE: usize = 4 << 20;

/// What is read of an answer that only says what went wrong.
pub(crate) const LARGEST_ERROR: usize = 1 << 20;

/// From this size on, an answer is read and parsed by itself.
const LARGE: usize = 1 << 20;

/// What one answer may become in memory.
const LARGEST_VALUE: usize = 96 << 20;

/// What all answers to one question may become in memory, whatever was asked.
const ALLOWED: usize = 96 << 20;

/// The same on top for each object that was asked for by name.
const ALLOWED_EACH: usize = 128 << 10;

/// The longest silence in the middle of a body.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// How long others may take to read their large answers.
const LONGEST_TURN: Duration = Duration::from_secs(120);

/// The most pages that one list may have.
pub(crate) const MOST_PAGES: usize = 2000;

/// The most pages in a row that may have nothing in them. A server fills its pages; some that
/// filter afterwards leave a few empty. Commands that list every kind would otherwise take hours.
pub(crate) const MOST_EMPTY_PAGES: usize = 50;

/// The most group versions that are asked about one by one.
pub(crate) const MOST_GROUP_VERSIONS: usize = 1000;

/// How long something may take: all of it, and any silence in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeBounds {
    pub(crate) until: Instant,
    pub(crate) silence: Duration,
}

impl TimeBounds {
    /// So long from now on.
    pub(crate) fn within(total: Duration, silence: Duration) -> Self {
        Self {
            until: later(Instant::now(), total),
            silence: silence.min(total),
        }
    }

    fn next_piece(&self) -> Instant {
        later(Instant::now(), self.silence).min(self.until)
    }
}

/// A time after another; a century where that cannot be told.
pub(crate) fn later(start: Instant, after: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
    start.checked_add(after.min(CENTURY)).unwrap_or(start)
}

/// Why a body was not read to its end.
#[derive(Debug)]
pub(crate) enum BodyError {
    TooLarge,
    /// It did not come in time.
    Slow,
    /// The connection broke.
    Broken(Box<dyn StdError + Send + Sync>),
}

/// A body as any client gives it.
pub(crate) trait AnswerBody:
    BodyExt<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Unpin
{
}

impl<B> AnswerBody for B where
    B: BodyExt<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Unpin
{
}

/// The next piece of a body; none at its end.
pub(crate) async fn next_piece(
    body: &mut impl AnswerBody,
    time: &TimeBounds,
) -> Result<Option<Bytes>, BodyError> {
    loop {
        // Where there is always more, the time-out below never gets its turn.
        if Instant::now() >= time.until {
            return Err(BodyError::Slow);
        }
        match timeout_at(time.next_piece(), body.frame()).await {
            Err(_) => return Err(BodyError::Slow),
            Ok(None) => return Ok(None),
            Ok(Some(Err(error))) => return Err(BodyError::Broken(error.into())),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    // A server that always has more must not keep others from their turn.
                    tokio::task::consume_budget().await;
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// A body that was read, and its turn among large ones.
#[derive(Debug)]
pub(crate) struct ReadBody {
    pub(crate) bytes: Bytes,
    pub(crate) turn: Option<OwnedSemaphorePermit>,
}

/// Reads a body to its end.
pub(crate) async fn read_whole(
    mut body: impl AnswerBody,
    largest: usize,
    mut time: TimeBounds,
    turns: &Arc<Semaphore>,
) -> Result<ReadBody, BodyError> {
    let mut bytes = BytesMut::new();
    let mut turn = None;
    while let Some(piece) = next_piece(&mut body, &time).await? {
        let size = bytes.len().saturating_add(piece.len());
        if size > largest {
            return Err(BodyError::TooLarge);
        }
        if size > LARGE && turn.is_none() {
            let asked = Instant::now();
            let free = timeout(LONGEST_TURN, Arc::clone(turns).acquire_owned()).await;
            turn = free.map_err(|_| BodyError::Slow)?.ok();
            // Who waits for others is not slow.
            time.until = later(time.until, asked.elapsed());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(ReadBody {
        bytes: bytes.freeze(),
        turn,
    })
}

/// Reads as much as is wanted of a body that says what went wrong: what is not all there, or
/// comes too slowly, says less.
pub(crate) async fn read_error(mut body: impl AnswerBody, time: TimeBounds) -> Bytes {
    let mut bytes = BytesMut::new();
    while let Ok(Some(piece)) = next_piece(&mut body, &time).await {
        if bytes.len().saturating_add(piece.len()) > LARGEST_ERROR {
            break;
        }
        bytes.extend_from_slice(&piece);
    }
    bytes.freeze()
}

/// What a table with entries, one entry of a table or list, and a list take in memory, about.
const TABLE: usize = 640;
const ENTRY: usize = 140;
const LIST: usize = 64;

/// What a text of JSON becomes in memory at most, without making it.
pub(crate) fn reckon(text: &[u8]) -> usize {
    let mut cost = text.len();
    let mut quoted = false;
    let mut escaped = false;
    let mut opened = false;
    for byte in text {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        // An empty table takes nothing.
        if opened && *byte != b'}' {
            cost = cost.saturating_add(TABLE);
        }
        opened = *byte == b'{';
        match byte {
            b'"' => quoted = true,
            b',' => cost = cost.saturating_add(ENTRY),
            b'[' => cost = cost.saturating_add(LIST),
            _ => {}
        }
    }
    cost
}

/// Whether a text of JSON may be parsed.
pub(crate) fn fits(text: &[u8]) -> Result<(), ApiError> {
    // No byte costs more than that of a table, so most texts need not be looked through.
    if text.len().saturating_mul(TABLE + 1) <= LARGEST_VALUE {
        return Ok(());
    }
    match reckon(text) {
        0..=LARGEST_VALUE => Ok(()),
        _ => Err(too_large()),
    }
}

/// The error for an answer that would take too much memory.
pub(crate) fn too_large() -> ApiError {
    let message = "the server's answer is too large to be read";
    ApiError::local(ApiErrorKind::TooLarge, message)
}

/// What an object takes in memory, about.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => ENTRY,
        Value::String(text) => ENTRY.saturating_add(text.len()),
        Value::Array(list) => list
            .iter()
            .fold(LIST, |sum, item| sum.saturating_add(weight(item))),
        Value::Object(object) => object_weight(object),
    }
}

fn object_weight(object: &Object) -> usize {
    object.iter().fold(TABLE, |sum, (key, value)| {
        sum.saturating_add(key.len()).saturating_add(weight(value))
    })
}

/// What the answers to one question may take in memory together.
#[derive(Debug)]
pub(crate) struct Allowance(Mutex<Held>);

#[derive(Debug)]
struct Held {
    left: usize,
    /// What objects take of which a newer state takes the place of the older one.
    by_identity: BTreeMap<Identity, usize>,
}

impl Allowance {
    /// For a question about so many objects by name.
    pub(crate) fn about(objects: usize) -> Self {
        Self(Mutex::new(Held {
            left: ALLOWED.saturating_add(objects.saturating_mul(ALLOWED_EACH)),
            by_identity: BTreeMap::new(),
        }))
    }

    /// Takes what one more object needs.
    pub(crate) fn take(&self, object: &Object) -> Result<(), ApiError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.left = held
            .left
            .checked_sub(object_weight(object))
            .ok_or_else(too_much)?;
        Ok(())
    }

    /// Takes what a newer state of an object needs, and gives back what the older one took.
    pub(crate) fn replace(&self, identity: &Identity, object: &Object) -> Result<(), ApiError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let weight = object_weight(object);
        let before = held.by_identity.insert(identity.clone(), weight);
        let left = held.left.saturating_add(before.unwrap_or(0));
        held.left = left.checked_sub(weight).ok_or_else(too_much)?;
        Ok(())
    }
}

fn too_much() -> ApiError {
    let message = "the server's answers are too large to be held in memory together";
    ApiError::local(ApiErrorKind::TooLarge, message)
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use opm_core::identity::GroupKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_text_becomes_in_memory_is_reckoned_before() {
        for (text, expected) in [
            ("", 0),
            ("{}", 0),
            (r#"{ "a" : 1 }"#, TABLE),
            (r#"{"a": {}, "b": []}"#, TABLE + ENTRY + LIST),
            (r#"["{", "\"[{,"]"#, LIST + ENTRY),
        ] {
            assert_eq!(reckon(text.as_bytes()), text.len() + expected, "{text}");
        }
        let nested = format!("[{}1]", r#"{"a":1},"#.repeat(200_000));
        assert!(fits(nested.as_bytes()).is_err(), "1.6 MB become 150");
        let flat = format!("[\"{}\"]", "x".repeat(20 << 20));
        assert!(fits(flat.as_bytes()).is_ok());
    }

    #[test]
    fn an_object_weighs_no_more_than_what_was_reckoned_for_its_text() {
        let object = json!({"metadata": {"name": "a", "labels": {"x": "y", "z": "w"}},
            "spec": {"list": [1, 2, {"a": null}], "text": "hello"}});
        let object = object.as_object().unwrap();
        let text = Value::Object(object.clone()).to_string();
        let (weight, reckoned) = (object_weight(object), reckon(text.as_bytes()));
        assert!(
            weight <= 2 * reckoned && reckoned <= 2 * weight,
            "{weight} {reckoned}"
        );
    }

    #[test]
    fn an_allowance_ends_and_newer_states_take_the_place_of_older_ones() {
        let object = json!({"data": {"k": "x".repeat(40 << 20)}});
        let object = object.as_object().unwrap();
        let allowance = Allowance::about(0);
        assert!(allowance.take(object).is_ok());
        assert!(allowance.take(object).is_ok());
        assert!(allowance.take(object).is_err());
        let id = |name: &str| Identity::new(GroupKind::new("", "ConfigMap"), Some("n"), name);
        let allowance = Allowance::about(0);
        for _ in 0..9 {
            assert!(allowance.replace(&id("a"), object).is_ok());
        }
        assert!(allowance.replace(&id("b"), object).is_ok());
        assert!(allowance.replace(&id("c"), object).is_err());
    }

    type Frames = http_body_util::StreamBody<
        futures::stream::BoxStream<'static, Result<http_body::Frame<Bytes>, std::io::Error>>,
    >;

    /// So many pieces of ten bytes at once, and then nothing: an end, or silence.
    fn pieces(count: usize, ends: bool) -> Frames {
        let piece = || Ok(http_body::Frame::data(Bytes::from_static(b"0123456789")));
        let pieces = futures::stream::repeat_with(piece).take(count);
        http_body_util::StreamBody::new(match ends {
            true => pieces.boxed(),
            false => pieces.chain(futures::stream::pending()).boxed(),
        })
    }

    #[tokio::test]
    async fn a_body_has_a_size_a_time_and_no_long_silence() {
        let turns = Arc::new(Semaphore::new(1));
        let long = TimeBounds::within(Duration::from_secs(600), Duration::from_secs(600));
        let short = Duration::from_millis(50);
        let silent = TimeBounds::within(Duration::from_secs(600), short);
        let ending = TimeBounds::within(short, Duration::from_secs(600));
        let read = read_whole(pieces(3, true), 30, long, &turns).await;
        assert_eq!(read.unwrap().bytes.len(), 30);
        let read = read_whole(pieces(4, true), 30, long, &turns).await;
        assert!(matches!(read, Err(BodyError::TooLarge)));
        let read = read_whole(pieces(3, false), 30, silent, &turns).await;
        assert!(matches!(read, Err(BodyError::Slow)), "silence");
        let read = read_whole(pieces(usize::MAX, true), usize::MAX, ending, &turns).await;
        assert!(matches!(read, Err(BodyError::Slow)), "all together");
        assert_eq!(read_error(pieces(3, false), silent).await.len(), 30);
        let said = read_error(pieces(usize::MAX, true), long).await;
        assert!(said.len() <= LARGEST_ERROR, "it has an end");
    }

    #[tokio::test]
    async fn large_bodies_are_read_one_at_a_time() {
        let turns = Arc::new(Semaphore::new(1));
        let long = TimeBounds::within(Duration::from_secs(600), Duration::from_secs(600));
        let large = || read_whole(pieces(LARGE / 10 + 1, true), usize::MAX, long, &turns);
        let first = large().await.unwrap();
        assert!(first.turn.is_some());
        let small = read_whole(pieces(1, true), usize::MAX, long, &turns).await;
        assert!(small.is_ok(), "small ones need no turn");
        let second = timeout(Duration::from_millis(50), large()).await;
        assert!(second.is_err(), "it waits for the first");
        drop(first);
        assert!(large().await.is_ok());
    }
}
