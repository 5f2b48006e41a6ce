//! What was measured, by cell, client and action.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clients::{Client, Programs};
use super::matrix::{Action, Cell, Shape};

/// One run of one program.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    /// Seconds of user and system time.
    pub(super) cpu: f64,
    /// Peak memory.
    pub(super) bytes: u64,
    pub(super) requests: usize,
}

/// Everything that a page needs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) full: bool,
    pub(super) minutes: f64,
    /// In how many runs, one after the other.
    pub(super) runs: usize,
    pub(super) cores: usize,
    pub(super) gigabytes: u64,
    /// Load over the last minute when it began: figures of a busy machine say little.
    pub(super) load: f64,
    pub(super) versions: Vec<(Client, String)>,
    pub(super) cells: Vec<CellResults>,
}

/// What was measured of one cell.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CellResults {
    pub(super) cell: Cell,
    samples: Vec<(Client, Action, Vec<Sample>)>,
    pub(super) failures: BTreeMap<Client, String>,
}

impl Results {
    pub(super) fn begin(programs: &Programs, full: bool) -> Self {
        let peers = programs.clients().filter(|client| client.is_peer());
        let versions = peers.filter_map(|client| Some((client, programs.version(client)?)));
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let number = |text: &str, word: usize| {
            text.split_whitespace()
                .nth(word)
                .and_then(|word| word.parse::<f64>().ok())
        };
        Self {
            full,
            minutes: 0.0,
            runs: 0,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            gigabytes: (number(&memory, 1).unwrap_or_default() / 1048576.0).round() as u64,
            load: number(&load, 0).unwrap_or_default(),
            versions: versions.collect(),
            cells: Vec::new(),
        }
    }

    pub(super) fn took(&mut self, time: Duration) {
        self.minutes += time.as_secs_f64() / 60.0;
        self.runs += 1;
    }

    pub(super) fn begin_cell(&mut self, cell: &Cell) {
        self.cells.push(CellResults {
            cell: cell.clone(),
            samples: Vec::new(),
            failures: BTreeMap::new(),
        });
    }

    pub(super) fn add(&mut self, client: Client, action: Action, sample: Sample) {
        let Some(cell) = self.cells.last_mut() else {
            return;
        };
        let known =
            |entry: &&mut (Client, Action, Vec<Sample>)| entry.0 == client && entry.1 == action;
        match cell.samples.iter_mut().find(known) {
            Some((_, _, list)) => list.push(sample),
            None => cell.samples.push((client, action, vec![sample])),
        }
    }

    pub(super) fn failed(&mut self, client: Client, why: &str) {
        if let Some(cell) = self.cells.last_mut() {
            cell.failures.insert(client, why.to_owned());
        }
    }

    /// What was measured of these objects at this distance.
    pub(super) fn of(&self, shape: Shape, delay: u64) -> Option<&CellResults> {
        let is_it = |one: &&CellResults| one.cell.shape == shape && one.cell.delay == delay;
        self.cells.iter().find(is_it)
    }
}

impl CellResults {
    fn samples(&self, client: Client, action: Action) -> Option<&[Sample]> {
        let is_it = |entry: &&(Client, Action, Vec<Sample>)| entry.0 == client && entry.1 == action;
        self.samples
            .iter()
            .find(is_it)
            .map(|(_, _, list)| list.as_slice())
    }

    /// The medians of an action.
    pub(super) fn median(&self, client: Client, action: Action) -> Option<Sample> {
        let samples = self.samples(client, action)?;
        let floats = |of: fn(&Sample) -> f64| {
            let mut list: Vec<f64> = samples.iter().map(of).collect();
            list.sort_by(f64::total_cmp);
            middle(&list)
        };
        Some(Sample {
            seconds: floats(|one| one.seconds)?,
            cpu: floats(|one| one.cpu)?,
            bytes: floats(|one| one.bytes as f64)? as u64,
            requests: floats(|one| one.requests as f64)? as usize,
        })
    }

    /// How often an action was measured.
    pub(super) fn count(&self, client: Client, action: Action) -> usize {
        self.samples(client, action).map_or(0, <[Sample]>::len)
    }

    /// The fastest peer.
    pub(super) fn best_peer(&self, action: Action) -> Option<(Client, Sample)> {
        let peers = Client::ALL.into_iter().filter(|client| client.is_peer());
        let medians = peers.filter_map(|client| Some((client, self.median(client, action)?)));
        medians.min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))
    }

    /// The most memory that a client took for any action.
    pub(super) fn peak(&self, client: Client) -> Option<u64> {
        let of_client = self.samples.iter().filter(|entry| entry.0 == client);
        of_client
            .flat_map(|entry| entry.2.iter().map(|one| one.bytes))
            .max()
    }
}

/// The middle of a sorted list; of the two middle ones, the greater.
fn middle(list: &[f64]) -> Option<f64> {
    list.get(list.len() / 2).copied()
}
