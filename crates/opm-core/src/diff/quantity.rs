//! Quantities by value: `1000m` is `1`, and `1Gi` is `1024Mi`.
//!
//! A quantity is a decimal number with a decimal or binary suffix or an exponent. Each is reduced
//! to a whole number without factors of two and five, and the powers of those two: exact, with
//! no arithmetic on fractions.

use serde_json::Value;

/// Whether two values are the same: equal, or the same number in another spelling, or, where
/// quantities stand, the same quantity.
pub(crate) fn same_value(a: &Value, b: &Value, quantities: bool) -> bool {
    let integers = a.is_i64() && b.is_i64();
    let numbers = a.is_number() && b.is_number() && !integers && a.as_f64() == b.as_f64();
    a == b || numbers || (quantities && same_quantity(a, b))
}

/// Whether two values are the same quantity. What is no quantity is the same as nothing.
pub(crate) fn same_quantity(a: &Value, b: &Value) -> bool {
    match (Quantity::read(a), Quantity::read(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// `digits · 2^twos · 5^fives`, the digits free of factors of two and five.
#[derive(PartialEq, Eq)]
struct Quantity {
    digits: i128,
    twos: i32,
    fives: i32,
}

impl Quantity {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-'))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        let (twos, tens) = powers(suffix)?;
        let tens = tens.checked_sub(places)?;
        Some(
            Self {
                digits,
                twos: twos.checked_add(tens)?,
                fives: tens,
            }
            .reduced(),
        )
    }

    fn reduced(mut self) -> Self {
        if self.digits == 0 {
            return Self {
                digits: 0,
                twos: 0,
                fives: 0,
            };
        }
        while self.digits % 2 == 0 {
            self.digits /= 2;
            self.twos = self.twos.saturating_add(1);
        }
        while self.digits % 5 == 0 {
            self.digits /= 5;
            self.fives = self.fives.saturating_add(1);
        }
        self
    }
}

/// The powers of two and of ten that a suffix stands for.
fn powers(suffix: &str) -> Option<(i32, i32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        exponent => (0, exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}
