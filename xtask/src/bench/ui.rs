//! The page with many releases and a large one, on the sandbox: how soon a browser shows something,
//! what the server takes in memory, and what it asks of the cluster.
//!
//! `releases` makes them, `server` runs the page and talks to it.

mod releases;
mod server;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use opm_testkit::browser::Browser;
use opm_testkit::relay::Relay;

use super::release_build;
use crate::Outcome;
use releases::LARGE;
use server::{Served, Timed};

type Failed = Box<dyn Error>;

/// How often each page is opened by a server that has just started.
const STARTS: usize = 5;
/// How long requests are counted while somebody looks.
const LOOKING: Duration = Duration::from_secs(20);

/// Measures the page with many releases and a large one, on the sandbox
///
/// Prints the tables of docs/ui.md. Needs chromium and its driver.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many small releases there are
    #[arg(long, default_value_t = 1_000)]
    releases: usize,
    /// How many objects the large one has
    #[arg(long, default_value_t = 5_000)]
    objects: usize,
    /// The opm to measure [default: built from this work tree with --release]
    #[arg(long, value_name = "FILE")]
    opm: Option<PathBuf>,
    /// A directory with the releases of an earlier run, or for those of this one
    #[arg(long, value_name = "DIR")]
    sandbox: Option<PathBuf>,
}

/// A server that takes less processor time than this in a second rests.
const RESTING: Duration = Duration::from_millis(50);

/// A page to look at.
struct Place {
    title: &'static str,
    path: String,
    /// What is on it when it is whole.
    shows: &'static str,
}

pub(crate) async fn run(args: &Args) -> Outcome {
    let opm = match &args.opm {
        Some(path) => path.canonicalize()?,
        None => release_build("opm-cli", "opm")?,
    };
    let scratch = tempfile::tempdir()?;
    let sandbox = args.sandbox.clone();
    let sandbox = sandbox.unwrap_or_else(|| scratch.path().join("sandbox"));
    releases::put(&opm, &sandbox, scratch.path(), args.releases, args.objects)?;
    let browser = Browser::start().await.ok_or("no browser")?;
    let places = [
        Place {
            title: "Releases",
            path: "/".to_owned(),
            shows: "app-0000",
        },
        Place {
            title: "a large release",
            path: format!("/releases/{LARGE}/{LARGE}"),
            shows: "ConfigMap/",
        },
    ];
    println!("| page | first byte | complete | first paint | all is there | again | peak memory |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for place in &places {
        measure(&opm, &sandbox, scratch.path(), place, &browser).await?;
    }
    for place in &places {
        count(&opm, &sandbox, scratch.path(), place, &browser).await?;
    }
    Ok(())
}

/// Opens a page of servers that have just started, and prints what that took.
async fn measure(
    opm: &Path,
    sandbox: &Path,
    home: &Path,
    place: &Place,
    browser: &Browser,
) -> Outcome {
    let (mut answers, mut paints, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let mut peak = 0;
    let flags = ["--sandbox", "--sandbox-dir", &sandbox.display().to_string()];
    for _ in 0..STARTS {
        let served = Served::start(opm, home, &flags)?;
        answers.push(served.get(&place.path)?);
    }
    for _ in 0..STARTS {
        let served = Served::start(opm, home, &flags)?;
        browser.open(&served.entrance("/style.css")).await;
        paints.push(opened(browser, &served.address(&place.path), place.shows).await?);
        again.push(opened(browser, &served.address(&place.path), place.shows).await?);
        until_it_rests(&served).await?;
        peak = peak.max(served.peak()?);
    }
    let of = |times: &[Timed], which: fn(&Timed) -> Duration| {
        let mut times: Vec<Duration> = times.iter().map(which).collect();
        times.sort_unstable();
        let middle = times.get(times.len() / 2).copied().unwrap_or_default();
        format!("{} ms", middle.as_millis())
    };
    println!(
        "| {} | {} | {} | {} | {} | {} | {} MB |",
        place.title,
        of(&answers, |one| one.first),
        of(&answers, |one| one.last),
        of(&paints, |one| one.first),
        of(&paints, |one| one.last),
        of(&again, |one| one.first),
        peak.div_ceil(1_000_000)
    );
    Ok(())
}

/// Waits until a server has looked at everything, and does nothing more.
async fn until_it_rests(served: &Served) -> Outcome {
    let mut before = Duration::MAX;
    loop {
        let used = served.cpu()?;
        if used.saturating_sub(before) < RESTING && before != Duration::MAX {
            return Ok(());
        }
        before = used;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Opens an address, and says when something was painted and when all of it was there.
async fn opened(browser: &Browser, address: &str, shows: &str) -> Result<Timed, Failed> {
    browser.open(address).await;
    let script = "const paints = performance.getEntriesByType('paint').map((one) => one.startTime);\
                  const there = document.body.innerText.includes(arguments[0]);\
                  if (there && window.there === undefined) window.there = performance.now();\
                  return there && paints.length ? [Math.min(...paints), window.there] : null;";
    loop {
        let times = browser.run(script, &[shows.into()]).await;
        let time = |at: usize| times.get(at).and_then(serde_json::Value::as_f64);
        if let (Some(first), Some(last)) = (time(0), time(1)) {
            return Ok(Timed {
                first: Duration::from_secs_f64(first / 1e3),
                last: Duration::from_secs_f64(last / 1e3),
            });
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Prints what is asked of the cluster while somebody looks at a page.
async fn count(
    opm: &Path,
    sandbox: &Path,
    home: &Path,
    place: &Place,
    browser: &Browser,
) -> Outcome {
    let cluster = server::Cluster::serve(opm, home, sandbox)?;
    let relay = Relay::start(cluster.kubeconfig()).await?;
    let relayed = relay.write_kubeconfig(&home.join("relayed"))?;
    let flags = ["--kubeconfig", &relayed.display().to_string()];
    let served = Served::start(opm, home, &flags)?;
    browser.open(&served.entrance(&place.path)).await;
    tokio::time::sleep(LOOKING).await;
    let mut counts: BTreeMap<(String, String), [usize; 4]> = BTreeMap::new();
    for request in relay.requests() {
        let at = match request.verb.as_str() {
            "list" if request.uri.contains("continue=") => 1,
            "list" => 0,
            "watch" => 2,
            "get" if !request.resource.is_empty() => 3,
            _ => continue,
        };
        let key = (request.resource, request.namespace);
        counts.entry(key).or_default()[at] += 1;
    }
    println!("\n{}, {} s:\n", place.title, LOOKING.as_secs());
    println!("| kind | namespace | lists | more pages of them | watches | reads by name |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for ((kind, namespace), [lists, pages, watches, reads]) in counts {
        println!("| {kind} | {namespace} | {lists} | {pages} | {watches} | {reads} |");
    }
    Ok(())
}
