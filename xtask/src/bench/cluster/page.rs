//! The page of the benchmark: tables of what was measured.

use std::fmt::Write as _;

use opm_testkit::programs::Program;

use super::clients::Client;
use super::matrix::{Action, Cell, thousands};
use super::plot;
use super::results::{CellResults, Results, Sample};
use super::targets::targets;

/// The whole page.
pub(super) fn page(results: &Results) -> String {
    let mut page = introduction(results);
    page.push_str(
        "\n## What is promised\n\n| | target | measured | |\n| --- | --- | --- | --- |\n",
    );
    for target in targets(results) {
        let (measured, met) = match target.measured {
            Some((text, true)) => (text, "met"),
            Some((text, false)) => (text, "**not met**"),
            None => ("not measured".to_owned(), ""),
        };
        let _ = writeln!(
            page,
            "| {} | {} | {measured} | {met} |",
            target.what, target.target
        );
    }
    page.push_str("\n## Cost against the number of objects\n\nConfigMaps of a kilobyte, loopback; both axes are logarithmic.\n\n");
    for action in plot::ACTIONS {
        let _ = writeln!(
            page,
            "![{}](benchmarks/{})\n",
            action.title(),
            plot::file(action)
        );
    }
    page.push_str("## All figures\n\nSeconds of wall time / requests / peak memory in MB, medians. *× floor*: how many times as long as the floor `opm` takes. *× faster*: how many times as long as `opm` the fastest peer takes. A dash: the tool has no such command, or it was not measured.\n");
    for one in &results.cells {
        page.push_str(&format!("\n### {}\n\n", one.cell.title()));
        page.push_str(&table(one));
    }
    page
}

fn introduction(results: &Results) -> String {
    let versions = results
        .versions
        .iter()
        .map(|(client, version)| format!("{} {}", client.title(), version.trim_start_matches('v')));
    let versions: Vec<String> = versions.collect();
    let matrix = match results.full {
        true => "full",
        false => "short",
    };
    let command = match results.full {
        true => "cargo xtask bench cluster --full",
        false => "cargo xtask bench cluster",
    };
    let runs = match results.runs {
        0 | 1 => "one run".to_owned(),
        runs => format!("{runs} runs, one after the other, each of a part"),
    };
    format!(
        "<!-- Written by `cargo xtask bench cluster`. -->\n# Benchmarks\n\n\
         `opm` {} beside other release managers, in {runs} of `{command}` (the {matrix} matrix, \
         {:.0} minutes): {}, kube-apiserver {}, etcd and the clients on one machine with {} cores and {} GB \
         of memory, whose load was {:.1} when it began.\n\n\
         - Each client takes the same objects through the same life in a namespace of its own, \
         and the clients take turns, so that what disturbs the machine disturbs all of them. Each is run as \
         its users run it, except that none waits for readiness.\n\
         - *Floor* is a program that only sends the requests nobody can do without, 24 at a time, over \
         HTTP/1.1: one for each object that has to change or go, one list of each kind where the question is \
         how things stand. It keeps no record and checks nothing.\n\
         - Requests are counted in the audit log of the API server. Memory is the peak that the kernel \
         reports when the program ends. Times include the start of the program and the reading of its files. \
         Before each step the server has 120 ms to hear of what the step before wrote: a list that is asked \
         for earlier waits for that, whoever asks.\n\
         - A distance of 20 or 100 ms is a relay that holds every byte back, half of the time each way.\n\
         - Flux takes no part: its command line applies nothing by itself. Neither does Timoni: it takes modules of its own only.\n",
        env!("CARGO_PKG_VERSION"),
        results.minutes,
        versions.join(", "),
        Program::KubeApiserver.version().trim_start_matches('v'),
        results.cores,
        results.gigabytes,
        results.load,
    )
}

/// What was measured of one cell, for the terminal.
pub(super) fn section(results: &Results, cell: &Cell) -> String {
    let found = results.of(cell.shape, cell.delay);
    let table = found.map(table).unwrap_or_default();
    format!("### {}\n\n{table}", cell.title())
}

fn table(one: &CellResults) -> String {
    let measured = |client: &Client| {
        let any = |action: &Action| one.median(*client, *action).is_some();
        one.cell.actions.iter().any(any)
    };
    let clients: Vec<Client> = Client::ALL.into_iter().filter(measured).collect();
    let mut text = "| |".to_owned();
    for client in &clients {
        let _ = write!(text, " {} |", client.title());
    }
    text.push_str(" × floor | × faster |\n| --- |");
    text.push_str(&" --- |".repeat(clients.len() + 2));
    text.push('\n');
    for action in &one.cell.actions {
        let _ = write!(text, "| {} |", action.title());
        for client in &clients {
            let _ = write!(text, " {} |", figures(one.median(*client, *action)));
        }
        let (floor, peer) = ratios(one, *action);
        let _ = writeln!(text, " {floor} | {peer} |");
    }
    let counts: Vec<usize> = one
        .cell
        .actions
        .iter()
        .map(|action| one.count(Client::Opm, *action))
        .collect();
    let least = counts.into_iter().min().unwrap_or_default();
    let _ = writeln!(text, "\nMeasured {}.", times(least));
    for (client, why) in &one.failures {
        let _ = writeln!(text, "{} failed: {why}", client.title());
    }
    text
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{} times", thousands(count)),
    }
}

fn figures(sample: Option<Sample>) -> String {
    let Some(sample) = sample else {
        return "–".to_owned();
    };
    let megabytes = sample.bytes as f64 / 1e6;
    format!(
        "{} / {} / {megabytes:.0}",
        seconds(sample.seconds),
        thousands(sample.requests)
    )
}

fn seconds(seconds: f64) -> String {
    match seconds {
        0.0..0.0995 => format!("{seconds:.3}"),
        0.0995..9.95 => format!("{seconds:.2}"),
        _ => format!("{seconds:.1}"),
    }
}

fn ratios(one: &CellResults, action: Action) -> (String, String) {
    let dash = || "–".to_owned();
    let Some(opm) = one.median(Client::Opm, action) else {
        return (dash(), dash());
    };
    let floor = one.median(Client::Floor, action);
    let floor = floor.map(|floor| format!("{:.2}", opm.seconds / floor.seconds));
    let peer = one.best_peer(action);
    let peer = peer
        .map(|(peer, sample)| format!("{:.1} ({})", sample.seconds / opm.seconds, peer.title()));
    (floor.unwrap_or_else(dash), peer.unwrap_or_else(dash))
}
