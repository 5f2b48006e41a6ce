//! Runs the `opm` program the way a user does, in an environment where nothing is left to chance.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::programs;
use crate::wait::HANG;

/// The `opm` program: `OPM_BIN`, else built from this workspace.
#[must_use]
pub fn opm_binary() -> PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    let find = || match std::env::var_os("OPM_BIN").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => crate::cargo::executable("opm-cli", "opm").expect("opm builds"),
    };
    BINARY.get_or_init(find).clone()
}

/// The cluster that a command is to act on.
#[derive(Debug, Clone)]
pub enum Target {
    /// The current context of a kubeconfig file.
    Kubeconfig(PathBuf),
    /// The embedded cluster, kept in a directory.
    Sandbox(PathBuf),
}

impl Target {
    fn args(&self) -> Vec<OsString> {
        match self {
            Self::Kubeconfig(path) => vec!["--kubeconfig".into(), path.into()],
            Self::Sandbox(dir) => vec!["--sandbox".into(), "--sandbox-dir".into(), dir.into()],
        }
    }
}

/// How `opm` is run.
#[derive(Debug, Clone)]
pub struct Opm {
    binary: Option<PathBuf>,
    target: Target,
    directory: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    input: Option<PathBuf>,
    patience: Duration,
}

impl Opm {
    /// Runs against `target`, in `directory`, which is also its home.
    #[must_use]
    pub fn new(target: Target, directory: &Path) -> Self {
        let mut path = programs::directories();
        path.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
        let path = std::env::join_paths(path).expect("no colon in a path");
        let variables = [
            ("PATH", path),
            ("HOME", directory.into()),
            ("XDG_CONFIG_HOME", directory.join(".config").into()),
            ("XDG_CACHE_HOME", directory.join(".cache").into()),
            ("LC_ALL", "C".into()),
            ("TZ", "UTC".into()),
            ("NO_COLOR", "1".into()),
            ("RUST_BACKTRACE", "1".into()),
        ];
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
        Self {
            binary: None,
            target,
            directory: directory.to_owned(),
            variables,
            input: None,
            patience: HANG,
        }
    }

    /// Another program than [`opm_binary`].
    #[must_use]
    pub fn program(mut self, binary: &Path) -> Self {
        self.binary = Some(binary.to_owned());
        self
    }

    /// Against another cluster, or the same one through a relay.
    #[must_use]
    pub fn against(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    /// With an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables
            .insert(name.as_ref().into(), value.as_ref().into());
        self
    }

    /// With a file as its standard input.
    #[must_use]
    pub fn input(mut self, file: &Path) -> Self {
        self.input = Some(file.to_owned());
        self
    }

    /// In another working directory.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        self.directory = directory.to_owned();
        self
    }

    /// With another limit than [`HANG`], which is for a test of the limit itself.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(crate) fn binary(&self) -> Option<&PathBuf> {
        self.binary.as_ref()
    }

    pub(crate) fn target_args(&self) -> Vec<OsString> {
        self.target.args()
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// Runs a command to its end.
    pub async fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> CommandOutput {
        self.start(args).finish().await
    }

    /// Starts a command.
    ///
    /// # Panics
    /// When there is no `opm` to start.
    pub fn start<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> RunningCommand {
        let args: Vec<OsString> = args
            .into_iter()
            .map(|one| one.as_ref().to_owned())
            .collect();
        let shown: Vec<_> = args.iter().map(|one| one.to_string_lossy()).collect();
        let shown = format!("opm {}", shown.join(" "));
        let input = match &self.input {
            Some(file) => Stdio::from(std::fs::File::open(file).expect("a file to read from")),
            None => Stdio::null(),
        };
        let mut child = Command::new(self.binary.clone().unwrap_or_else(opm_binary))
            .args(self.target.args())
            .args(args)
            .current_dir(&self.directory)
            .env_clear()
            .envs(&self.variables)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("failed to start {shown}: {error}"));
        let stdout = Output::read(child.stdout.take().expect("a pipe"));
        let stderr = Output::read(child.stderr.take().expect("a pipe"));
        RunningCommand {
            child,
            stdout,
            stderr,
            shown,
            begin: Instant::now(),
            patience: self.patience,
        }
    }
}

