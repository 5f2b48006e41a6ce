//! What to answer before there are settings: help, the version, and a command line that cannot
//! be understood. A script that asked for JSON gets its one document here too.

use std::ffi::OsString;

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind as ClapKind};
use opm_core::feature::{Choices, FeatureSet};

use crate::args::{self, GlobalArgs};
use crate::error::{CliError, ErrorKind, Exit};
use crate::help;
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
            let mut error = usage(&answer.render().to_string());
            for hint in our_hints(answer, arguments) {
                ui.hint(&hint);
                error = error.hint(hint);
            }
            ui.fail_document(&error)
        }
    }
}

fn print(ui: &Ui, text: &str) -> Exit {
    match ui.styled(text) {
        Ok(()) => Exit::DONE,
        Err(error) => ui.fail(&error),
    }
}

/// What clap does not know: how we call what other tools call otherwise, and that what `--adopt`
/// names is written with `=`.
fn our_hints(answer: &clap::Error, arguments: &[OsString]) -> Vec<String> {
    let text = |kind: ContextKind| match answer.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let word = text(ContextKind::InvalidSubcommand);
    let ours = word.and_then(|word| Some((word, help::our_word(word)?)));
    let ours = ours.map(|(word, ours)| format!("what other tools call `{word}` is `{ours}`"));
    let unexpected = text(ContextKind::InvalidArg);
    let pairs = arguments.windows(2);
    let adopted = pairs.map(|pair| (pair[0].to_str(), pair[1].to_str()));
    let adopted = adopted.filter(|(flag, _)| *flag == Some("--adopt"));
    let adopted = adopted.filter_map(|(_, named)| named.filter(|named| Some(*named) == unexpected));
    let adopted = adopted.map(|named| format!("objects are named with `=`: --adopt={named}"));
    ours.into_iter().chain(adopted).collect()
}

/// The help that was asked for. It ends with the features as they hold for this very command
/// line, as far as that can be told: they touch every command.
fn help(arguments: &[OsString], typed: &GlobalArgs, given: &Surroundings) -> String {
    let features = match resolve(typed, given, ConfigFile::Read) {
        Ok(settings) => settings.features,
        Err(_) => FeatureSet::new(given.declared.clone(), Choices::default()),
    };
    let command = help::with_features(args::command(), &features);
    match command.try_get_matches_from(arguments) {
        Ok(_) => String::new(),
        Err(help) => help.render().ansi().to_string(),
    }
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
