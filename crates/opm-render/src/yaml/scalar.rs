//! What an unquoted word means: what `kubectl` makes of it.
//!
//! That is YAML 1.1 as Go's yaml.v2 has it. `yes`, `on` and `n` are booleans, `0644`, `0o17`,
//! `0b11` and `1_000` are integers, `~` is null; dates and `1:30` stay text. Tests compare this
//! with the real `kubectl`.

use serde_json::{Number, Value};

/// What an unquoted word means.
pub(super) fn plain(word: &str) -> Value {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    if let Some(value) = old_boolean(word) {
        return Value::Bool(value);
    }
    let number = match word.as_bytes().first() {
        Some(b'.') => float(word),
        Some(b'0'..=b'9' | b'+' | b'-') => number(word),
        _ => None,
    };
    number.map_or_else(|| Value::String(word.to_owned()), Value::Number)
}

/// The booleans that YAML 1.2 reads as text.
pub(super) fn old_boolean(word: &str) -> Option<bool> {
    match word {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Whether a word is one of the numbers that JSON has no place for.
pub(super) fn is_not_finite(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(word, ".nan" | ".NaN" | ".NAN")
}

fn number(word: &str) -> Option<Number> {
    let plain: String;
    let digits = match word.contains('_') {
        true => {
            plain = word.replace('_', "");
            plain.as_str()
        }
        false => word,
    };
    integer(digits).or_else(|| match is_float(digits) {
        true => float(digits),
        false => None,
    })
}

/// An integer of 64 bits, with a sign and the prefix of its base.
fn integer(word: &str) -> Option<Number> {
    let (negative, unsigned) = match word.as_bytes().first()? {
        b'-' => (true, &word[1..]),
        b'+' => (false, &word[1..]),
        _ => (false, word),
    };
    let (base, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &unsigned[2..]),
        [b'0', b'o' | b'O', ..] => (8, &unsigned[2..]),
        [b'0', b'b' | b'B', ..] => (2, &unsigned[2..]),
        [b'0', _, ..] => (8, &unsigned[1..]),
        _ => (10, unsigned),
    };
    // Rust's own parser would take a second sign.
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let size = u64::from_str_radix(digits, base).ok()?;
    match negative {
        true => 0_i64.checked_sub_unsigned(size).map(Number::from),
        false if word.starts_with('+') => i64::try_from(size).ok().map(Number::from),
        false => Some(Number::from(size)),
    }
}

/// Whether the whole word is digits with at most one point, and an exponent perhaps.
fn is_float(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let mantissa = match mantissa.split_once('.') {
        Some(("", after)) => !after.is_empty() && all_digits(after),
        Some((before, after)) => all_digits(before) && all_digits(after),
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    let exponent = exponent.is_none_or(|given| {
        let digits = given.strip_prefix(['+', '-']).unwrap_or(given);
        !digits.is_empty() && all_digits(digits)
    });
    mantissa && exponent
}

/// A float that is finite: what is out of range stays text.
fn float(word: &str) -> Option<Number> {
    let value: f64 = word.parse().ok()?;
    Number::from_f64(value)
}

/// The text of a key: keys of JSON are texts, so `on: 1` has the key `true`.
pub(super) fn key(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) if number.is_i64() => Some(number.to_string()),
        Value::Number(number) if number.is_f64() => number.as_f64().map(float_key),
        _ => None,
    }
}

/// A float as a key is written with the digits of single precision.
fn float_key(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "kubectl writes such keys in single precision"
    )]
    let single = value as f32;
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let written = format!("{single:e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    match (-4..6).contains(&exponent) {
        true => single.to_string(),
        false => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_that_are_not_text() {
        for (word, expected) in [
            ("yes", json!(true)),
            ("OFF", json!(false)),
            ("n", json!(false)),
            ("yEs", json!("yEs")),
            ("", json!(null)),
            ("~", json!(null)),
            ("nULL", json!("nULL")),
            ("0644", json!(420)),
            ("-0644", json!(-420)),
            ("0o17", json!(15)),
            ("0b11", json!(3)),
            ("0B11", json!(3)),
            ("0x", json!("0x")),
            ("0x-1", json!("0x-1")),
            ("08", json!(8.0)),
            ("1_000", json!(1000)),
            ("_1", json!("_1")),
            ("1_0.5", json!(10.5)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1e400", json!("1e400")),
            ("1e", json!("1e")),
            (".5", json!(0.5)),
            (".e3", json!(".e3")),
            ("1:30", json!("1:30")),
            ("2001-12-14", json!("2001-12-14")),
            ("--1", json!("--1")),
            ("+-1", json!("+-1")),
            ("1.2.3", json!("1.2.3")),
        ] {
            assert_eq!(plain(word), expected, "{word}");
        }
    }

    #[test]
    fn keys_are_texts() {
        for (value, expected) in [
            (json!(true), Some("true")),
            (json!(16), Some("16")),
            (json!(1.5), Some("1.5")),
            (json!(0.1), Some("0.1")),
            (json!(1e-7), Some("1e-07")),
            (json!(1e21), Some("1e+21")),
            (json!(null), None),
            (json!(u64::MAX), None),
            (json!([]), None),
        ] {
            assert_eq!(key(&value).as_deref(), expected, "{value}");
        }
    }
}