/// An `opm` that is running. Dropping it kills it.
#[derive(Debug)]
pub struct RunningCommand {
    child: Child,
    stdout: Output,
    stderr: Output,
    shown: String,
    begin: Instant,
    patience: Duration,
}

impl RunningCommand {
    /// The id of the process, for a relay's rules that kill and for signals.
    ///
    /// # Panics
    /// When it has ended and been waited for.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it has not been waited for")
    }

    /// Whether it has written this by now.
    #[must_use]
    pub fn has_written(&self, text: &str) -> bool {
        self.stdout.text().contains(text) || self.stderr.text().contains(text)
    }

    /// The first whole line that holds this, on standard output or else on standard error, if there
    /// is one by now.
    pub fn line_with(&self, text: &str) -> Option<String> {
        [&self.stdout, &self.stderr].into_iter().find_map(|stream| {
            let written = stream.text();
            let mut lines = written.split_inclusive('\n');
            let line = lines.find(|line| line.contains(text) && line.ends_with('\n'));
            line.map(str::to_owned)
        })
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it takes longer than it may.
    pub async fn finish(mut self) -> CommandOutput {
        let end = async {
            let (out, err) = (&mut self.stdout.reading, &mut self.stderr.reading);
            tokio::join!(self.child.wait(), out, err).0
        };
        let ended = tokio::time::timeout(self.patience, end).await;
        let (stdout, stderr) = (self.stdout.text(), self.stderr.text());
        let Ok(status) = ended else {
            panic!(
                "`{}` took longer than {:?}\n{stdout}{stderr}",
                self.shown, self.patience
            );
        };
        let status = status.expect("a child that can be waited for");
        CommandOutput {
            command: self.shown,
            status,
            stdout,
            stderr,
            took: self.begin.elapsed(),
        }
    }
}

/// What a process writes to one of its pipes, read as it comes.
#[derive(Debug)]
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Output {
    fn read(mut pipe: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let to = Arc::clone(&bytes);
        let reading = tokio::spawn(async move {
            let mut piece = Vec::with_capacity(8 * 1024);
            // A pipe that breaks ends what there is to read.
            while let Ok(1..) = pipe.read_buf(&mut piece).await {
                to.lock().expect("nobody panics with it").append(&mut piece);
            }
        });
        Self { bytes, reading }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("nobody panics with it")).into_owned()
    }
}

/// What a finished command did.
#[derive(Debug, Clone)]
pub struct CommandOutput {
    command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it ran.
    pub took: Duration,
}

impl CommandOutput {
    /// Its exit code; nothing when a signal ended it.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Was it killed?
    #[must_use]
    pub fn was_killed(&self) -> bool {
        use std::os::unix::process::ExitStatusExt as _;
        self.status.signal() == Some(9)
    }

    /// Fails the test, showing all output, unless it ended with this exit code.
    ///
    /// # Panics
    /// When it ended otherwise.
    #[must_use = "or call `.ok()`"]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{self}");
        self
    }

    /// Fails the test, showing all output, unless it succeeded.
    ///
    /// # Panics
    /// When it failed.
    #[expect(
        clippy::must_use_candidate,
        reason = "often the check is all that is wanted"
    )]
    pub fn ok(self) -> Self {
        self.expect_code(0)
    }

    /// Its standard output as one JSON document.
    ///
    /// # Panics
    /// When it is not one.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("standard output is not JSON: {error}\n{self}"))
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "`{}` ended with {} after {:?}",
            self.command, self.status, self.took
        )?;
        writeln!(
            f,
            "--- stdout\n{}--- stderr\n{}---",
            self.stdout, self.stderr
        )
    }
}
