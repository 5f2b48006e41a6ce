//! Runs `opm` in a pinned environment: nothing inherited, a home and a working directory that
//! belong to the test alone.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A home, a working directory, and the variables to run with.
pub(crate) struct World {
    root: TempDir,
    variables: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        std::fs::create_dir_all(root.path().join("home")).unwrap();
        std::fs::create_dir_all(root.path().join("work")).unwrap();
        Self {
            root,
            variables: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a file, relative to the working directory (`../home` is the home).
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join("work").join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opm"));
        command
            .args(arguments)
            .current_dir(self.root.path().join("work"))
            .env_clear()
            .env("HOME", self.root.path().join("home"))
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null());
        command
    }

    /// Runs `opm`; what it prints has the temporary directory replaced by `TEMP`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.ran(&self.command(arguments).output().unwrap())
    }

    /// Runs a line of words that are apart by blanks.
    pub(crate) fn opm(&self, line: &str) -> Ran {
        self.run(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub(crate) fn ran(&self, output: &Output) -> Ran {
        let root = self.root.path().to_str().unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec())
                .unwrap()
                .replace(root, "TEMP")
        };
        Ran {
            code: output.status.code().unwrap(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Ran {
    /// Standard output with single blanks: how wide a column is may depend on the temporary
    /// directory.
    pub(crate) fn words(&self) -> String {
        let lines = self.stdout.lines();
        lines
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
            .collect()
    }

    /// The one JSON document on standard output.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}; standard output was {:?}", self.stdout))
    }
}

impl std::fmt::Display for Ran {
    /// For snapshots: the exit code, then both streams.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "exit {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(f, "--- {name}\n{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}
