//! Small change of language: numbers with their nouns.

/// A number and its noun: `1 object`, `2 objects`.
pub fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn one_has_no_plural() {
        for (number, expected) in [(0, "0 objects"), (1, "1 object"), (2, "2 objects")] {
            assert_eq!(count(number, "object"), expected);
        }
    }
}
