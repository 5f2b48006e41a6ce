//! What a user can choose about output. Closed sets, parsed by the same code from flags,
//! variables and the configuration file.

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use opm_core::review::ReviewMode;
use serde::Serialize;

/// The format of data on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// A table for people
    Table,
    /// A table with more columns
    Wide,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
}

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Color {
    /// When it goes to a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// What this means for one stream.
    pub(crate) fn of(self, stream: &impl RawStream) -> ColorChoice {
        match self {
            Self::Auto => AutoStream::choice(stream),
            Self::Always => ColorChoice::AlwaysAnsi,
            Self::Never => ColorChoice::Never,
        }
    }
}

/// When a person is shown the plan of an apply or rollback, and asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Review {
    /// Always
    Always,
    /// When it removes, recreates or takes over something
    #[default]
    Destructive,
    /// Never
    Never,
}

impl From<Review> for ReviewMode {
    fn from(review: Review) -> Self {
        match review {
            Review::Always => Self::Always,
            Review::Destructive => Self::Destructive,
            Review::Never => Self::Never,
        }
    }
}

/// How much is said beside the data. Errors and warnings are always said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verbosity {
    /// Errors and warnings only.
    Quiet,
    /// What was done.
    #[default]
    Normal,
    /// How it was done.
    Verbose,
    /// Everything, for finding bugs.
    Debug,
}

impl Verbosity {
    /// What `verbose` and `quiet` mean together when one level sets them; nothing if it sets
    /// neither.
    pub(crate) fn of(
        verbose: Option<u8>,
        quiet: Option<bool>,
    ) -> Result<Option<Self>, ConflictingVerbosity> {
        match (verbose, quiet) {
            (None, None) => Ok(None),
            (Some(1..), Some(true)) => Err(ConflictingVerbosity),
            (_, Some(true)) => Ok(Some(Self::Quiet)),
            (None | Some(0), _) => Ok(Some(Self::Normal)),
            (Some(1), _) => Ok(Some(Self::Verbose)),
            (Some(_), _) => Ok(Some(Self::Debug)),
        }
    }
}

/// One level asks for more and for less at once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConflictingVerbosity;
