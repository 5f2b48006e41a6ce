//! Questions to the person at the terminal, if there is one.

use std::future::Future;
use std::io::{IsTerminal as _, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use opm_core::event::{AnnouncedObject, PlannedAction};
use opm_core::identity::Identity;
use opm_engine::ports::{AnnouncedHook, Answer, Prompt, Question};

use super::progress::Progress;
use crate::answers::repair::findings;
use crate::ui::Ui;

/// How many objects of a plan are named.
const NAMED: usize = 10;

/// Asks on the terminal. `--yes` answers what it may answer; without a terminal nothing can be
/// asked.
#[derive(Debug, Clone)]
pub(crate) struct TerminalPrompt {
    ui: Ui,
    yes: bool,
    progress: Progress,
    /// Where the cluster is.
    server: String,
    /// Whether somebody has agreed to everything that the plan removes.
    agreed: Arc<AtomicBool>,
}

impl TerminalPrompt {
    /// Asks through `ui`; `yes` is `--yes`.
    pub(super) fn new(ui: Ui, yes: bool, progress: Progress, server: &str) -> Self {
        Self {
            ui,
            yes,
            progress,
            server: server.to_owned(),
            agreed: Arc::default(),
        }
    }

    /// Asks until the answer is a plain one; none if nobody is there. `details` is what is shown
    /// to whoever asks for more.
    pub(crate) async fn ask_with<F>(&self, question: &Question, details: impl Fn() -> F) -> Answer
    where
        F: Future<Output = String>,
    {
        if self.yes && answered_by_yes(question) {
            return Answer::Yes;
        }
        if !stdin().is_terminal() {
            return Answer::CannotAsk;
        }
        let reviews = matches!(question, Question::Review { .. });
        // Nobody is asked twice about the same.
        if reviews && self.agreed.load(Ordering::Relaxed) {
            return Answer::Yes;
        }
        self.progress.asks();
        let keys = if reviews {
            "[y/N/d for details]"
        } else {
            "[y/N]"
        };
        let mut words = wording(question, &self.server);
        let answer = loop {
            self.ui.ask(&format!("{words} {keys} "));
            match tokio::task::spawn_blocking(read_line).await {
                Ok(Some(line)) if says_yes(&line) => break Answer::Yes,
                Ok(Some(line)) if reviews && line.trim().eq_ignore_ascii_case("d") => {
                    self.ui.ask_styled(&details().await);
                    words = "Do this?".to_owned();
                }
                Ok(Some(_)) => break Answer::No,
                Ok(None) | Err(_) => break Answer::CannotAsk,
            }
        };
        self.progress.answered();
        let about_all = matches!(
            question,
            Question::EmptyRender { .. } | Question::ReplaceAll { .. }
        );
        if about_all && answer == Answer::Yes {
            self.agreed.store(true, Ordering::Relaxed);
        }
        answer
    }
}

impl Prompt for TerminalPrompt {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(self.ask_with(question, || async {
            "there are no more details\n".to_owned()
        }))
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
        | Question::Review { .. }
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

fn wording(question: &Question, server: &str) -> String {
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
        Question::Review {
            release,
            objects,
            recreated,
            hooks,
        } => review_words(release, objects, recreated, hooks, server),
        Question::Delete {
            release,
            objects,
            kept,
            hooks,
        } => {
            let hooks = hook_lines(hooks);
            let hooks = hooks.iter().map(|line| format!("{line}\n"));
            let hooks: String = hooks.collect();
            let stays = match kept.is_empty() {
                true => String::new(),
                false => format!("These stay:\n{}\n", list(kept)),
            };
            if objects.is_empty() {
                return format!(
                    "{stays}{hooks}No object goes.\nDelete the release {release} from {server}?"
                );
            }
            let goes = these(objects.len(), "object");
            format!(
                "{}\n{stays}{hooks}Delete {goes}, and the release {release}, from {server}?",
                list(objects)
            )
        }
        Question::PruneKept { objects } => format!(
            "{}\nDelete {}?",
            list(objects),
            these(objects.len(), "kept object")
        ),
        Question::ForgetAll { release, objects } => format!(
            "{}\nForget {}, and the release {release} with its history? Nothing is deleted.",
            list(objects),
            these(objects.len(), "object")
        ),
        Question::VolumeData { leaves, fresh } => {
            let mut lines = Vec::new();
            if !leaves.is_empty() {
                lines.push(format!(
                    "{}\nWhat is named here stays with its data, and nothing uses it any more.",
                    list(leaves)
                ));
            }
            if !fresh.is_empty() {
                lines.push(format!(
                    "{}\nWhat is named here does not exist any more, and begins empty.",
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

fn these(count: usize, noun: &str) -> String {
    match count {
        1 => format!("this {noun}"),
        count => format!("these {count} {noun}s"),
    }
}

/// Hooks that run, by name.
fn hook_lines(hooks: &[AnnouncedHook]) -> Vec<String> {
    let named = hooks.iter().take(NAMED);
    let named = named.map(|one| format!("  > {} runs as a {} hook", one.identity, one.event));
    let more = hooks.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("  > and {more} more hooks"));
    named.chain(more).collect()
}

/// A plan in a few lines: what goes, is recreated or taken over by name, the rest counted.
fn review_words(
    release: &str,
    objects: &[AnnouncedObject],
    recreated: &[Identity],
    hooks: &[AnnouncedHook],
    server: &str,
) -> String {
    let of = |planned: PlannedAction| -> Vec<&AnnouncedObject> {
        let objects = objects.iter();
        objects.filter(|one| one.planned == planned).collect()
    };
    let mut lines: Vec<String> = Vec::new();
    for (planned, sign, words) in [
        (PlannedAction::Prune, "-", "is removed"),
        (PlannedAction::Adopt, "~", "is taken over"),
    ] {
        let named = of(planned);
        lines.extend(
            named
                .iter()
                .take(NAMED)
                .map(|one| format!("  {sign} {} {words}", one.identity)),
        );
        if named.len() > NAMED {
            lines.push(format!("  {sign} and {} more", named.len() - NAMED));
        }
    }
    let recreated = recreated.iter();
    lines.extend(recreated.map(|one| format!("  ± {one} is deleted and created again")));
    lines.extend(hook_lines(hooks));
    let counts = [
        (PlannedAction::Create, "to create"),
        (PlannedAction::Update, "to bring to what is rendered"),
        (PlannedAction::Adopt, "to take over"),
        (PlannedAction::Prune, "to remove"),
        (PlannedAction::Keep, "to keep"),
    ];
    let counts = counts.map(|(planned, words)| (of(planned).len(), words));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    lines.insert(0, format!("{release} on {server}: {}", counts.join(", ")));
    format!("{}\nDo this?", lines.join("\n"))
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
    fn questions_count_what_they_are_about() {
        let object = |name: &str| Identity::new(GroupKind::new("", "ConfigMap"), Some("n"), name);
        let delete = |objects: &[Identity], kept: &[Identity]| {
            let question = Question::Delete {
                release: "web".to_owned(),
                objects: objects.to_vec(),
                kept: kept.to_vec(),
                hooks: Vec::new(),
            };
            wording(&question, "the sandbox")
        };
        let (one, two) = (vec![object("a")], vec![object("a"), object("b")]);
        for (said, expected) in [
            (
                delete(&one, &[]),
                "  ConfigMap/a in namespace n\nDelete this object, and the release web, from the sandbox?",
            ),
            (
                delete(&two, &[]),
                "  ConfigMap/a in namespace n\n  ConfigMap/b in namespace n\n\
                 Delete these 2 objects, and the release web, from the sandbox?",
            ),
            (
                delete(&[], &one),
                "These stay:\n  ConfigMap/a in namespace n\nNo object goes.\n\
                 Delete the release web from the sandbox?",
            ),
            (
                wording(&Question::PruneKept { objects: one }, "the sandbox"),
                "  ConfigMap/a in namespace n\nDelete this kept object?",
            ),
            (
                wording(&Question::PruneKept { objects: two }, "the sandbox"),
                "  ConfigMap/a in namespace n\n  ConfigMap/b in namespace n\nDelete these 2 kept objects?",
            ),
        ] {
            assert_eq!(said, expected);
        }
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
