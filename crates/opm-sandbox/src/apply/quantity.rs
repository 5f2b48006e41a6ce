//! Quantities in canonical form: `1000m` is stored as `1`, `1024Mi` as `1Gi`.

const DECIMAL: &[(&str, i32)] = &[
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: &[&str] = &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const NANO: i128 = 1_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// `None` when the text is no quantity.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (nanos, mut format) = parse(text.trim())?;
    if nanos == 0 {
        return Some("0".into());
    }
    if format == Format::Binary && (nanos.abs() < 1024 * NANO || nanos % NANO != 0) {
        format = Format::Decimal;
    }
    Some(match format {
        Format::Binary => {
            let (mut number, mut step) = (nanos / NANO, 0);
            while number % 1024 == 0 && step + 1 < BINARY.len() {
                number /= 1024;
                step += 1;
            }
            format!("{number}{}", BINARY[step])
        }
        _ => {
            let (mut number, mut exponent) = (nanos, -9);
            while number % 1000 == 0 && exponent < 18 {
                number /= 1000;
                exponent += 3;
            }
            match (format, exponent) {
                (Format::Exponent, 0) => number.to_string(),
                (Format::Exponent, e) => format!("{number}e{e}"),
                (_, e) => {
                    let suffix = DECIMAL.iter().find(|(_, x)| *x == e).map_or("", |(s, _)| s);
                    format!("{number}{suffix}")
                }
            }
        }
    })
}

fn parse(text: &str) -> Option<(i128, Format)> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let mantissa: i128 = digits.parse().ok()?;
    let scale = -(i32::try_from(fraction.len()).ok()?);
    let (nanos, format) = match BINARY.iter().position(|s| !s.is_empty() && *s == suffix) {
        Some(step) => (
            scaled(mantissa.checked_mul(1024i128.pow(step as u32))?, scale),
            Format::Binary,
        ),
        None => {
            let (exponent, format) = decimal_suffix(suffix)?;
            (scaled(mantissa, scale + exponent), format)
        }
    };
    let nanos = nanos?;
    Some((if negative { -nanos } else { nanos }, format))
}

fn decimal_suffix(suffix: &str) -> Option<(i32, Format)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        return Some((*exponent, Format::Decimal));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((exponent.parse().ok()?, Format::Exponent))
}

/// In nanos, rounded up: what asks for something gets something.
fn scaled(mantissa: i128, scale: i32) -> Option<i128> {
    let power = scale + 9;
    if power >= 0 {
        return mantissa.checked_mul(10i128.checked_pow(power as u32)?);
    }
    let divisor = 10i128.checked_pow(power.unsigned_abs())?;
    Some(mantissa.div_euclid(divisor) + i128::from(mantissa % divisor != 0))
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn canonical_forms() {
        for (given, expected) in [
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("512Ki", "512Ki"),
            ("1000", "1k"),
            ("100", "100"),
            ("0", "0"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("1E", "1E"),
            ("-1500m", "-1500m"),
            ("8Gi", "8Gi"),
        ] {
            assert_eq!(canonical(given).as_deref(), Some(expected), "{given}");
        }
        assert_eq!(canonical("1x"), None);
        assert_eq!(canonical(""), None);
    }
}
