//! Numbers as text, in one spelling per number.
//!
//! An integer keeps its digits. A float is told from an integer by its fraction or exponent, as
//! in CUE, where `1` and `1.0` are different: `1.50`, `15e-1` and `1.5` are one float, spelled
//! `1.5`.

use thiserror::Error;

use crate::name::text_type;

/// Exponents beyond this are beyond what CUE reads back.
const MAX_EXPONENT: i64 = 100_000;
/// From so many digits before the point on, a float is written with an exponent.
const MAX_WHOLE_DIGITS: i64 = 21;
/// With more zeros than this behind the point, a float is written with an exponent.
const MAX_LEADING_ZEROS: i64 = 5;

/// A text that is no number, or none that could be read back.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NumberError {
    /// Not a decimal number.
    #[error("{0:?} is not a decimal number")]
    Malformed(String),
    /// Too large or too small to be read back.
    #[error("the number {0:?} has an exponent beyond {MAX_EXPONENT}")]
    Exponent(String),
}

/// A number in its canonical spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(String);

impl Number {
    /// Reads a decimal number as JSON spells it: `-12`, `1.50`, `1E+21`.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        let shown = || text.chars().take(40).collect::<String>();
        let parts = NumberParts::split(text).ok_or_else(|| NumberError::Malformed(shown()))?;
        if parts.is_integer() {
            return Ok(Self(parts.integer()));
        }
        parts
            .float()
            .map(Self)
            .ok_or_else(|| NumberError::Exponent(shown()))
    }
}

text_type!(Number);

impl From<&serde_json::Number> for Number {
    fn from(number: &serde_json::Number) -> Self {
        // What serde_json prints is a JSON number within f64's exponents: it always parses.
        let text = number.to_string();
        Self::parse(&text).unwrap_or(Self(text))
    }
}

/// A number taken apart: sign, digits before and behind the point, exponent.
struct NumberParts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: Option<&'a str>,
    exponent: Option<&'a str>,
}

impl<'a> NumberParts<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (rest, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let unsigned = exponent.map(|e| e.strip_prefix(['+', '-']).unwrap_or(e));
        let fits = digits(whole) && fraction.is_none_or(digits) && unsigned.is_none_or(digits);
        fits.then_some(Self {
            negative,
            whole,
            fraction,
            exponent,
        })
    }

    fn is_integer(&self) -> bool {
        self.fraction.is_none() && self.exponent.is_none()
    }

    fn integer(&self) -> String {
        match self.whole.trim_start_matches('0') {
            "" => "0".to_owned(),
            digits => format!("{}{digits}", self.sign()),
        }
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    /// The canonical float, unless its exponent is out of bounds.
    fn float(&self) -> Option<String> {
        let fraction = self.fraction.unwrap_or_default();
        let all = format!("{}{fraction}", self.whole);
        let trimmed = all.trim_start_matches('0');
        let digits = trimmed.trim_end_matches('0');
        if digits.is_empty() {
            return Some("0.0".to_owned());
        }
        let exponent: i64 = self.exponent.map_or(Some(0), |text| text.parse().ok())?;
        let length = |text: &str| i64::try_from(text.len()).ok();
        let point = exponent.checked_add(length(trimmed)? - length(fraction)?)?;
        Some(format!("{}{}", self.sign(), written(digits, point)?))
    }
}

/// `0.DIGITS` times ten to the power of `point`, where the digits neither begin nor end with 0.
fn written(digits: &str, point: i64) -> Option<String> {
    let exponent = point.checked_sub(1).filter(|e| e.abs() <= MAX_EXPONENT)?;
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
    if (-MAX_LEADING_ZEROS..=0).contains(&point) {
        return Some(format!("0.{}{digits}", zeros(-point)));
    }
    let split = usize::try_from(point).unwrap_or_default();
    if (1..=MAX_WHOLE_DIGITS).contains(&point) {
        return Some(match digits.split_at_checked(split) {
            Some((whole, "")) => format!("{whole}.0"),
            Some((whole, fraction)) => format!("{whole}.{fraction}"),
            None => format!(
                "{digits}{}.0",
                zeros(point - i64::try_from(digits.len()).ok()?)
            ),
        });
    }
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    Some(format!("{first}{dot}{rest}e{exponent:+}"))
}
