//! What is counted, in the text format that Prometheus reads.
//!
//! A few counters need no library. No name of a release and no value is a label: their number is
//! not bounded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opm_cluster::SentRequest;

/// Upper bounds of how long a reconcile takes, in seconds.
const BUCKETS: [f64; 9] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0];

#[derive(Default)]
struct Counts {
    reconciles: BTreeMap<&'static str, u64>,
    buckets: [u64; BUCKETS.len()],
    seconds: f64,
    running: u64,
    corrections: u64,
    requests: BTreeMap<(String, String), u64>,
}

/// All counters of this process.
#[derive(Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
}

/// What is known elsewhere and only shown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gauges {
    pub(crate) resources: usize,
    pub(crate) objects: usize,
    pub(crate) watches: usize,
    pub(crate) queued: usize,
}

impl Metrics {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reconcile begins.
    pub(crate) fn begun(&self) {
        self.counts().running += 1;
    }

    /// A reconcile ended with this reason.
    pub(crate) fn ended(&self, reason: &'static str, took: Duration) {
        let mut counts = self.counts();
        counts.running = counts.running.saturating_sub(1);
        *counts.reconciles.entry(reason).or_default() += 1;
        counts.seconds += took.as_secs_f64();
        let fitting = BUCKETS.iter().position(|most| took.as_secs_f64() <= *most);
        if let Some(bucket) = fitting.and_then(|at| counts.buckets.get_mut(at)) {
            *bucket += 1;
        }
    }

    /// Drift was corrected on so many objects.
    pub(crate) fn corrected(&self, objects: u64) {
        self.counts().corrections += objects;
    }

    /// A request was sent.
    pub(crate) fn sent(&self, request: &SentRequest) {
        let code = request
            .status
            .map_or_else(|| "none".to_owned(), |code| code.to_string());
        let mut counts = self.counts();
        *counts
            .requests
            .entry((request.method.clone(), code))
            .or_default() += 1;
    }

    /// Everything, as text.
    pub(crate) fn text(&self, gauges: Gauges) -> String {
        let counts = self.counts();
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP opm_{name} {help}\n# TYPE opm_{name} {kind}");
        };
        head(
            &mut text,
            "reconciles_total",
            "counter",
            "Reconciles by result.",
        );
        for (reason, count) in &counts.reconciles {
            let _ = writeln!(text, "opm_reconciles_total{{result=\"{reason}\"}} {count}");
        }
        head(
            &mut text,
            "reconcile_seconds",
            "histogram",
            "How long reconciles take.",
        );
        let mut sum = 0;
        for (most, count) in BUCKETS.iter().zip(counts.buckets) {
            sum += count;
            let _ = writeln!(text, "opm_reconcile_seconds_bucket{{le=\"{most}\"}} {sum}");
        }
        let all: u64 = counts.reconciles.values().sum();
        let _ = writeln!(text, "opm_reconcile_seconds_bucket{{le=\"+Inf\"}} {all}");
        let _ = writeln!(text, "opm_reconcile_seconds_sum {}", counts.seconds);
        let _ = writeln!(text, "opm_reconcile_seconds_count {all}");
        head(
            &mut text,
            "drift_corrections_total",
            "counter",
            "Objects on which drift was corrected.",
        );
        let _ = writeln!(text, "opm_drift_corrections_total {}", counts.corrections);
        head(
            &mut text,
            "api_requests_total",
            "counter",
            "Requests to the API server.",
        );
        for ((verb, code), count) in &counts.requests {
            let _ = writeln!(
                text,
                "opm_api_requests_total{{verb=\"{verb}\",code=\"{code}\"}} {count}"
            );
        }
        let running = usize::try_from(counts.running).unwrap_or_default();
        for (name, help, value) in [
            ("reconciles_running", "Reconciles that go on.", running),
            (
                "queue_depth",
                "Releases that wait to be reconciled.",
                gauges.queued,
            ),
            (
                "resources",
                "ModuleReleases that are known.",
                gauges.resources,
            ),
            ("objects", "Objects that are tracked.", gauges.objects),
            ("watches", "Kinds that are watched.", gauges.watches),
        ] {
            head(&mut text, name, "gauge", help);
            let _ = writeln!(text, "opm_{name} {value}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_shown() {
        let metrics = Metrics::default();
        for (reason, millis) in [("Applied", 40), ("Applied", 700), ("Refused", 400_000)] {
            metrics.begun();
            metrics.ended(reason, Duration::from_millis(millis));
        }
        metrics.begun();
        metrics.corrected(2);
        metrics.sent(&SentRequest {
            method: "GET".to_owned(),
            target: "/api/v1/secrets/password".to_owned(),
            status: Some(200),
            took: Duration::ZERO,
        });
        let text = metrics.text(Gauges {
            resources: 7,
            ..Gauges::default()
        });
        for line in [
            "opm_reconciles_total{result=\"Applied\"} 2",
            "opm_reconciles_total{result=\"Refused\"} 1",
            "opm_reconcile_seconds_bucket{le=\"0.05\"} 1",
            "opm_reconcile_seconds_bucket{le=\"1\"} 2",
            "opm_reconcile_seconds_bucket{le=\"300\"} 2",
            "opm_reconcile_seconds_bucket{le=\"+Inf\"} 3",
            "opm_reconcile_seconds_count 3",
            "opm_drift_corrections_total 2",
            "opm_api_requests_total{verb=\"GET\",code=\"200\"} 1",
            "opm_reconciles_running 1",
            "opm_resources 7",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("password"));
    }
}
