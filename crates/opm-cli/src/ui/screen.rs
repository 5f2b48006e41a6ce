//! The live part of the terminal: a few lines at its bottom that are drawn anew while something
//! is under way. Everything else that is printed goes above them.
//!
//! A process has one terminal, so there is one screen. `indicatif` draws it; nothing else knows
//! that library.

use std::fmt;
use std::io::{Write as _, stderr, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstream::ColorChoice;
use anstream::adapter::strip_str;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::printable;
use super::width::{cut, size_of};

/// How often the lines are drawn anew.
pub(crate) const TICK: Duration = Duration::from_millis(100);

static SCREEN: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn screen() -> MutexGuard<'static, Option<ProgressBar>> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is shown: lines, which are cut where the terminal ends.
pub(super) type View = dyn Fn() -> Vec<String> + Send + Sync;

/// Shows these lines, and keeps them up to date, until they are taken down.
pub(super) fn show(view: Arc<View>) {
    let mut screen = screen();
    if screen.is_some() {
        return;
    }
    let key = move |_: &ProgressState, text: &mut dyn fmt::Write| {
        // The last column stays free: some terminals begin a new line with it.
        let columns = size_of(stderr()).map_or(0, |(columns, _)| columns.saturating_sub(1));
        let lines = view();
        let lines = lines
            .iter()
            .map(|line| cut(&printable::line(line), columns).into_owned());
        let _ = text.write_str(&lines.collect::<Vec<_>>().join("\n"));
    };
    let Ok(style) = ProgressStyle::with_template("{view}") else {
        return;
    };
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style.with_key("view", key));
    bar.enable_steady_tick(TICK);
    echo_control_keys(false);
    *screen = Some(bar);
}

/// How the terminal echoed before something was drawn on it.
static ECHO: Mutex<Option<Termios>> = Mutex::new(None);

/// Keeps the terminal from writing `^C` into what is drawn, or lets it again.
fn echo_control_keys(echo: bool) {
    let mut before = ECHO.lock().unwrap_or_else(PoisonError::into_inner);
    match echo {
        true => {
            if let Some(modes) = before.take() {
                let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
            }
        }
        false if before.is_none() => {
            let Ok(modes) = tcgetattr(stdin()) else {
                return;
            };
            let mut silent = modes.clone();
            silent.local_modes.remove(LocalModes::ECHOCTL);
            if tcsetattr(stdin(), OptionalActions::Now, &silent).is_ok() {
                *before = Some(modes);
            }
        }
        false => {}
    }
}

/// Whether the alternate buffer of the terminal is shown.
static FULL: AtomicBool = AtomicBool::new(false);

/// Fills the whole screen with this text, in the terminal's alternate buffer.
pub(super) fn fill(text: &str, color: ColorChoice) {
    let begin = match FULL.swap(true, Ordering::Relaxed) {
        true => "",
        // The other buffer, and no cursor.
        false => "\x1b[?1049h\x1b[?25l",
    };
    echo_control_keys(false);
    // Home, and clear to the end of the screen. Terminals that know the marks around it show the
    // whole picture at once: no flicker.
    let text = match color {
        ColorChoice::Never => strip_str(text).to_string(),
        _ => text.to_owned(),
    };
    let picture = format!("{begin}\x1b[?2026h\x1b[H\x1b[2J{text}\x1b[?2026l");
    let mut out = stdout().lock();
    let _ = out.write_all(picture.as_bytes()).and_then(|()| out.flush());
}

/// Takes the lines down, and gives the terminal back what was on it.
pub(super) fn clear() {
    if FULL.swap(false, Ordering::Relaxed) {
        let mut out = stdout().lock();
        let _ = out
            .write_all(b"\x1b[?25h\x1b[?1049l")
            .and_then(|()| out.flush());
    }
    // Held until they are down: whoever ends the process at the same moment waits for it.
    let mut screen = screen();
    if let Some(bar) = screen.take() {
        bar.disable_steady_tick();
        bar.finish_and_clear();
    }
    echo_control_keys(true);
}

/// Prints something above the lines; what fills the whole screen goes first.
pub(super) fn above<T>(print: impl FnOnce() -> T) -> T {
    if FULL.load(Ordering::Relaxed) {
        clear();
    }
    match &*screen() {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}
