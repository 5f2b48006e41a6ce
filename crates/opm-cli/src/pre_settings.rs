//! What to answer before there are settings: help, the version, and a command line that cannot
//! be understood. A script that asked for JSON gets its one document here too.

use std::ffi::OsString;
use std::fmt::Write;

use clap::error::ErrorKind as ClapKind;
use clap::{CommandFactory, ValueEnum};
use opm_core::feature::{Choices, FeatureSet};

use crate::args::{Cli, GlobalArgs};
use crate::error::{CliError, ErrorKind, Exit};
use crate::settings::{ConfigFile, Key, Surroundings, resolve};
use crate::ui::{Color, Format, Ui, Verbosity};

/// Prints what clap has to say instead of a parsed command line.
pub(crate) fn answer(answer: &clap::Error, arguments: &[OsString], given: &Surroundings) -> Exit {
    let typed = scan(arguments);
    let ui = ui(&typed, given);
    match answer.kind() {
        ClapKind::DisplayHelp => print(&ui, &help(arguments, &typed, given)),
        ClapKind::DisplayVersion => print(&ui, &answer.render().ansi().to_string()),
        _ => {
            let text = answer.render().ansi().to_string();
            ui.say(Verbosity::Quiet, text.trim_end());
            ui.fail_document(&usage(&answer.render().to_string()))
        }
    }
}

fn print(ui: &Ui, text: &str) -> Exit {
    match ui.styled(text) {
        Ok(()) => Exit::DONE,
        Err(error) => ui.fail(&error),
    }
}

/// The help that was asked for. It ends with the features as they hold for this very command
/// line, as far as that can be told: they touch every command.
fn help(arguments: &[OsString], typed: &GlobalArgs, given: &Surroundings) -> String {
    let features = match resolve(typed, given, ConfigFile::Read) {
        Ok(settings) => settings.features,
        Err(_) => FeatureSet::new(given.declared.clone(), Choices::default()),
    };
    let command = ending_with(Cli::command(), &feature_help(&features));
    match command.try_get_matches_from(arguments) {
        Ok(_) => String::new(),
        Err(help) => help.render().ansi().to_string(),
    }
}

/// The command, its subcommands and theirs, with this text at the end of their help.
fn ending_with(command: clap::Command, text: &str) -> clap::Command {
    command
        .after_help(text.to_owned())
        .mut_subcommands(|subcommand| ending_with(subcommand, text))
}

fn feature_help(features: &FeatureSet) -> String {
    let header = Cli::command().get_styles().get_header().to_owned();
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

/// How to print while there are no settings yet, or none that can be used.
pub(crate) fn ui(typed: &GlobalArgs, given: &Surroundings) -> Ui {
    if let Ok(settings) = resolve(typed, given, ConfigFile::Read) {
        return Ui::new(settings.output, settings.verbosity, settings.color);
    }
    let output = typed.output.or_else(|| word(given, Key::Output));
    let color = typed
        .color
        .or_else(|| word(given, Key::Color))
        .unwrap_or_default();
    Ui::new(output, Verbosity::default(), color)
}

fn word<T: ValueEnum>(given: &Surroundings, key: Key) -> Option<T> {
    given
        .env
        .get(key.variable())?
        .to_str()
        .and_then(|given| T::from_str(given, false).ok())
}

/// Clap's message, taken apart: its first paragraph is what happened, the rest are hints.
fn usage(rendered: &str) -> CliError {
    let mut paragraphs = rendered
        .split("\n\n")
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let first = paragraphs.next().unwrap_or_default();
    let message = first
        .strip_prefix("error: ")
        .unwrap_or("a command is required");
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let hints = paragraphs
        .flat_map(str::lines)
        .map(|line| line.trim().trim_start_matches("tip: "));
    let hints = hints.filter(|line| !line.is_empty() && first.starts_with("error: "));
    hints.fold(CliError::new(ErrorKind::Usage, message), |error, hint| {
        error.hint(hint)
    })
}

/// Finds the flags that decide how to print and which features are on, on a command line that is
/// otherwise not understood.
pub(crate) fn scan(arguments: &[OsString]) -> GlobalArgs {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let words = words.split(|word| *word == "--").next().unwrap_or_default();
    let last = |flag: &str| values(words, flag).last();
    let output = last("--output").or_else(|| last("-o"));
    let names = |flag: &str| {
        let lists = values(words, flag).flat_map(|list| list.split(','));
        lists.map(str::to_owned).collect()
    };
    GlobalArgs {
        output: output.and_then(|given| Format::from_str(given, false).ok()),
        color: last("--color").and_then(|given| Color::from_str(given, false).ok()),
        config: last("--config").map(Into::into),
        feature_enable: names("--feature-enable"),
        feature_disable: names("--feature-disable"),
        ..GlobalArgs::default()
    }
}

/// The values that a flag is given: `--flag value`, `--flag=value`, and `-fvalue` for short ones.
fn values<'a>(words: &[&'a str], flag: &str) -> impl Iterator<Item = &'a str> {
    let short = !flag.starts_with("--");
    words
        .iter()
        .enumerate()
        .filter_map(move |(at, word)| match word.strip_prefix(flag)? {
            "" => words.get(at + 1).copied(),
            rest => rest.strip_prefix('=').or(short.then_some(rest)),
        })
}

#[cfg(test)]
mod tests {
    use super::scan;
    use crate::ui::Format;

    #[test]
    fn finds_the_output_format_in_any_spelling() {
        let cases: [(&[&str], Option<Format>); 8] = [
            (&["opm", "-o", "json"], Some(Format::Json)),
            (&["opm", "-ojson", "nonsense"], Some(Format::Json)),
            (&["opm", "-o=yaml"], Some(Format::Yaml)),
            (&["opm", "--output=json"], Some(Format::Json)),
            (&["opm", "x", "--output", "wide"], Some(Format::Wide)),
            (&["opm", "--output-directory", "json"], None),
            (&["opm", "--", "-o", "json"], None),
            (&["opm", "-o"], None),
        ];
        for (arguments, expected) in cases {
            let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
            assert_eq!(scan(&arguments).output, expected, "{arguments:?}");
        }
    }
}
