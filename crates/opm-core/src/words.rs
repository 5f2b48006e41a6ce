//! Small change of language: numbers with their nouns.

/// A number and its noun: `1 object`, `2 objects`.
pub fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// The verb that goes with a number: `1 object is`, `2 objects are`.
pub fn is_or_are(number: usize) -> &'static str {
    match number {
        1 => "is",
        _ => "are",
    }
}

#[cfg(test)]
mod tests {
    use super::{count, is_or_are};

    #[test]
    fn one_has_no_plural() {
        for (number, expected) in [(0, "0 objects"), (1, "1 object"), (2, "2 objects")] {
            assert_eq!(count(number, "object"), expected);
        }
        for (number, expected) in [(0, "are"), (1, "is"), (2, "are")] {
            assert_eq!(is_or_are(number), expected);
        }
    }
}
