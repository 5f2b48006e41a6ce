//! A terminal as an animated SVG: lines that appear one after the other, and scroll.

use std::fmt::Write as _;
use std::num::NonZero;

/// A piece of a line in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StyledRun {
    text: String,
    color: Option<&'static str>,
    bold: bool,
}

/// A command and what it shows.
#[derive(Debug)]
pub(super) struct RecordedCommand {
    pub(super) typed: String,
    /// Whether it asks something in between.
    pub(super) asks: bool,
    pub(super) lines: Vec<Vec<StyledRun>>,
}

/// The size of a character, and of the frame.
const WIDE: f32 = 8.4;
const HIGH: f32 = 19.0;
const MARGIN: f32 = 20.0;
const TOP: f32 = 52.0;

/// How many lines are seen at a time.
const SEEN: usize = 26;

/// How long it takes to type a character, to read a line, and to begin anew, in seconds.
const TYPING: f32 = 0.045;
const READING: f32 = 0.28;
const THINKING: f32 = 0.9;
const ENDING: f32 = 4.0;

const PAPER: &str = "#16181d";
const INK: &str = "#c8c8d0";
const BRIGHT: &str = "#f7f1ff";
const PROMPT: &str = "#948ae3";
const PALETTE: [&str; 8] = [
    "#69676c", "#fc618d", "#7bd88f", "#fce566", "#948ae3", "#fc618d", "#5ad4e6", "#f7f1ff",
];

/// What a terminal shows after all of this was written to it, without the blank end.
pub(super) fn styled(raw: &str, rows: u16, columns: u16) -> Vec<Vec<StyledRun>> {
    let (Some(rows_), Some(columns_)) = (NonZero::new(rows), NonZero::new(columns)) else {
        return Vec::new();
    };
    let mut parser = vt100::Parser::new(rows_, columns_, 0);
    parser.process(raw.as_bytes());
    let screen = parser.screen();
    let mut lines: Vec<Vec<StyledRun>> = (0..rows).map(|row| line(screen, row, columns)).collect();
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

fn line(screen: &vt100::Screen, row: u16, columns: u16) -> Vec<StyledRun> {
    let mut runs: Vec<StyledRun> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        let text = match cell.contents() {
            "" if cell.is_wide_continuation() => continue,
            "" => " ",
            text => text,
        };
        let color = match cell.fgcolor() {
            vt100::Color::Idx(index) => PALETTE.get(usize::from(index % 8)).copied(),
            _ => None,
        };
        let bold = cell.bold();
        match runs.last_mut() {
            Some(last) if last.color == color && last.bold == bold => last.text.push_str(text),
            _ => runs.push(StyledRun {
                text: text.to_owned(),
                color,
                bold,
            }),
        }
    }
    if let Some(last) = runs.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    while runs.last().is_some_and(|last| last.text.is_empty()) {
        runs.pop();
        if let Some(last) = runs.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
    }
    runs
}

/// A line of the picture, when it appears, and what is typed of it.
struct Drawn {
    at: f32,
    typed: Option<String>,
    runs: Vec<StyledRun>,
}

/// The whole picture.
pub(super) fn picture(commands: &[RecordedCommand], columns: usize) -> String {
    let (lines, length) = timed(commands);
    let width = size(columns).mul_add(WIDE, 2.0 * MARGIN).ceil();
    let height = size(SEEN).mul_add(HIGH, TOP).ceil();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,\
         monospace\" font-size=\"14\">\n\
         <!-- Made from what opm writes by `cargo xtask recording`. -->\n\
         <title>A release is applied, renamed, looked at and rolled back</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    for (at, color) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = size(at).mul_add(20.0, 20.0);
        let _ = writeln!(
            out,
            "<circle cx=\"{x}\" cy=\"18\" r=\"6\" fill=\"{color}\"/>"
        );
    }
    let below = TOP - HIGH;
    let _ = writeln!(
        out,
        "<clipPath id=\"screen\"><rect x=\"0\" y=\"{below}\" width=\"{width}\" height=\"{}\"/></clipPath>",
        height - below - 6.0
    );
    out.push_str("<g clip-path=\"url(#screen)\"><g>\n");
    out.push_str(&scrolling(&lines, length));
    for (row, drawn) in lines.iter().enumerate() {
        out.push_str(&text(row, drawn, length));
    }
    out.push_str("</g></g>\n</svg>\n");
    out
}

