//! Changes and deployments.

use maud::{Markup, html};
use opm_core::record::LogEntry;
use opm_engine::{History, HistoryEntry};

use super::{Text, change, columns, heading, release_address, segment, state, time, warnings};

pub(crate) fn view(history: &History) -> Markup {
    let (namespace, name) = (
        history.release.namespace.as_str(),
        history.release.name.as_str(),
    );
    let address = release_address(namespace, name);
    html! {
        (heading(namespace, name, "/history"))
        (warnings(&history.warnings))
        section aria-labelledby="changes" {
            h2 #changes { "Changes" }
            @if history.changes.is_empty() { p.none { "Nothing was recorded yet." } }
            @if history.changes.len() > 1 {
                form.filter action={ (address) "/compare" } method="get" {
                    label for="from" { "From" }
                    (choice("from", &history.changes, 1))
                    label for="to" { "to" }
                    (choice("to", &history.changes, 0))
                    button type="submit" { "Compare" }
                }
            }
            div.wide { table {
                (columns(&["Change", "Version", "Objects", "Recorded", "What it changed", "Going back"]))
                tbody { @for entry in &history.changes { (recorded(entry, &address)) } }
            } }
        }
        section aria-labelledby="deployments" {
            h2 #deployments { "Deployments" }
            div.wide { table {
                (columns(&["Number", "When", "Command", "Result", "Change", "Who", "Why"]))
                tbody { @for entry in &history.log { (deployment(entry)) } }
            } }
        }
    }
}

fn choice(name: &str, changes: &[HistoryEntry], chosen: usize) -> Markup {
    html! {
        select id=(name) name=(name) {
            @for (at, entry) in changes.iter().enumerate() {
                option value=(Text(&entry.id)) selected[at == chosen] { (change(&entry.id)) }
            }
        }
    }
}

fn recorded(entry: &HistoryEntry, address: &str) -> Markup {
    let version = entry.change.as_ref().map(|change| &change.module.version);
    html! {
        tr {
            th scope="row" {
                (change(&entry.id))
                @if entry.current { " " span.state.good { "current" } }
            }
            td { @match version {
                Some(version) => { (Text(version.as_deref().unwrap_or("local"))) }
                None => { "cannot be read" }
            } }
            td.number { @if let Some(objects) = entry.objects() { (objects) } }
            td { @if let Some(change) = &entry.change { (time(&change.timestamp)) } }
            td { a href={ (address) "/compare?to=" (segment(&entry.id)) } { "Differences" } }
            td { @match &entry.no_way_back {
                Some(why) => { (Text(why)) }
                None if entry.current => {}
                None => {
                    a href={ (address) "/rollback?to=" (segment(&entry.id)) } { "What it would do" }
                }
            } }
        }
    }
}

fn deployment(entry: &LogEntry) -> Markup {
    html! {
        tr {
            th scope="row" { @if let Some(number) = entry.number { "#" (number) } }
            td { (time(&entry.time)) }
            td { (Text(&entry.command)) }
            td { (state(entry.result.word())) }
            td { @if let Some(id) = &entry.change { (change(id)) } }
            td { (Text(&entry.who)) }
            td {
                (Text(entry.reason.as_deref().unwrap_or_default()))
                @if let Some(message) = &entry.message { p { (Text(message)) } }
            }
        }
    }
}
