//! What to answer before there are settings: help, the version, and a command line that cannot
//! be understood. A script that asked for JSON gets its one document here too.

use std::ffi::OsString;

use clap::ValueEnum;
use clap::error::ErrorKind as ClapKind;

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::error::{CliError, ErrorKind, Exit};
use crate::settings::{ConfigFile, Key, resolve};
use crate::ui::{Color, Format, Ui, Verbosity};

/// Prints what clap has to say instead of a parsed command line.
pub(crate) fn answer(answer: &clap::Error, arguments: &[OsString], env: &Environment) -> Exit {
    let typed = scan(arguments);
    let ui = ui(&typed, env);
    let text = answer.render().ansi().to_string();
    match answer.kind() {
        ClapKind::DisplayHelp | ClapKind::DisplayVersion => match ui.text(&text) {
            Ok(()) => Exit::Done,
            Err(error) => ui.fail(&error),
        },
        _ => {
            ui.say(Verbosity::Quiet, text.trim_end());
            ui.fail_document(&usage(&answer.render().to_string()))
        }
    }
}

/// How to print while there are no settings yet, or none that can be used.
pub(crate) fn ui(typed: &GlobalArgs, env: &Environment) -> Ui {
    if let Ok(settings) = resolve(typed, env, ConfigFile::Read) {
        return Ui::new(settings.output, settings.verbosity, settings.color);
    }
    let output = typed.output.or_else(|| word(env, Key::Output));
    let color = typed
        .color
        .or_else(|| word(env, Key::Color))
        .unwrap_or_default();
    Ui::new(output, Verbosity::default(), color)
}

fn word<T: ValueEnum>(env: &Environment, key: Key) -> Option<T> {
    env.get(key.variable())?
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

/// Finds the flags that decide how to print, on a command line that is otherwise not understood.
fn scan(arguments: &[OsString]) -> GlobalArgs {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let words = words.split(|word| *word == "--").next().unwrap_or_default();
    let value = |long: &str| {
        words.iter().enumerate().rev().find_map(|(at, word)| {
            match word.strip_prefix("--")?.strip_prefix(long)? {
                "" => words.get(at + 1).copied(),
                rest => rest.strip_prefix('='),
            }
        })
    };
    let short_output =
        words
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, word)| match word.strip_prefix("-o")? {
                "" => words.get(at + 1).copied(),
                rest => Some(rest.trim_start_matches('=')),
            });
    let output = value("output").or(short_output);
    GlobalArgs {
        output: output.and_then(|given| Format::from_str(given, false).ok()),
        color: value("color").and_then(|given| Color::from_str(given, false).ok()),
        config: value("config").map(Into::into),
        ..GlobalArgs::default()
    }
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
