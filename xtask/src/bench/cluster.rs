//! `opm` beside other tools and a floor, on a real control plane.
//!
//! Every client takes the same objects through the same life, in a namespace of its own, and the
//! clients take turns: what disturbs the machine disturbs all of them. `matrix` says what is
//! measured, `objects` what is deployed, `clients` how each tool is told to, `life` runs it,
//! `page` and `plot` show it, and `targets` holds it against what is promised.

mod clients;
mod floor;
mod life;
mod matrix;
mod objects;
mod page;
mod plot;
mod results;
mod targets;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use opm_testkit::ControlPlane;
use opm_testkit::programs::{self, PEERS, Program};

use super::release_build;
use crate::{Outcome, docs};
use clients::{Client, Programs};
use matrix::{Action, Cell};
use results::Results;

const PAGE: &str = "docs/benchmarks.md";
const PLOTS: &str = "docs/benchmarks";

/// Measures opm beside helm, kapp and a floor, on a real control plane
///
/// The short matrix takes about 15 minutes on two cores that do nothing else. helm and kapp are
/// built once with Go; kubectl takes part if it is on PATH, `floor-http2` and `opm-fixed` if they
/// are named. Without a filter the page docs/benchmarks.md and its plots are written, with one the
/// figures are only printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// All sizes at all distances, five times each: hours
    #[arg(long)]
    full: bool,
    /// Only these actions
    #[arg(long, value_delimiter = ',', value_name = "ACTION,…")]
    only: Vec<Action>,
    /// Only these clients; opm and the floor always take part
    #[arg(long, value_delimiter = ',', value_name = "CLIENT,…")]
    peers: Option<Vec<Client>>,
    /// Only these numbers of ConfigMaps, where 0 is the mixed application
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    sizes: Vec<usize>,
    /// Only these delays for a round trip, in milliseconds
    #[arg(long, value_delimiter = ',', value_name = "MS,…")]
    delays: Vec<u64>,
    /// How often everything is measured
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// The opm to measure [default: built from this work tree with --release]
    #[arg(long, value_name = "FILE")]
    opm: Option<PathBuf>,
    /// Only this part of the matrix, such as 1/3; the page is written of the parts since the first
    #[arg(long, value_name = "N/OF", value_parser = part)]
    part: Option<(usize, usize)>,
    /// Measure nothing: write the page from the figures of the last run
    #[arg(long)]
    page: bool,
}

impl Args {
    fn is_filtered(&self) -> bool {
        let lists = [
            self.only.is_empty(),
            self.sizes.is_empty(),
            self.delays.is_empty(),
        ];
        lists.contains(&false) || self.peers.is_some() || self.rounds.is_some()
    }

    /// The cells of the matrix that are asked for.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = matrix::cells(self.full, &self.sizes, &self.delays);
        for cell in &mut cells {
            cell.rounds = self.rounds.unwrap_or(cell.rounds);
            if !self.only.is_empty() {
                cell.actions.retain(|action| self.only.contains(action));
            }
        }
        cells.retain(|cell| !cell.actions.is_empty());
        match self.part {
            Some((part, of)) => matrix::part(cells, part, of),
            None => cells,
        }
    }

    fn takes_part(&self, client: Client) -> bool {
        let chosen = match &self.peers {
            Some(list) => list.contains(&client),
            None => !client.is_on_request(),
        };
        chosen || client.always_takes_part()
    }
}

pub(crate) async fn run(args: &Args) -> Outcome {
    let kept = docs::full("target/bench-cluster.json");
    if args.page {
        let results = serde_json::from_slice(&fs::read(&kept)?)?;
        return write(&results);
    }
    let cells = args.cells();
    if cells.is_empty() {
        return Err("no cell of the matrix is left: see the filters".into());
    }
    let programs = find_programs(args)?;
    let plane = ControlPlane::shared().await?;
    let begin = Instant::now();
    let mut results = match args.part {
        Some((2.., _)) => serde_json::from_slice(&fs::read(&kept)?)?,
        _ => Results::begin(&programs, args.full),
    };
    for cell in &cells {
        let clients: Vec<_> = programs
            .clients()
            .filter(|client| args.takes_part(*client) && cell.measures(*client))
            .collect();
        eprintln!("{} ({} times)", cell.title(), cell.rounds);
        life::measure(plane, &programs, cell, &clients, &mut results).await?;
        println!("{}", page::section(&results, cell));
    }
    results.took(begin.elapsed());
    eprintln!(
        "measured in {:.1} minutes",
        begin.elapsed().as_secs_f64() / 60.0
    );
    if args.is_filtered() {
        eprintln!("a part of the matrix: {PAGE} is as it was");
        return Ok(());
    }
    fs::write(&kept, serde_json::to_vec_pretty(&results)?)?;
    write(&results)
}

fn write(results: &Results) -> Outcome {
    fs::create_dir_all(docs::full(PLOTS))?;
    for (name, svg) in plot::all(results) {
        fs::write(docs::full(PLOTS).join(name), svg)?;
    }
    fs::write(docs::full(PAGE), page::page(results))?;
    eprintln!("wrote {PAGE} and {PLOTS}");
    Ok(())
}

/// Builds what is to be measured, and finds the rest.
fn find_programs(args: &Args) -> Result<Programs, Box<dyn std::error::Error>> {
    programs::ensure(PEERS)?;
    let opm = match &args.opm {
        Some(path) => path.canonicalize()?,
        None => release_build("opm-cli", "opm")?,
    };
    let bench = release_build("opm-testkit", "opm-bench")?;
    let mut programs = Programs::new(bench.clone());
    programs.add(Client::FloorHttp2, bench);
    programs.add(Client::OpmFixed, opm.clone());
    programs.add(Client::Opm, opm);
    for (client, program) in [(Client::Helm, Program::Helm), (Client::Kapp, Program::Kapp)] {
        programs.add(
            client,
            program.find().ok_or("a peer that was built is not there")?,
        );
    }
    if let Some(path) = on_path(Client::Kubectl.program()) {
        programs.add(Client::Kubectl, path);
    }
    Ok(programs)
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).map(|dir| dir.join(program));
    found.into_iter().find(|path| Path::is_file(path))
}

/// Reads `1/3`.
fn part(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(part, of)| {
        let (part, of) = (part.parse().ok()?, of.parse().ok()?);
        (1 <= part && part <= of).then_some((part, of))
    });
    numbers.ok_or_else(|| "a part is written like 1/3".to_owned())
}
