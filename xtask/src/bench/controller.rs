//! The controller with many releases, on an API server of its own: how long until all are ready,
//! what it costs at rest, how soon drift is corrected, and what a restart takes.
//!
//! `cluster` makes the releases, `flux` the same as Kustomizations, `process` runs a controller and
//! reads its counters.

mod cluster;
mod flux;
mod process;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use opm_testkit::ApiServer;

use super::release_build;
use crate::Outcome;
use cluster::Releases;
use process::Controller;

type Failed = Box<dyn Error>;

/// How long the controller is watched at rest.
const REST: Duration = Duration::from_secs(60);
/// How often it is looked whether all is done. Counters cost the API server nothing.
const LOOK: Duration = Duration::from_millis(250);
/// How long all of it may take.
const LONGEST: Duration = Duration::from_secs(600);

/// Measures the controller with many releases, on an API server of its own
///
/// Prints one row of the tables in docs/controller.md.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many releases there are
    #[arg(long, default_value_t = 100)]
    releases: usize,
    /// What each of them has
    #[arg(long, value_enum, default_value_t = Shape::Flux)]
    shape: Shape,
    /// How many edits are timed until they are taken back
    #[arg(long, default_value_t = 50)]
    edits: usize,
    /// Two replicas with four shards, one of which is killed in the middle, and nothing else
    #[arg(long)]
    kill: bool,
    /// The same objects as Kustomizations, by Flux's kustomize-controller, which Go builds
    #[arg(long, conflicts_with_all = ["kill", "shape", "opm"])]
    flux: bool,
    /// The opm to measure [default: built from this work tree with --release]
    #[arg(long, value_name = "FILE")]
    opm: Option<PathBuf>,
}

/// What a release has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// A Deployment scaled to zero, a ServiceAccount, a Service and an Ingress
    Flux,
    /// The same, and six ConfigMaps
    Ten,
}

impl Shape {
    fn objects(self) -> usize {
        match self {
            Self::Flux => 4,
            Self::Ten => 10,
        }
    }
}

pub(crate) async fn run(args: &Args) -> Outcome {
    if args.flux {
        return flux::run(args.releases).await;
    }
    let opm = match &args.opm {
        Some(path) => path.canonicalize()?,
        None => release_build("opm-cli", "opm")?,
    };
    let server = ApiServer::start().await?;
    let home = tempfile::tempdir()?;
    let releases = Releases::put(&server, &opm, home.path(), args.releases, args.shape).await?;
    println!(
        "{} releases of {} objects",
        args.releases,
        args.shape.objects()
    );
    match args.kill {
        true => kill_one(&releases).await,
        false => live(&releases, args).await,
    }
}

/// From the first start to a restart.
async fn live(releases: &Releases<'_>, args: &Args) -> Outcome {
    let began = Instant::now();
    let controller = Controller::start(releases, &[])?;
    let most = until_all(&controller, releases.count).await?;
    row("all ready after", &seconds(began.elapsed()));
    releases.are_ready().await?;
    row("peak memory", &mebibytes(controller.peak()?.max(most)));
    costs(&controller, releases.count).await?;

    let mut took = Vec::new();
    for n in 0..args.edits {
        took.push(
            releases
                .edited(n * releases.count / args.edits.max(1))
                .await?,
        );
    }
    took.sort();
    if let (Some(median), Some(worst)) = (took.get(took.len() / 2), took.last()) {
        let both = format!("{} / {}", seconds(*median), seconds(*worst));
        row("an edit is taken back after (median / worst)", &both);
    }
    row("peak memory until then", &mebibytes(controller.peak()?));

    controller.stop()?;
    let began = Instant::now();
    let controller = Controller::start(releases, &[])?;
    until_all(&controller, releases.count).await?;
    row("restarted, all looked at after", &seconds(began.elapsed()));
    row("requests for that", &words(&controller.requests()?));
    row("peak memory of that", &mebibytes(controller.peak()?));
    controller.stop()
}

/// What it took to get there, and what it takes at rest.
async fn costs(controller: &Controller, count: usize) -> Outcome {
    let sent = controller.requests()?;
    row("requests for it", &words(&sent));
    let each = total(&sent) as f64 / count as f64;
    row("requests for each release", &format!("{each:.1}"));
    row("CPU for it", &seconds(controller.cpu()?));

    // What it tells last is on its way.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (sent, cpu) = (controller.requests()?, controller.cpu()?);
    tokio::time::sleep(REST).await;
    let minutes = REST.as_secs_f64() / 60.0;
    let more: u64 = total(&controller.requests()?).saturating_sub(total(&sent));
    let rest = controller.cpu()?.saturating_sub(cpu).as_secs_f64();
    let per_minute = more as f64 / minutes;
    row("requests a minute at rest", &format!("{per_minute:.1}"));
    let share = rest / REST.as_secs_f64() * 100.0;
    row("CPU at rest", &format!("{share:.2} % of a core"));
    row("memory at rest", &mebibytes(controller.memory()?));
    Ok(())
}

/// Two replicas, one of which is killed when half is done.
async fn kill_one(releases: &Releases<'_>) -> Outcome {
    let began = Instant::now();
    let flags = ["--shards", "4", "--lease-namespace", "default"];
    let first = Controller::start(releases, &flags)?;
    let second = Controller::start(releases, &flags)?;
    loop {
        // Either may not listen yet.
        let applied = first.applied().unwrap_or(0) + second.applied().unwrap_or(0);
        if applied >= releases.count / 2 {
            break;
        }
        in_time(began)?;
        tokio::time::sleep(LOOK).await;
    }
    let killed = Instant::now();
    row("killed after", &seconds(began.elapsed()));
    first.kill()?;
    while releases.are_ready().await.is_err() {
        in_time(began)?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    row("all ready after", &seconds(began.elapsed()));
    row("from the kill on", &seconds(killed.elapsed()));
    releases.are_recorded().await?;
    second.stop()
}

fn in_time(began: Instant) -> Outcome {
    match began.elapsed() < LONGEST {
        true => Ok(()),
        false => Err(format!("not done within {} s", LONGEST.as_secs()).into()),
    }
}

/// Waits until every release was reconciled well; says what memory it took on the way.
async fn until_all(controller: &Controller, count: usize) -> Result<u64, Failed> {
    let began = Instant::now();
    let mut most = 0;
    while controller.applied().unwrap_or(0) < count {
        in_time(began)?;
        most = most.max(controller.memory()?);
        tokio::time::sleep(LOOK).await;
    }
    Ok(most)
}

fn row(what: &str, value: &str) {
    println!("| {what} | {value} |");
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn total(sent: &BTreeMap<String, u64>) -> u64 {
    sent.values().sum()
}

fn words(sent: &BTreeMap<String, u64>) -> String {
    let each = sent.iter().map(|(what, count)| format!("{what} {count}"));
    format!("{} ({})", total(sent), each.collect::<Vec<_>>().join(", "))
}