/// When each line appears, and how long it all takes.
fn timed(commands: &[RecordedCommand]) -> (Vec<Drawn>, f32) {
    let mut now = THINKING;
    let mut lines = Vec::new();
    for command in commands {
        lines.push(Drawn {
            at: now,
            typed: Some(command.typed.clone()),
            runs: Vec::new(),
        });
        now += size(command.typed.chars().count()).mul_add(TYPING, THINKING / 2.0);
        for (at, runs) in command.lines.iter().enumerate() {
            let words: String = runs.iter().map(|run| run.text.as_str()).collect();
            lines.push(Drawn {
                at: now,
                typed: None,
                runs: runs.clone(),
            });
            let is_question = command.asks && words.contains("[y/N");
            now += match (is_question, at) {
                (true, _) => 2.0 * THINKING,
                _ => READING / 2.0,
            };
        }
        now += size(command.lines.len()).mul_add(READING / 2.0, THINKING);
    }
    (lines, now + ENDING)
}

/// The lines go up as soon as there is no room below.
fn scrolling(lines: &[Drawn], length: f32) -> String {
    let (mut values, mut times) = (vec!["0 0".to_owned()], vec!["0".to_owned()]);
    for (row, drawn) in lines.iter().enumerate().skip(SEEN - 1) {
        values.push(format!("0 {}", -size(row + 2 - SEEN) * HIGH));
        times.push(share(drawn.at, length));
    }
    format!(
        "<animateTransform attributeName=\"transform\" type=\"translate\" calcMode=\"discrete\" \
         values=\"{}\" keyTimes=\"{}\" dur=\"{length:.1}s\" repeatCount=\"indefinite\"/>\n",
        values.join(";"),
        times.join(";")
    )
}

/// A moment as a share of the whole.
fn share(at: f32, length: f32) -> String {
    format!("{:.4}", at / length)
}

fn text(row: usize, drawn: &Drawn, length: f32) -> String {
    let y = size(row).mul_add(HIGH, TOP);
    let appears = |at: f32| {
        format!(
            "<animate attributeName=\"opacity\" calcMode=\"discrete\" values=\"0;1\" \
             keyTimes=\"0;{}\" dur=\"{length:.1}s\" repeatCount=\"indefinite\"/>",
            share(at, length)
        )
    };
    let mut out = format!("<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{INK}\" xml:space=\"preserve\">");
    match &drawn.typed {
        None => {
            out.push_str(&appears(drawn.at));
            for run in &drawn.runs {
                out.push_str(&span(run));
            }
        }
        Some(typed) => {
            let before = (drawn.at - THINKING / 2.0).max(0.0);
            let _ = write!(
                out,
                "{}<tspan fill=\"{PROMPT}\">$ </tspan>",
                appears(before)
            );
            // A word at a time: every character would be as many elements.
            let mut at = drawn.at;
            for word in typed.split_inclusive(' ') {
                at += size(word.chars().count()) * TYPING;
                let _ = write!(
                    out,
                    "<tspan fill=\"{BRIGHT}\" font-weight=\"bold\">{}{}</tspan>",
                    appears_as_ink(at, length),
                    escaped(word)
                );
            }
        }
    }
    out.push_str("</text>\n");
    out
}

/// Pieces of a line have no opacity of their own everywhere, but a colour.
fn appears_as_ink(at: f32, length: f32) -> String {
    format!(
        "<animate attributeName=\"fill\" calcMode=\"discrete\" values=\"{PAPER};{BRIGHT}\" \
         keyTimes=\"0;{}\" dur=\"{length:.1}s\" repeatCount=\"indefinite\"/>",
        share(at, length)
    )
}

fn span(run: &StyledRun) -> String {
    let bold = if run.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    match (run.color, run.bold) {
        (None, false) => escaped(&run.text),
        (color, _) => format!(
            "<tspan fill=\"{}\"{bold}>{}</tspan>",
            color.unwrap_or(INK),
            escaped(&run.text)
        ),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

/// A count as a length. Nothing here is large.
fn size(count: usize) -> f32 {
    f32::from(u16::try_from(count).unwrap_or(u16::MAX))
}
