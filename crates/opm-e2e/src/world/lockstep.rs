//! How many round trips a run takes one after the other: its requests are held until it sends no
//! more of them without an answer, and then go on together.
//!
//! What it waits for is told by the process itself, not by a clock: all of its threads sleep.

use std::path::Path;
use std::time::Duration;

use opm_testkit::HANG;
use opm_testkit::relay::{Fault, Moment, RequestFilter, RequestInfo};

use super::World;
use super::commands::Route;
use crate::output::OpmOutput;

/// How often a process is looked at, and how often in a row it has to sleep to count as waiting.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: usize = 6;

/// One way to a cluster, on which requests go in rounds.
pub struct Lockstep<'w> {
    world: &'w World,
    route: Route,
}

/// What a run sent, by rounds.
pub struct Rounds(pub Vec<Vec<RequestInfo>>);

impl Rounds {
    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// How many requests of this verb and resource, as in `patch configmaps`, there were.
    pub fn count(&self, what: &str) -> usize {
        let all = self.0.iter().flatten();
        all.filter(|request| request.what() == what).count()
    }

    /// How many round trips there were one after the other.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// How many rounds had something else than this in them.
    pub fn depth_beside(&self, what: &str) -> usize {
        let beside = |round: &&Vec<RequestInfo>| round.iter().any(|one| one.what() != what);
        self.0.iter().filter(beside).count()
    }
}

impl std::fmt::Display for Rounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} requests in {} rounds", self.requests(), self.depth())?;
        for (at, round) in self.0.iter().enumerate() {
            let mut counts = std::collections::BTreeMap::<String, usize>::new();
            for request in round {
                let name = request.name.rsplit('.').next().unwrap_or_default();
                let what = match request.resource.as_str() {
                    "secrets" => format!("{} {name}", request.what()),
                    _ => request.what(),
                };
                *counts.entry(what).or_default() += 1;
            }
            write!(f, "\n  {}: {counts:?}", at + 1)?;
        }
        Ok(())
    }
}

impl World {
    /// A way to the cluster on which requests go in rounds. It stays the same cluster to all runs
    /// that take it.
    pub async fn lockstep(&self) -> Lockstep<'_> {
        let route = self.route().await;
        let every = RequestFilter::next().always();
        route.relay.on(every, Fault::Stall(Moment::Before, HANG));
        Lockstep { world: self, route }
    }
}

impl Lockstep<'_> {
    /// Runs the binary, and tells its rounds.
    pub async fn run(&self, arguments: &[&str]) -> (OpmOutput, Rounds) {
        let relay = &self.route.relay;
        let mut seen = relay.count();
        let running = self.world.start_at(&self.route.kubeconfig, arguments);
        let pid = running.pid();
        let mut rounds = Vec::new();
        while let Some(count) = self.until_it_waits(pid, seen).await {
            rounds.push(relay.requests()[seen..count].to_vec());
            seen = count;
            relay.release();
        }
        (running.end().await, Rounds(rounds))
    }

    /// Waits until the process has sent something and waits for the answer, and says how many
    /// requests there were by then. None when it has ended.
    async fn until_it_waits(&self, pid: u32, seen: usize) -> Option<usize> {
        let (mut quiet, mut last) = (0, seen);
        loop {
            tokio::time::sleep(LOOK).await;
            let count = self.route.relay.count();
            let sleeps = match state(pid) {
                ProcessState::Ended => return None,
                ProcessState::Sleeping => true,
                ProcessState::Working => false,
            };
            let waits = sleeps && count > seen && count == last;
            quiet = if waits { quiet + 1 } else { 0 };
            last = count;
            if quiet == LOOKS {
                return Some(count);
            }
        }
    }
}

enum ProcessState {
    Working,
    Sleeping,
    Ended,
}

fn state(pid: u32) -> ProcessState {
    let letter = |stat: &Path| {
        let text = std::fs::read_to_string(stat).ok()?;
        text.rsplit_once(") ")?.1.chars().next()
    };
    let process = format!("/proc/{pid}");
    match letter(&Path::new(&process).join("stat")) {
        None | Some('Z' | 'X') => return ProcessState::Ended,
        Some(_) => {}
    }
    let tasks = std::fs::read_dir(format!("{process}/task"));
    let mut tasks = tasks.into_iter().flatten().flatten();
    let sleeps = tasks.all(|task| matches!(letter(&task.path().join("stat")), None | Some('S')));
    match sleeps {
        true => ProcessState::Sleeping,
        false => ProcessState::Working,
    }
}
