//! How wide text is on a terminal, and how it is cut to fit.

use std::borrow::Cow;
use std::os::fd::AsFd;

use rustix::termios::{isatty, tcgetwinsize};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What a terminal is taken to be that does not say how wide it is.
const USUAL: usize = 80;

/// Below this many columns nothing fits anyway.
const LEAST: usize = 20;

/// How many columns and rows the terminal behind a stream has; none where there is no terminal.
pub(crate) fn size_of(stream: impl AsFd) -> Option<(usize, usize)> {
    if !isatty(&stream) {
        return None;
    }
    let size = tcgetwinsize(stream).ok();
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    let rows = size.map_or(0, |size| usize::from(size.ws_row));
    let columns = match columns {
        0 => USUAL,
        columns => columns.max(LEAST),
    };
    Some((columns, if rows == 0 { 24 } else { rows }))
}

/// How many columns a line takes.
pub(crate) fn width(line: &str) -> usize {
    line.width()
}

/// The line, cut with `…` if it is wider than this.
pub(crate) fn cut(line: &str, columns: usize) -> Cow<'_, str> {
    if width(line) <= columns {
        return Cow::Borrowed(line);
    }
    let mut left = columns.saturating_sub(1);
    let mut fits = String::new();
    for c in line.chars() {
        let wide = c.width().unwrap_or_default();
        if wide > left {
            break;
        }
        left -= wide;
        fits.push(c);
    }
    fits.truncate(fits.trim_end().len());
    fits.push('…');
    Cow::Owned(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_is_cut_where_it_fits() {
        for (line, columns, expected) in [
            ("short", 5, "short"),
            ("shorter", 5, "shor…"),
            ("two words", 5, "two…"),
            ("名前名前", 5, "名前…"),
            ("名前名前", 8, "名前名前"),
            ("", 0, ""),
            ("größe", 3, "gr…"),
        ] {
            let fits = cut(line, columns);
            assert_eq!(fits, expected, "{line} in {columns}");
            assert!(width(&fits) <= columns.max(1));
        }
    }
}
