//! Runs `opm` on a terminal of its own: a real pseudo-terminal, with a model of its screen behind
//! it. What is typed arrives as from a keyboard, so that Ctrl-C is a signal.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::opm::{Opm, opm_binary};
use crate::wait::until;

/// How tall every terminal is.
const ROWS: u16 = 30;

/// How many rows above the screen are remembered.
const SCROLL_BACK: usize = 2000;

/// A screen, and everything that was ever seen on it.
struct Watched {
    parser: vt100::Parser,
    /// Every picture, with when it was first seen.
    pictures: Vec<(Instant, String)>,
    bytes: Vec<u8>,
    /// Lines that did not fit.
    too_long: BTreeSet<String>,
    /// Lines that were drawn for the size before the last one.
    outdated: BTreeSet<String>,
    /// How many pictures there were when the size changed last.
    resized: Option<usize>,
    /// Whether a picture that is to be shown at once is not whole yet.
    is_being_drawn: bool,
}

/// What a program writes around a picture that is to be shown at once.
const PICTURE_BEGINS: &[u8] = b"\x1b[?2026h";
const PICTURE_ENDS: &[u8] = b"\x1b[?2026l";

impl Watched {
    fn take(&mut self, bytes: &[u8]) {
        self.note_marks(bytes);
        self.parser.process(bytes);
        if self.is_being_drawn {
            return;
        }
        let too_long = self.too_long_now();
        // Whoever asked for the size right before it changed draws once for the old one.
        let outdated = self
            .resized
            .is_some_and(|before| self.pictures.len() <= before);
        match outdated {
            true => self.outdated.extend(too_long),
            false => {
                let new = too_long
                    .into_iter()
                    .filter(|line| !self.outdated.contains(line));
                self.too_long.extend(new);
            }
        }
        let picture = self.parser.screen().contents();
        if self
            .pictures
            .last()
            .is_none_or(|(_, last)| *last != picture)
        {
            self.pictures.push((Instant::now(), picture));
        }
    }

    /// Keeps these bytes, and notes whether a picture that is to be shown at once is whole after
    /// them. A mark may be cut in two.
    fn note_marks(&mut self, bytes: &[u8]) {
        let before = self.bytes.len().saturating_sub(PICTURE_BEGINS.len() - 1);
        self.bytes.extend_from_slice(bytes);
        let new = &self.bytes[before..];
        let last = |mark: &[u8]| new.windows(mark.len()).rposition(|at| at == mark);
        let (begins, ends) = (last(PICTURE_BEGINS), last(PICTURE_ENDS));
        if begins != ends {
            self.is_being_drawn = begins > ends;
        }
    }

    /// The lines on the screen that do not fit.
    fn too_long_now(&self) -> Vec<String> {
        let screen = self.parser.screen();
        let (rows, columns) = size(screen);
        // Blanks up to the end of a line are no text that does not fit.
        let is_full = |row: &u16| {
            let last = screen.cell(*row, columns - 1);
            screen.row_wrapped(*row) && last.is_some_and(|cell| !cell.contents().trim().is_empty())
        };
        let full = (0..rows).filter(is_full);
        full.map(|row| screen.contents_between(row, 0, row, columns))
            .collect()
    }
}

/// An `opm` that runs on a terminal.
pub struct TerminalRun {
    keyboard: File,
    child: Child,
    watched: Arc<Mutex<Watched>>,
    reading: JoinHandle<()>,
    begin: Instant,
}

/// What a run on a terminal came to.
#[derive(Debug)]
pub struct TerminalEnd {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The whole text, scroll-back included, as it stands in the end.
    pub text: String,
    /// Everything that was written, as it was written.
    pub raw: String,
    /// Every picture of the screen.
    pub pictures: Vec<String>,
    /// How long the longest time was in which nothing changed, while it ran.
    pub longest_still: Duration,
    /// The lines that were longer than the terminal.
    pub too_long: BTreeSet<String>,
}

impl Opm {
    /// Starts a command on a terminal with so many columns.
    ///
    /// # Panics
    /// Where there are no pseudo-terminals, or no `opm` to start.
    pub fn on_terminal<A: AsRef<OsStr>>(
        &self,
        columns: u16,
        args: impl IntoIterator<Item = A>,
    ) -> TerminalRun {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let keyboard = openpt(flags).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let name = OsStr::from_bytes(name.to_bytes());
        let terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        let keyboard = File::from(keyboard);
        resize(&keyboard, columns);
        let args: Vec<OsString> = args.into_iter().map(|one| one.as_ref().into()).collect();
        // It makes the terminal the controlling one, and then becomes the program.
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(self.binary().cloned().unwrap_or_else(opm_binary))
            .args(self.target_args())
            .args(args)
            .current_dir(self.directory())
            .env_clear()
            .envs(self.variables())
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal);
        let child = command.spawn().unwrap();
        drop(command);
        let watched = Arc::new(Mutex::new(Watched {
            parser: vt100::Parser::new(positive(ROWS), positive(columns), SCROLL_BACK),
            pictures: Vec::new(),
            bytes: Vec::new(),
            too_long: BTreeSet::new(),
            outdated: BTreeSet::new(),
            resized: None,
            is_being_drawn: false,
        }));
        let (mut from, to) = (keyboard.try_clone().unwrap(), Arc::clone(&watched));
        let reading = std::thread::spawn(move || {
            let mut piece = [0; 8192];
            // A terminal that nobody has open any more is an error, and the end.
            while let Ok(read @ 1..) = from.read(&mut piece) {
                to.lock().unwrap().take(&piece[..read]);
            }
        });
        TerminalRun {
            keyboard,
            child,
            watched,
            reading,
            begin: Instant::now(),
        }
    }
}

