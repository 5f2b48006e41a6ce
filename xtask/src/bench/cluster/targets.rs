//! What `opm` is to reach, held against what was measured.

use super::clients::Client;
use super::matrix::{Action, Shape};
use super::results::{CellResults, Results};

/// One promise.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) what: &'static str,
    pub(super) target: String,
    /// What was measured, and whether that is enough; nothing if it was not measured.
    pub(super) measured: Option<(String, bool)>,
}

/// A promise about one action of one cell.
enum Claim {
    /// At most so many times the floor.
    Floor(f64),
    /// At least so many times faster than the best peer.
    Peer(f64),
    /// At most so many requests.
    Requests(usize),
}

/// Everything that is promised.
pub(super) fn targets(results: &Results) -> Vec<Target> {
    use Action::{Delete, Install, OneChanged, Status, Unchanged, Upgrade};
    use Claim::{Floor, Peer, Requests};
    let promised = [
        (
            "install, N = 500, loopback",
            500,
            0,
            Install,
            vec![Floor(1.4), Peer(2.5)],
        ),
        (
            "install, N = 100, 20 ms",
            100,
            20,
            Install,
            vec![Floor(2.0), Peer(6.0)],
        ),
        (
            "re-apply unchanged, N = 500",
            500,
            0,
            Unchanged,
            vec![Requests(10), Peer(4.0)],
        ),
        (
            "re-apply, one object of 500 changed",
            500,
            0,
            OneChanged,
            vec![Requests(12), Peer(10.0)],
        ),
        (
            "upgrade and prune, N = 500",
            500,
            0,
            Upgrade,
            vec![Requests(512), Peer(3.0)],
        ),
        (
            "status, N = 500",
            500,
            0,
            Status,
            vec![Requests(5), Peer(2.0)],
        ),
        (
            "delete, N = 500",
            500,
            0,
            Delete,
            vec![Requests(508), Peer(3.0)],
        ),
    ];
    let claim =
        |(what, n, delay, action, claims): (&'static str, usize, u64, Action, Vec<Claim>)| {
            let cell = results.of(Shape::ConfigMaps(n), delay);
            claims
                .into_iter()
                .map(|claim| Target {
                    what,
                    target: claim.text(),
                    measured: cell.and_then(|cell| claim.measured(cell, action)),
                })
                .collect::<Vec<_>>()
        };
    let mut targets: Vec<Target> = promised.into_iter().flat_map(claim).collect();
    targets.extend(memory(results));
    targets.push(growth(results));
    targets
}

impl Claim {
    fn text(&self) -> String {
        match self {
            Self::Floor(times) => format!("≤ {times} × floor"),
            Self::Peer(times) => format!("≥ {times} × faster than the best peer"),
            Self::Requests(count) => format!("≤ {count} requests"),
        }
    }

    fn measured(&self, cell: &CellResults, action: Action) -> Option<(String, bool)> {
        let opm = cell.median(Client::Opm, action)?;
        match self {
            Self::Floor(times) => {
                let floor = cell.median(Client::Floor, action)?;
                let ratio = opm.seconds / floor.seconds;
                Some((format!("{ratio:.2} ×"), ratio <= *times))
            }
            Self::Peer(times) => {
                let (peer, sample) = cell.best_peer(action)?;
                let ratio = sample.seconds / opm.seconds;
                Some((format!("{ratio:.1} × ({})", peer.title()), ratio >= *times))
            }
            Self::Requests(count) => Some((opm.requests.to_string(), opm.requests <= *count)),
        }
    }
}

fn memory(results: &Results) -> Vec<Target> {
    let cell = results.of(Shape::ConfigMaps(2_000), 0);
    let what = "peak memory, N = 2,000";
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let opm = cell.and_then(|cell| cell.peak(Client::Opm));
    let bound = opm.map(|bytes| {
        (
            format!("{:.0} MB", megabytes(bytes)),
            megabytes(bytes) <= 40.0,
        )
    });
    let peers = cell.zip(opm).and_then(|(cell, opm)| {
        let peers = Client::ALL.into_iter().filter(|client| client.is_peer());
        let peaks = peers.filter_map(|client| Some((cell.peak(client)?, client)));
        let (least, client) = peaks.min()?;
        Some((
            format!("{:.0} MB ({})", megabytes(least), client.title()),
            opm < least,
        ))
    });
    vec![
        Target {
            what,
            target: "≤ 40 MB".to_owned(),
            measured: bound,
        },
        Target {
            what,
            target: "below every peer".to_owned(),
            measured: peers,
        },
    ]
}

/// What one more object costs, from 500 to 5,000 beside from 100 to 500: the same if it is linear.
fn growth(results: &Results) -> Target {
    let seconds = |n| {
        let sample = results
            .of(Shape::ConfigMaps(n), 0)?
            .median(Client::Opm, Action::Install)?;
        Some(sample.seconds)
    };
    let measured = || {
        let (few, some, many) = (seconds(100)?, seconds(500)?, seconds(5_000)?);
        let ratio = ((many - some) / 4_500.0) / ((some - few) / 400.0);
        Some((
            format!("{ratio:.2} × the cost of one more object"),
            ratio <= 1.25,
        ))
    };
    Target {
        what: "growth of an install, 100 to 5,000",
        target: "linear: one more object costs ≤ 1.25 × of what it costs below 500".to_owned(),
        measured: measured(),
    }
}
