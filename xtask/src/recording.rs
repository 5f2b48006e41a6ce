//! `cargo xtask recording`: the animated picture at the top of the README, made from what the real
//! binary writes to a terminal. The words are the binary's; only the pace is ours, so that the same
//! binary makes the same picture.

mod svg;

use std::fs;
use std::path::Path;
use std::process::Command;

use opm_testkit::{Opm, Target};

use self::svg::{RecordedCommand, StyledRun};
use crate::docs::full;
use crate::{Outcome, block_on};

/// Where the picture is.
const PICTURE: &str = "docs/images/terminal.svg";

/// How wide the terminal is, and how tall one that scrolls nothing away.
const COLUMNS: u16 = 84;
const ROWS: u16 = 400;

/// Records the terminal for the README
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if the picture is not what would be written
    #[arg(long)]
    check: bool,
}

/// What is typed, and what is answered to the question that it asks.
struct Step {
    typed: &'static str,
    answer: Option<&'static str>,
}

const STEPS: &[Step] = &[
    Step {
        typed: "opm apply examples/minecraft-yaml",
        answer: None,
    },
    Step {
        typed: "sed -i 's/minecraft$/minecraft-server/' examples/minecraft-yaml/server.yaml",
        answer: None,
    },
    Step {
        typed: "opm apply examples/minecraft-yaml --wait",
        answer: Some("y"),
    },
    Step {
        typed: "opm status minecraft",
        answer: None,
    },
    Step {
        typed: "opm rollback minecraft",
        answer: Some("y"),
    },
];

pub(crate) fn run(args: &Args) -> Outcome {
    let picture = block_on(record())??;
    let path = full(PICTURE);
    if args.check {
        return match fs::read_to_string(&path)? == picture {
            true => Ok(()),
            false => Err(format!("{PICTURE} is out of date; run `cargo xtask recording`").into()),
        };
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&path, &picture)?;
    eprintln!("wrote {PICTURE}, {} KB", picture.len() / 1000);
    Ok(())
}

async fn record() -> Result<String, Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let copied = Command::new("cp")
        .arg("-r")
        .arg(full("examples"))
        .arg(home.path())
        .status()?;
    if !copied.success() {
        return Err("the examples could not be copied".into());
    }
    let opm = Opm::new(Target::Sandbox(home.path().join("sandbox")), home.path())
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", "")
        .env("OPM_COLOR", "always");
    let mut commands = Vec::new();
    for step in STEPS {
        let lines = play(step, &opm, home.path()).await?;
        commands.push(RecordedCommand {
            typed: step.typed.to_owned(),
            asks: step.answer.is_some(),
            lines,
        });
    }
    Ok(svg::picture(&commands, usize::from(COLUMNS)))
}

/// Runs what was typed, and returns what the terminal shows in the end.
async fn play(
    step: &Step,
    opm: &Opm,
    home: &Path,
) -> Result<Vec<Vec<StyledRun>>, Box<dyn std::error::Error>> {
    let Some(arguments) = step.typed.strip_prefix("opm ") else {
        let ran = Command::new("sh")
            .args(["-c", step.typed])
            .current_dir(home)
            .status()?;
        return match ran.success() {
            true => Ok(Vec::new()),
            false => Err(format!("`{}` failed", step.typed).into()),
        };
    };
    let mut run = opm.on_terminal(COLUMNS, arguments.split(' '));
    if let Some(answer) = step.answer {
        run.until_it_shows("[y/N").await;
        run.types(&format!("{answer}\n"));
    }
    let end = run.end().await;
    if end.code != Some(0) {
        return Err(format!("`{}` failed: {}", step.typed, end.text).into());
    }
    // Where this machine keeps its temporary files is nobody's business.
    let raw = end.raw.replace(&home.display().to_string(), "/home/you");
    Ok(svg::styled(&raw, ROWS, COLUMNS))
}
