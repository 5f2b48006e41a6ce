//! A run in a few lines, as they are drawn on a terminal; and in one, for logs.

use std::time::{Duration, Instant};

use opm_core::event::{RunPhase, Wait};
use opm_core::health::HealthState;
use opm_core::identity::Identity;
use opm_core::time::duration_words;
use opm_core::words::count;

use super::model::{Activity, RunModel};

const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];

/// How many objects are named.
const SHOWN: usize = 5;

/// An object counts as slow when its request takes longer than this many seconds.
const SLOW: u64 = 1;

/// What is done now, and for how long: another line after every tenth of a second.
pub(super) fn busy_line(words: &str, elapsed: Duration) -> String {
    let at = usize::try_from(elapsed.as_millis() / 100).unwrap_or_default() % SPINNER.len();
    let elapsed = duration_words(Duration::from_secs(elapsed.as_secs()));
    format!("{} {words} · {elapsed}", SPINNER[at])
}

/// The lines that are drawn.
pub(super) fn lines(model: &RunModel, now: Instant) -> Vec<String> {
    let elapsed = now.saturating_duration_since(model.begin);
    let stopping = if model.interrupted { "stopping: " } else { "" };
    let words = format!("{stopping}{}", headline(model));
    let mut lines = vec![busy_line(&words, elapsed)];
    match &model.activity {
        Activity::Wait(Wait::Ready(objects) | Wait::Gone(objects)) => {
            lines.extend(awaited(model, objects));
        }
        Activity::Phase(RunPhase::Apply | RunPhase::Prune | RunPhase::Delete, _) => {
            lines.extend(components(model));
            lines.extend(slowest(model, now));
        }
        Activity::Phase(..) | Activity::Read | Activity::Wait(_) => {}
    }
    lines
}

/// What a run does now, in one line.
pub(super) fn headline(model: &RunModel) -> String {
    let of = |total: usize| {
        let failed = match model.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        format!("{} of {total}{failed}", model.done.min(total))
    };
    let release = model.release.as_deref().unwrap_or("the release");
    match &model.activity {
        Activity::Read => "reading the record".to_owned(),
        Activity::Phase(RunPhase::Look, objects) => {
            format!("looking at {}", count(*objects, "object"))
        }
        Activity::Phase(RunPhase::Rehearse, objects) => {
            format!("asking the server what it would do: {}", of(*objects))
        }
        Activity::Phase(RunPhase::Apply, objects) => {
            format!("applying {release}: {}", of(*objects))
        }
        Activity::Phase(RunPhase::Prune, objects) => {
            format!("removing what became stale: {}", of(*objects))
        }
        Activity::Phase(RunPhase::Delete, objects) => {
            format!("deleting {release}: {}", of(*objects))
        }
        Activity::Phase(RunPhase::Record, _) => "writing the record".to_owned(),
        Activity::Wait(Wait::Ready(objects)) => {
            let ready = objects.iter().filter(|object| is_ready(model, object));
            format!(
                "waiting until ready: {} of {}",
                ready.count(),
                objects.len()
            )
        }
        Activity::Wait(Wait::Gone(objects)) => {
            format!("waiting until gone: {}", count(objects.len(), "object"))
        }
        Activity::Wait(wait) => wait.to_string(),
    }
}

/// The line with which a phase begins in a log.
pub(super) fn begin_line(phase: RunPhase, objects: usize) -> Option<String> {
    let objects = count(objects, "object");
    match phase {
        RunPhase::Apply => Some(format!("applying {objects}")),
        RunPhase::Prune => Some(format!("removing {objects} that became stale")),
        RunPhase::Delete => Some(format!("deleting {objects}")),
        RunPhase::Look | RunPhase::Rehearse | RunPhase::Record => None,
    }
}

/// The line that a log gets while something takes its time: what, since when, and the first of
/// what it waits for.
pub(super) fn still_line(model: &RunModel, now: Instant) -> String {
    let elapsed = now.saturating_duration_since(model.since).as_secs();
    let elapsed = duration_words(Duration::from_secs(elapsed));
    let why = match &model.activity {
        Activity::Wait(Wait::Ready(objects) | Wait::Gone(objects)) => {
            let first = awaited(model, objects).into_iter().next();
            first.map(|line| format!("; {}", line.trim()))
        }
        _ => None,
    };
    format!(
        "still {} ({elapsed}){}",
        headline(model),
        why.unwrap_or_default()
    )
}

fn is_ready(model: &RunModel, object: &Identity) -> bool {
    let health = model.health.get(object);
    health.is_some_and(|(state, _)| *state == HealthState::Ready)
}

/// What is waited for, the worst first, with its reason.
fn awaited(model: &RunModel, objects: &[Identity]) -> Vec<String> {
    let mut open: Vec<(&Identity, Option<&(HealthState, String)>)> = objects
        .iter()
        .filter(|object| !is_ready(model, object))
        .map(|object| (object, model.health.get(object)))
        .collect();
    open.sort_by_key(|(_, health)| std::cmp::Reverse(health.map(|(state, _)| *state)));
    let more = open.len().saturating_sub(SHOWN);
    let mut lines: Vec<String> = open
        .iter()
        .take(SHOWN)
        .map(|(object, health)| {
            let name = format!("{}/{}", object.kind(), object.name);
            match health.map(|(_, message)| message.as_str()) {
                None | Some("") => format!("  {name}"),
                Some(message) => format!("  {name}: {message}"),
            }
        })
        .collect();
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// How far each component is, where there are several.
fn components(model: &RunModel) -> Option<String> {
    let open = model.components.iter();
    let shown: Vec<String> = open
        .map(|(name, tally)| format!("{name} {}/{}", tally.done, tally.of))
        .collect();
    (shown.len() > 1).then(|| format!("  {}", shown.join(" · ")))
}

/// The requests that take longest.
fn slowest(model: &RunModel, now: Instant) -> Vec<String> {
    let mut slow: Vec<(u64, &Identity)> = model
        .under_way
        .iter()
        .map(|(object, sent)| (now.saturating_duration_since(*sent).as_secs(), object))
        .filter(|(seconds, _)| *seconds >= SLOW)
        .collect();
    slow.sort_by_key(|(seconds, _)| std::cmp::Reverse(*seconds));
    let shown = slow.iter().take(SHOWN);
    shown
        .map(|(seconds, object)| {
            format!(
                "  {}/{} has not been answered for {seconds}s",
                object.kind(),
                object.name
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a run does, and however long it takes, half a second later the screen is another
    /// one: it is drawn anew more often than that.
    #[test]
    fn the_screen_never_stands_still() {
        assert!(crate::ui::screen::TICK <= Duration::from_millis(250));
        let begin = Instant::now();
        for phase in [
            Activity::Read,
            Activity::Phase(RunPhase::Look, 300),
            Activity::Phase(RunPhase::Apply, 300),
            Activity::Phase(RunPhase::Record, 0),
            Activity::Wait(Wait::Ready(Vec::new())),
        ] {
            let model = RunModel {
                activity: phase,
                ..RunModel::new(begin)
            };
            for tenth in 0..600 {
                let at = begin + Duration::from_millis(tenth * 100);
                let later = at + Duration::from_millis(500);
                assert_ne!(lines(&model, at), lines(&model, later), "{:?}", at - begin);
            }
        }
    }
}
