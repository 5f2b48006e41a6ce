//! Questions to the person at the terminal, if there is one.

use std::io::{IsTerminal as _, stdin};

use futures::future::BoxFuture;
use opm_core::identity::Identity;
use opm_engine::ports::{Answer, Prompt, Question};

use super::progress::Progress;
use crate::answers::repair::findings;
use crate::ui::Ui;

/// Asks on the terminal. `--yes` answers what it may answer; without a terminal nothing can be
/// asked.
#[derive(Debug, Clone)]
pub(crate) struct TerminalPrompt {
    ui: Ui,
    yes: bool,
    progress: Progress,
}

impl TerminalPrompt {
    /// Asks through `ui`; `yes` is `--yes`.
    pub(super) fn new(ui: Ui, yes: bool, progress: Progress) -> Self {
        Self { ui, yes, progress }
    }
}

impl Prompt for TerminalPrompt {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            if self.yes && answered_by_yes(question) {
                return Answer::Yes;
            }
            if !stdin().is_terminal() {
                return Answer::CannotAsk;
            }
            self.progress.asks();
            self.ui.ask(&format!("{} [y/N] ", wording(question)));
            let typed = tokio::task::spawn_blocking(read_line).await;
            self.progress.answered();
            match typed {
                Ok(Some(line)) if says_yes(&line) => Answer::Yes,
                Ok(Some(_)) => Answer::No,
                Ok(None) | Err(_) => Answer::CannotAsk,
            }
        })
    }
}

/// `--yes` answers prompts; it never stands in for a flag that overrides safety.
fn answered_by_yes(question: &Question) -> bool {
    match question {
        Question::Recreate { .. } | Question::EmptyRender { .. } | Question::ReplaceAll { .. } => {
            false
        }
        Question::Delete { .. }
        | Question::PruneKept { .. }
        | Question::ForgetAll { .. }
        | Question::VolumeData { .. }
        | Question::Repair(_)
        | Question::Unlock { .. } => true,
    }
}

fn says_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = stdin().read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}

fn wording(question: &Question) -> String {
    match question {
        Question::Recreate { identity, fields } => format!(
            "{identity}: {} cannot be changed in place. Delete it and create it anew?",
            fields.join(", ")
        ),
        Question::EmptyRender { release, objects } => format!(
            "{}\nThe module renders no objects. Delete all of these, which release {release} has?",
            list(objects)
        ),
        Question::ReplaceAll { release, objects } => format!(
            "{}\nThis looks like another module of the same name. Remove these objects, which are all \
             that the release {release} has?",
            list(objects)
        ),
        Question::Delete { release, objects } => {
            format!(
                "{}\nDelete these objects, and the release {release}?",
                list(objects)
            )
        }
        Question::PruneKept { objects } => format!("{}\nDelete these kept objects?", list(objects)),
        Question::ForgetAll { release, objects } => format!(
            "{}\nForget these objects, which stay as they are, and the release {release} with its history?",
            list(objects)
        ),
        Question::VolumeData { leaves, fresh } => {
            let mut lines = Vec::new();
            if !leaves.is_empty() {
                lines.push(format!(
                    "{}\nThese stay with their data, and nothing uses them any more.",
                    list(leaves)
                ));
            }
            if !fresh.is_empty() {
                lines.push(format!(
                    "{}\nThese do not exist any more, and begin empty.",
                    list(fresh)
                ));
            }
            format!("{}\nGo back all the same?", lines.join("\n"))
        }
        Question::Repair(report) => {
            format!("{}\nWrite this record?", findings(report))
        }
        Question::Unlock { holder } => format!("The lock is held by {holder}.\nRemove it?"),
    }
}

fn list(objects: &[Identity]) -> String {
    objects
        .iter()
        .map(|object| format!("  {object}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use opm_core::identity::GroupKind;

    use super::*;

    #[test]
    fn yes_never_stands_in_for_a_flag() {
        let identity = Identity::new(GroupKind::new("apps", "Deployment"), Some("default"), "web");
        let recreate = Question::Recreate {
            identity,
            fields: vec!["spec.selector".to_owned()],
        };
        assert!(!answered_by_yes(&recreate));
        assert!(!answered_by_yes(&Question::EmptyRender {
            release: "web".to_owned(),
            objects: Vec::new(),
        }));
        assert!(answered_by_yes(&Question::Unlock {
            holder: "deployer".to_owned()
        }));
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        for (line, yes) in [
            ("y\n", true),
            ("YES\n", true),
            ("\n", false),
            ("no\n", false),
            ("yep\n", false),
        ] {
            assert_eq!(says_yes(line), yes, "{line:?}");
        }
    }
}
