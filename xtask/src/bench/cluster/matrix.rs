//! What is measured: which objects, how far from the cluster, which actions, how often.

use serde::{Deserialize, Serialize};

use super::clients::Client;

/// What is done to a release, in the order of its life.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Action {
    Install,
    Unchanged,
    Status,
    Diff,
    OneChanged,
    Upgrade,
    Rollback,
    Delete,
    List,
}

impl Action {
    /// All that happen to one release.
    pub(super) const LIFE: [Self; 8] = [
        Self::Install,
        Self::Unchanged,
        Self::Status,
        Self::Diff,
        Self::OneChanged,
        Self::Upgrade,
        Self::Rollback,
        Self::Delete,
    ];

    /// For people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Unchanged => "re-apply, nothing changed",
            Self::Status => "status",
            Self::Diff => "diff, one object changed",
            Self::OneChanged => "re-apply, one object changed",
            Self::Upgrade => "upgrade of all, 10 % pruned",
            Self::Rollback => "rollback of that upgrade",
            Self::Delete => "delete",
            Self::List => "list",
        }
    }
}

/// Which objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// So many ConfigMaps of a kilobyte.
    ConfigMaps(usize),
    /// Deployments, Services, Secrets, accounts with their rights, and an Ingress.
    Mixed,
    /// So many releases of one ConfigMap.
    Releases(usize),
}

/// One row of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) shape: Shape,
    /// Milliseconds for a round trip.
    pub(super) delay: u64,
    pub(super) rounds: usize,
    pub(super) actions: Vec<Action>,
    /// Whether only opm and the floor are measured.
    pub(super) alone: bool,
    /// Whether clients that limit themselves to some requests a second are measured too.
    pub(super) slow_ones: bool,
}

impl Cell {
    pub(super) fn new(shape: Shape, delay: u64) -> Self {
        let actions = match shape {
            Shape::Releases(_) => vec![Action::List],
            _ => Action::LIFE.to_vec(),
        };
        Self {
            shape,
            delay,
            rounds: 5,
            actions,
            alone: false,
            slow_ones: true,
        }
    }

    fn times(self, rounds: usize) -> Self {
        Self { rounds, ..self }
    }

    fn only(self, actions: &[Action]) -> Self {
        let actions = actions.to_vec();
        Self { actions, ..self }
    }

    fn without_slow_ones(self) -> Self {
        let slow_ones = false;
        Self { slow_ones, ..self }
    }

    fn alone(self) -> Self {
        let alone = true;
        Self { alone, ..self }
    }

    pub(super) fn measures(&self, client: Client) -> bool {
        let here = !self.alone || client.always_takes_part();
        here && (self.slow_ones || !client.is_slow())
    }

    pub(super) fn title(&self) -> String {
        let what = match self.shape {
            Shape::ConfigMaps(n) => format!("{} ConfigMaps", thousands(n)),
            Shape::Mixed => "A mixed application".to_owned(),
            Shape::Releases(n) => format!("A list of {n} releases"),
        };
        match self.delay {
            0 => format!("{what}, loopback"),
            delay => format!("{what}, {delay} ms"),
        }
    }
}

/// A number with its thousands apart.
pub(super) fn thousands(n: usize) -> String {
    match n {
        0..1000 => n.to_string(),
        _ => format!("{},{:03}", n / 1000, n % 1000),
    }
}

/// The matrix; with sizes and delays, all of their combinations.
pub(super) fn cells(full: bool, sizes: &[usize], delays: &[u64]) -> Vec<Cell> {
    let combine = |sizes: &[usize], delays: &[u64]| -> Vec<Cell> {
        let shape = |n: &usize| match n {
            0 => Shape::Mixed,
            n => Shape::ConfigMaps(*n),
        };
        let shapes: Vec<Shape> = sizes.iter().map(shape).collect();
        let cell = |delay: &u64| {
            shapes
                .iter()
                .map(|shape| Cell::new(*shape, *delay))
                .collect::<Vec<_>>()
        };
        delays.iter().flat_map(cell).collect()
    };
    if !sizes.is_empty() {
        let delays = if delays.is_empty() { &[0] } else { delays };
        return combine(sizes, delays);
    }
    let mut cells = match full {
        true => [
            combine(&[10, 100, 500, 2_000, 0], &[0, 20, 100]),
            vec![Cell::new(Shape::ConfigMaps(5_000), 0).alone()],
            [0, 20, 100]
                .map(|delay| Cell::new(Shape::Releases(100), delay))
                .to_vec(),
        ]
        .concat(),
        false => short(),
    };
    if !delays.is_empty() {
        cells.retain(|cell| delays.contains(&cell.delay));
    }
    cells
}

/// One of so many parts of a matrix, one cell after the other.
pub(super) fn part(cells: Vec<Cell>, part: usize, of: usize) -> Vec<Cell> {
    let each = cells.len().div_ceil(of.max(1));
    let begin = part.saturating_sub(1).saturating_mul(each);
    cells.into_iter().skip(begin).take(each).collect()
}

/// What fits into a quarter of an hour on two cores.
fn short() -> Vec<Cell> {
    use Action::{Delete, Install, Status, Unchanged, Upgrade};
    let maps = |n, delay| Cell::new(Shape::ConfigMaps(n), delay);
    vec![
        maps(10, 0),
        maps(100, 0).without_slow_ones(),
        maps(500, 0).without_slow_ones(),
        maps(2_000, 0)
            .times(1)
            .only(&[Install, Unchanged, Status, Delete])
            .without_slow_ones(),
        maps(5_000, 0)
            .times(1)
            .only(&[Install, Unchanged, Status, Delete])
            .alone(),
        Cell::new(Shape::Mixed, 0).without_slow_ones(),
        maps(100, 20)
            .only(&[Install, Unchanged, Status, Upgrade, Delete])
            .without_slow_ones(),
        maps(10, 100)
            .only(&[Install, Unchanged, Status, Upgrade, Delete])
            .without_slow_ones(),
        Cell::new(Shape::Releases(100), 0).without_slow_ones(),
    ]
}

#[cfg(test)]
mod tests {
    use super::{cells, part};

    #[test]
    fn the_parts_are_the_whole() {
        for of in 1..12 {
            let parts = (1..=of).flat_map(|n| part(cells(false, &[], &[]), n, of));
            assert_eq!(parts.collect::<Vec<_>>(), cells(false, &[], &[]), "{of}");
        }
    }
}
