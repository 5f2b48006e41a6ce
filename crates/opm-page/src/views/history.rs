//! Changes and deployments on one time line: a deployment is what somebody ran, a change the state
//! that it recorded.

use std::collections::BTreeSet;

use maud::{Markup, html};
use opm_core::record::LogEntry;
use opm_engine::{History, HistoryEntry};

use super::{
    Text, cell, change, columns, count, heading, release_address, segment, state, time, warnings,
};

/// A moment of the time line.
struct Moment<'a> {
    time: &'a str,
    deployment: Option<&'a LogEntry>,
    /// The change that it was about, where nothing newer was.
    change: Option<&'a HistoryEntry>,
}

/// Everything that happened, newest first. A change that no deployment of the log recorded stands
/// at the time when it was recorded.
fn moments(history: &History) -> Vec<Moment<'_>> {
    let mut told = BTreeSet::new();
    let mut moments = Vec::new();
    for entry in &history.log {
        let recorded = entry.change.as_ref().filter(|_| entry.result.is_recorded());
        let mut changes = history.changes.iter();
        let change = changes.find(|change| Some(&change.id) == recorded);
        moments.push(Moment {
            time: &entry.time,
            deployment: Some(entry),
            change: change.filter(|change| told.insert(change.id.as_str())),
        });
    }
    for change in &history.changes {
        if told.insert(&change.id) {
            let time = change
                .change
                .as_ref()
                .map(|change| change.timestamp.as_str());
            moments.push(Moment {
                time: time.unwrap_or_default(),
                deployment: None,
                change: Some(change),
            });
        }
    }
    moments.sort_by(|a, b| b.time.cmp(a.time));
    moments
}

pub(crate) fn view(history: &History) -> Markup {
    let release = &history.release;
    let (namespace, name) = (release.namespace.as_str(), release.name.as_str());
    let address = release_address(namespace, name);
    html! {
        (heading(namespace, name, "/history"))
        (warnings(&history.warnings))
        @if let Some(state) = history.state.told(history.kept as u64) { p { "The release is " (state) "." } }
        h2 { "Changes and deployments" }
        @if history.changes.len() > 1 {
            form.filter action={ (address) "/compare" } method="get" {
                label for="from" { "Compare" }
                (choice("from", &history.changes, 1))
                label for="to" { "with" }
                (choice("to", &history.changes, 0))
                button type="submit" { "Compare" }
            }
        }
        @if history.changes.is_empty() { p.none { "Nothing was recorded yet." } }
        div.wide { table.cards.timeline {
            (columns(&["When", "Deployment", "By", "Change", "Look at"]))
            tbody { @for moment in moments(history) { (line(&moment, &address)) } }
        } }
    }
}

fn choice(name: &str, changes: &[HistoryEntry], chosen: usize) -> Markup {
    html! {
        select id=(name) name=(name) {
            @for (at, entry) in changes.iter().enumerate() {
                @let when = entry.change.as_ref().map(|change| change.timestamp.as_str());
                option value=(Text(&entry.id)) selected[at == chosen] {
                    (super::short(&entry.id))
                    @if entry.current { " (current)" }
                    @else if let Some(when) = when { ", " (Text(when.replace('T', " ").replace('Z', ""))) }
                }
            }
        }
    }
}

fn line(moment: &Moment<'_>, address: &str) -> Markup {
    html! {
        tr {
            (cell("When", &time(moment.time)))
            th scope="row" data-column="Deployment" {
                @match moment.deployment {
                    Some(entry) => { (deployment(entry)) }
                    None => { small { "no longer in the log" } }
                }
            }
            (cell("By", &html! {
                @if let Some(entry) = moment.deployment {
                    (Text(&entry.who))
                    @if !entry.from.is_empty() { " " small { "from " (Text(&entry.from)) } }
                }
            }))
            (cell("Change", &about(moment)))
            (cell("Look at", &ways(moment, address)))
        }
    }
}

/// What was run, how it ended, and why.
fn deployment(entry: &LogEntry) -> Markup {
    let counts = entry.counts.iter().filter(|(_, count)| **count > 0);
    let counts: Vec<String> = counts
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    html! {
        @if let Some(number) = entry.number { "#" (number) " " }
        (Text(&entry.command)) " " (state(entry.result.word()))
        @if !counts.is_empty() { p { small { (Text(counts.join(", "))) } } }
        @if let Some(message) = &entry.message { p { (Text(message)) } }
        @if let Some(reason) = &entry.reason { p.reason { (Text(reason)) } }
    }
}

/// The change that a moment is about.
fn about(moment: &Moment<'_>) -> Markup {
    let id = moment.deployment.and_then(|entry| entry.change.as_deref());
    let id = moment.change.map(|change| change.id.as_str()).or(id);
    let recorded = moment
        .deployment
        .is_none_or(|entry| entry.result.is_recorded());
    html! {
        @if let Some(id) = id { (change(id)) }
        @if id.is_some() && !recorded { " " small { "not recorded" } }
        @if let Some(entry) = moment.change {
            @if entry.current { " " (state("current")) }
            @match &entry.change {
                Some(change) => p { small {
                    (Text(&change.module.name)) " " (Text(change.module.version.as_deref().unwrap_or("local")))
                    @if let Some(objects) = entry.objects() { ", " (count(objects as usize, "object")) }
                } }
                None => p { "It cannot be read." }
            }
        }
    }
}

/// What can be looked at of a change, or of what a run sent that did not end well.
fn ways(moment: &Moment<'_>, address: &str) -> Markup {
    let sent = moment.deployment.filter(|entry| entry.record.is_some());
    let Some(entry) = moment.change else {
        return html! {
            @if let Some(id) = sent.and_then(|entry| entry.change.as_deref()) {
                a href={ (address) "/manifests?to=" (segment(id)) } { "What it sent" }
            }
        };
    };
    let id = segment(&entry.id);
    html! {
        ul.ways {
            li { a href={ (address) "/compare?to=" (id) } { "Differences" } }
            li { a href={ (address) "/manifests?to=" (id) } { "Manifests" } }
            @if !entry.current {
                li {
                    @match &entry.no_way_back {
                        Some(why) => { "No way back: " (Text(why)) }
                        None => a href={ (address) "/rollback?to=" (id) } { "Going back" }
                    }
                }
            }
        }
    }
}
