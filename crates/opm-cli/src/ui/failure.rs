//! A failure in words: what happened, to which objects, and what to do next.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::HINT;
use crate::error::{CliError, ErrorObject};

const ERROR: Style = AnsiColor::Red.on_default().bold();

/// The lines that people read, without the last newline.
pub(super) fn for_people(error: &CliError) -> String {
    let mut text = format!("{ERROR}error:{ERROR:#} {}", error.message);
    for ErrorObject { identity, reason } in &error.objects {
        let _ = match reason {
            Some(reason) => write!(text, "\n  {identity}: {reason}"),
            None => write!(text, "\n  {identity}"),
        };
    }
    for hint in &error.hints {
        let _ = write!(text, "\n{HINT}hint:{HINT:#} {hint}");
    }
    text
}
