//! What help says beside what each command's arguments say: examples, exit codes, the features as
//! they hold, and where somebody arrives who comes with the words of another tool.

use std::fmt::Write;

use clap::Command;
use opm_core::feature::FeatureSet;

use crate::commands::examples;

/// How `opm` ends, as its own help says it.
pub(crate) const EXIT_CODES: [(u8, &str); 10] = [
    (0, "done"),
    (1, "failed"),
    (
        2,
        "invalid input or usage, or refused before anything was touched",
    ),
    (3, "the cluster cannot be reached"),
    (4, "not permitted"),
    (5, "not found"),
    (6, "differences or drift were found, with --exit-code"),
    (7, "locked, or somebody else wrote the record first"),
    (
        8,
        "recorded, but not ready in time, or something could not be pruned",
    ),
    (130, "interrupted"),
];

/// Words of other tools, and ours.
const OTHER_WORDS: [(&str, &str); 14] = [
    ("template", "opm mod build"),
    ("render", "opm mod build"),
    ("install", "opm mod apply"),
    ("upgrade", "opm mod apply"),
    ("deploy", "opm mod apply"),
    ("up", "opm mod apply"),
    ("plan", "opm mod diff"),
    ("lint", "opm mod vet"),
    ("uninstall", "opm mod delete"),
    ("destroy", "opm mod delete"),
    ("remove", "opm mod delete"),
    ("get", "opm mod show, or opm mod status"),
    ("create", "opm mod init"),
    ("rollout", "opm mod status --watch, or opm mod rollback"),
];

/// Our word for the word of another tool.
pub(crate) fn our_word(word: &str) -> Option<&'static str> {
    let mut words = OTHER_WORDS.iter();
    words.find_map(|(other, ours)| (*other == word).then_some(*ours))
}

/// The command with its examples and exit codes, as they always are.
pub(crate) fn documented(command: Command) -> Command {
    ending_with(command, "", "")
}

/// The command, its subcommands and theirs, with examples in the long help and the features at
/// the end of every help.
pub(crate) fn with_features(command: Command, features: &FeatureSet) -> Command {
    let text = feature_help(&command, features);
    ending_with(command, "", &text)
}

fn ending_with(command: Command, path: &str, features: &str) -> Command {
    let header = *command.get_styles().get_header();
    let mut long = String::new();
    let examples = examples::of(path);
    if !examples.is_empty() {
        let _ = writeln!(long, "{header}Examples:{header:#}");
        for (what, line) in examples {
            let _ = writeln!(long, "  # {what}\n  $ {line}");
        }
        long.push('\n');
    }
    if path.is_empty() {
        let _ = writeln!(
            long,
            "{header}Short ways:{header:#}\n  `opm apply`, `opm status`, `opm ls`, `opm rm` and so on \
             are `opm mod apply` and so on.\n\n{header}Exit codes:{header:#}"
        );
        for (code, meaning) in EXIT_CODES {
            let _ = writeln!(long, "  {code:>3}  {meaning}");
        }
        long.push('\n');
    }
    long.push_str(features);
    let command = match features {
        "" => command,
        features => command.after_help(features.to_owned()),
    };
    let parent = path.to_owned();
    command
        .after_long_help(long.trim_end().to_owned())
        .mut_subcommands(|subcommand| {
            let name = subcommand.get_name();
            let path = match (parent.as_str(), subcommand.is_hide_set()) {
                // A short way to a command of `mod`.
                ("", true) if name != "man" => format!("mod {name}"),
                ("", _) => name.to_owned(),
                (parent, _) => format!("{parent} {name}"),
            };
            ending_with(subcommand, &path, features)
        })
}

fn feature_help(command: &Command, features: &FeatureSet) -> String {
    let header = *command.get_styles().get_header();
    let mut text = format!("{header}Features:{header:#}\n");
    for feature in features.declared() {
        let state = if features.is_enabled(&feature.name) {
            "on"
        } else {
            "off"
        };
        let (name, stage) = (feature.name.as_str(), feature.stage);
        let _ = writeln!(text, "  {name:<24} {stage:<12} {state}");
    }
    text + "\n`opm feature list -o wide` and `opm feature docs` tell more about them."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    fn leaves(command: &Command, path: &str, all: &mut Vec<String>) {
        for subcommand in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let path = format!("{path} {}", subcommand.get_name());
            match subcommand.has_subcommands() {
                true => leaves(subcommand, &path, all),
                false => all.push(path.trim_start().to_owned()),
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        let mut all = Vec::new();
        leaves(&args::command(), "", &mut all);
        assert!(all.len() > 20, "{all:?}");
        for path in all {
            assert!(!examples::of(&path).is_empty(), "opm {path}");
        }
    }

    #[test]
    fn a_word_of_another_tool_is_none_of_ours() {
        let command = args::command();
        for (word, _) in OTHER_WORDS {
            assert!(command.find_subcommand(word).is_none(), "{word}");
        }
    }
}
