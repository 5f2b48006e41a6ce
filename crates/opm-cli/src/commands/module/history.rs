//! `opm mod history`.

use std::str::FromStr;

use opm_engine::request::{CompareRequest, ComparedChanges, HistoryRequest};

use super::release_arg::ReleaseOrHereArgs;
use crate::answers;
use crate::error::{CliError, Exit};
use crate::invocation::Invocation;

/// Show the changes of a release, newest first
///
/// A change is a recorded state: applying the same again makes no new one. ROLLBACK says whether
/// `opm mod rollback` can bring it back from what is kept in the cluster. With -o json the
/// deployments are told as well.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    release: ReleaseOrHereArgs,

    /// Show what this change changed, or with A..B how two changes differ
    ///
    /// A change is named by the beginning of its digits, by ~1, previous or last-good, or by its
    /// deployment (#7). Values of Secrets are masked; which keys changed is told.
    #[arg(long, value_name = "CHANGE", conflicts_with = "log")]
    diff: Option<DiffArg>,

    /// Show the deployments: who ran what, from where, and how it ended
    ///
    /// The last 50 are remembered, also those that failed or were interrupted.
    #[arg(long)]
    log: bool,
}

/// What was typed for `--diff`.
#[derive(Debug, Clone)]
struct DiffArg(ComparedChanges);

impl FromStr for DiffArg {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let compared = match given.split_once("..") {
            None if given.is_empty() => return Err("it must name a change".to_owned()),
            None => ComparedChanges::One(given.to_owned()),
            Some((from, to)) if from.is_empty() || to.is_empty() => {
                return Err("it must name two changes, as in 1a2b..3c4d".to_owned());
            }
            Some((from, to)) => ComparedChanges::Two(from.to_owned(), to.to_owned()),
        };
        Ok(Self(compared))
    }
}

pub(crate) async fn run(args: &Args, invocation: &Invocation<'_>) -> Result<Exit, CliError> {
    let (session, release, namespace) = args.release.open(invocation, false).await?;
    let caller = session.caller();
    if let Some(DiffArg(compared)) = &args.diff {
        let request = CompareRequest {
            release,
            namespace,
            compared: compared.clone(),
        };
        let compared = session.engine.compare(&request, &caller).await;
        return answers::comparison::answer(compared, &session);
    }
    let request = HistoryRequest { release, namespace };
    let history = session.engine.history(&request, &caller).await;
    answers::history::answer(history, args.log, &session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_or_two() {
        let is = |given: &str| match given.parse() {
            Ok(DiffArg(ComparedChanges::One(_))) => "one",
            Ok(DiffArg(ComparedChanges::Two(_, _))) => "two",
            Err(_) => "refused",
        };
        for (given, expected) in [
            ("1a2b", "one"),
            ("change-sha1-1a2b3c4d", "one"),
            ("1a2b..3c4d", "two"),
            ("..3c4d", "refused"),
            ("1a2b..", "refused"),
            ("", "refused"),
        ] {
            assert_eq!(is(given), expected, "{given:?}");
        }
    }
}
