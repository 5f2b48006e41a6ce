//! A failure in words: what happened, to which objects, and what to do next.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::{HINT, printable};
use crate::error::CliError;
use opm_engine::FailedObject;

const ERROR: Style = AnsiColor::Red.on_default().bold();

/// The lines that people read, without the last newline.
pub(super) fn for_people(error: &CliError) -> String {
    let mut text = format!(
        "{ERROR}error:{ERROR:#} {}",
        printable::lines(&error.message)
    );
    let untold = error.objects.iter().filter(|object| !object.told);
    for FailedObject {
        identity, reason, ..
    } in untold
    {
        let line = match reason.as_str() {
            "" => identity.to_string(),
            reason => format!("{identity}: {reason}"),
        };
        let _ = write!(text, "\n  {}", printable::line(&line));
    }
    for hint in &error.hints {
        let _ = write!(text, "\n{HINT}hint:{HINT:#} {}", printable::lines(hint));
    }
    text
}

#[cfg(test)]
mod tests {
    use opm_core::identity::{GroupKind, Identity};

    use opm_engine::{FailedObject, FailureKind};

    use super::for_people;
    use crate::error::CliError;

    #[test]
    fn names_objects_and_hints_and_lets_nobody_write_to_the_terminal() {
        let object = Identity::new(GroupKind::new("", "Service"), Some("games"), "web\x1b[2J");
        let mut error = CliError::new(FailureKind::Refused, "refused:\x1b]0;title\x07 twice");
        error.objects = vec![
            FailedObject {
                identity: object,
                reason: "it is\nanother's".to_owned(),
                told: false,
            },
            FailedObject {
                identity: Identity::new(GroupKind::new("", "Namespace"), None, "told"),
                reason: "the message says it".to_owned(),
                told: true,
            },
            FailedObject {
                identity: Identity::new(GroupKind::new("", "Namespace"), None, "x"),
                reason: String::new(),
                told: false,
            },
        ];
        let error = error.hint("do this");
        let text = anstream::adapter::strip_str(&for_people(&error)).to_string();
        let expected = "error: refused:\\u{1b}]0;title\\u{7} twice\n  \
            Service/web\\u{1b}[2J in namespace games: it is\\nanother's\n  \
            Namespace/x\nhint: do this";
        assert_eq!(text, expected);
    }
}
