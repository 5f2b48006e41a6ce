//! Which characters may be shown: the one place that decides it.
//!
//! Text comes from files, records and clusters, and must not move the cursor of a terminal, change
//! its colours, forge its lines, or show in another order than it is read.

/// Whether a character must be written out instead of shown. A newline must not.
pub fn is_unprintable(c: char) -> bool {
    matches!(c,
        // Marks and overrides of the writing direction.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Ends of lines that are not newlines, a byte order mark, and invisible tags.
        | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}'
    ) || (c.is_control() && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::is_unprintable;

    #[test]
    fn what_a_terminal_would_obey_is_not_shown() {
        for c in
            "\u{0}\t\r\u{1b}\u{7f}\u{80}\u{9b}\u{202e}\u{2066}\u{200f}\u{2028}\u{feff}\u{e0041}"
                .chars()
        {
            assert!(is_unprintable(c), "{c:?}");
        }
        for c in "a \n~\u{a0}é名\u{200d}\u{1f469}\u{301}".chars() {
            assert!(!is_unprintable(c), "{c:?}");
        }
    }
}