fn resize(keyboard: &File, columns: u16) {
    let size = Winsize {
        ws_row: ROWS,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(keyboard, size).unwrap();
}

impl TerminalRun {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap()
    }

    /// What is on the screen now: the last whole picture.
    #[must_use]
    pub fn screen(&self) -> String {
        let watched = self.watched();
        let last = watched.pictures.last();
        last.map_or_else(String::new, |(_, picture)| picture.clone())
    }

    /// Whether the alternate buffer is shown, as full-screen programs do.
    #[must_use]
    pub fn is_full_screen(&self) -> bool {
        self.watched().parser.screen().alternate_screen()
    }

    /// Waits until this is on the screen.
    ///
    /// # Panics
    /// When it hangs.
    pub async fn until_it_shows(&self, text: &str) {
        until(&format!("the screen shows {text:?}"), async || {
            self.screen().contains(text)
        })
        .await;
    }

    /// Waits until so many other pictures were on the screen.
    ///
    /// # Panics
    /// When it hangs.
    pub async fn until_it_changes(&self, times: usize) {
        let before = self.watched().pictures.len();
        until("the screen changes", async || {
            self.watched().pictures.len() >= before + times
        })
        .await;
    }

    /// Types this.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Presses Ctrl-C.
    pub fn interrupts(&mut self) {
        self.types("\x03");
    }

    /// Makes the terminal wider or narrower, and waits until it is drawn anew.
    ///
    /// # Panics
    /// When it hangs.
    pub async fn resizes(&mut self, columns: u16) {
        let (rows, wide) = (positive(ROWS), positive(columns));
        let before = {
            let mut watched = self.watched();
            watched.parser.screen_mut().set_size(rows, wide);
            let before = watched.pictures.len();
            watched.resized = Some(before);
            before
        };
        resize(&self.keyboard, columns);
        until("the screen is drawn anew", async || {
            self.watched().pictures.len() > before
        })
        .await;
    }

    /// Waits until no line is longer than the terminal.
    ///
    /// # Panics
    /// When it hangs.
    pub async fn until_it_fits(&self) {
        until("everything on the screen fits", async || {
            let watched = self.watched();
            !watched.is_being_drawn && watched.too_long_now().is_empty()
        })
        .await;
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it hangs.
    pub async fn end(mut self) -> TerminalEnd {
        until("the run on the terminal ends", async || {
            self.child.try_wait().unwrap().is_some()
        })
        .await;
        let status = self.child.wait().unwrap();
        let ended = Instant::now();
        drop(self.keyboard);
        self.reading.join().unwrap();
        let mut watched = self.watched.lock().unwrap();
        let mut still = Duration::ZERO;
        let mut last = self.begin;
        for at in watched.pictures.iter().map(|(at, _)| *at).chain([ended]) {
            still = still.max(at.saturating_duration_since(last));
            last = at;
        }
        TerminalEnd {
            code: status.code(),
            text: whole(&mut watched.parser),
            raw: String::from_utf8_lossy(&watched.bytes).into_owned(),
            pictures: watched.pictures.iter().map(|(_, p)| p.clone()).collect(),
            longest_still: still,
            too_long: watched.too_long.clone(),
        }
    }
}

fn positive(number: u16) -> NonZero<u16> {
    NonZero::new(number).expect("a terminal has rows and columns")
}

/// Rows and columns.
fn size(screen: &vt100::Screen) -> (u16, u16) {
    let (rows, columns) = screen.size();
    (rows.get(), columns.get())
}

/// The scroll-back and the screen.
fn whole(parser: &mut vt100::Parser) -> String {
    let screen = parser.screen_mut();
    let (rows, columns) = size(screen);
    screen.set_scrollback(usize::MAX);
    let above = screen.scrollback();
    let mut lines: Vec<String> = Vec::new();
    for offset in (1..=above).rev() {
        screen.set_scrollback(offset);
        lines.extend(screen.rows(0, columns).next());
    }
    screen.set_scrollback(0);
    lines.extend(screen.rows(0, columns).take(usize::from(rows)));
    lines.join("\n").trim_end().to_owned()
}
