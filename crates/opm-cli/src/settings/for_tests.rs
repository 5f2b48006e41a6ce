//! What only tests set, by variables that no help text names: bounds that nobody could otherwise
//! wait for or reach.

use std::str::FromStr;
use std::time::Duration;

use crate::duration;
use crate::env::{CLOCK_SHIFT, Environment, LOCK_TTL, PATIENCE, RECORD_LIMIT};
use crate::error::{CliError, ErrorKind};

/// Each of them if it is not as usual.
#[derive(Debug, Default)]
pub(crate) struct ForTests {
    /// How long a lock is good for.
    pub(crate) lock_ttl: Option<Duration>,
    /// How large the release's Secret may become.
    pub(crate) record_limit: Option<usize>,
    /// By how many seconds the wall clock is taken to be wrong.
    pub(crate) clock_shift: Option<i64>,
    /// How long one request, all its attempts, and a credential plugin may take.
    pub(crate) patience: Option<Duration>,
}

impl ForTests {
    pub(super) fn from_variables(env: &Environment) -> Result<Self, CliError> {
        Ok(Self {
            lock_ttl: read(env, LOCK_TTL, duration::parse)?,
            record_limit: read(env, RECORD_LIMIT, number)?,
            clock_shift: read(env, CLOCK_SHIFT, number)?,
            patience: read(env, PATIENCE, duration::parse)?,
        })
    }
}

fn number<N: FromStr<Err: ToString>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error: N::Err| error.to_string())
}

fn read<T>(
    env: &Environment,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, CliError> {
    let Some(given) = env.get(name) else {
        return Ok(None);
    };
    let parsed = parse(&given.to_string_lossy());
    let invalid = |why| CliError::new(ErrorKind::Config, format!("{name}: {why}"));
    parsed.map(Some).map_err(invalid)
}
