//! One object: recorded, applied and live side by side, with who owns which field.

use maud::{Markup, html};
use opm_core::owned::{FieldLine, FieldManager, OwnedObject};
use opm_engine::ports::Observation;
use opm_engine::status::ObjectReport;

use super::{
    Text, change, columns, events, fact, fields_between, heading, logs, release, state, time,
    warnings,
};

/// How many owners have a colour of their own; their numbers tell them apart too.
const COLOURS: usize = 6;

pub(crate) fn view(report: &ObjectReport) -> Markup {
    let release = &report.release;
    let identity = &report.identity;
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), "/object"))
        (warnings(&report.warnings))
        h2 { (super::object(identity)) " " (state(health(report))) }
        @if !report.health.message.is_empty() { p { (Text(&report.health.message)) } }
        @if let Some(status) = &report.status {
            @if status.is_drifted() { p { (state("drifted")) " from what was applied:" } }
            @if let Some(id) = &status.unrecorded {
                p { "It is at " (change(id)) ", which was not recorded." }
            }
            (release::strayed(status))
        }
        @if !report.differences.is_empty() {
            section {
                h3 { "What was applied, and what is there" }
                (fields_between(["Field", "Applied", "Live"], &report.differences))
            }
        }
        div.sides {
            section { h3 { "Recorded" } (recorded(report)) }
            section {
                h3 { "Applied" }
                @match &report.applied {
                    Some(applied) => {
                        p { "In " (change(&applied.change)) "." }
                        (lines("Applied", &applied.object))
                    }
                    None => { p.none { "What was applied is not kept, or it never was." } }
                }
            }
            section {
                h3 { "Live" }
                @match &report.live {
                    Observation::Present(live) => { (owners(live)) (lines("Live", live)) }
                    Observation::Absent => { p.none { "It is not there." } }
                    Observation::Failed(error) => { p.warnings { (Text(error)) } }
                }
            }
        }
        h2 { "Events" }
        (events::table(&report.events))
        @for log in &report.logs { (logs::one(log)) }
    }
}

fn health(report: &ObjectReport) -> &'static str {
    let word = report.status.as_ref().map(|status| status.word());
    word.unwrap_or_else(|| report.health.state.word())
}

/// What the record says of it.
fn recorded(report: &ObjectReport) -> Markup {
    let entry = report.status.as_ref().map(|status| &status.entry);
    let live = report.uid.as_deref();
    html! {
        @match (entry, &report.tracked) {
            (Some(entry), _) => {
                dl.facts {
                    (fact("API version", &html! { (Text(version(entry.identity.group(), &entry.version))) }))
                    (fact("Component", &html! { (Text(&entry.component)) }))
                    @if let Some(template) = &entry.template {
                        (fact("Template", &html! { (Text(template)) }))
                    }
                    @if let Some(hash) = &entry.hash {
                        (fact("Digest", &html! { code { (Text(hash.as_str())) } }))
                    }
                    @if let Some(uid) = &entry.uid {
                        (fact("UID", &html! {
                            code { (Text(uid)) }
                            @if live.is_some_and(|live| live != uid) {
                                " The live object is another one: " code { (Text(live.unwrap_or_default())) }
                            }
                        }))
                    }
                }
            }
            (None, Some(tracked)) => {
                dl.facts {
                    (fact("API version", &html! { (Text(version(tracked.identity.group(), &tracked.version))) }))
                    (fact("Component", &html! { (Text(&tracked.component)) }))
                    (fact("Why", &html! {
                        (Text(tracked.why))
                        @if let Some(reason) = &tracked.reason { ": " (Text(reason)) }
                    }))
                    (fact("Change", &change(&tracked.change)))
                    (fact("Since", &time(&tracked.since)))
                }
            }
            (None, None) => {
                p.none { "The record does not name it: an object of the release owns it." }
            }
        }
    }
}

fn version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

/// Whose a line is: a number and a colour.
fn mark(owner: usize) -> Markup {
    html! { span.owner.{ "owner-" (owner % COLOURS) } { (owner + 1) } }
}

/// Who owns something of a live object.
fn owners(live: &OwnedObject) -> Markup {
    html! {
        @if live.managers.is_empty() { p.none { "Nobody owns a field of it." } }
        @else {
            div.wide { table {
                caption { "Owners: each line of the object bears their numbers" }
                (columns(&["No.", "Manager", "Wrote", "When"]))
                tbody { @for (at, manager) in live.managers.iter().enumerate() { tr {
                    td { (mark(at)) }
                    th scope="row" {
                        (Text(&manager.name))
                        @if manager.ours { " " small { "(this release)" } }
                    }
                    td { (Text(wrote(manager))) }
                    td { @if let Some(at) = &manager.time { (time(at)) } }
                } } }
            } }
        }
    }
}

fn wrote(manager: &FieldManager) -> String {
    match manager.subresource.as_str() {
        "" => manager.operation.clone(),
        subresource => format!("{} of {subresource}", manager.operation),
    }
}

/// An object as text.
pub(super) fn lines(title: &str, object: &OwnedObject) -> Markup {
    html! {
        pre.lines tabindex="0" role="region" aria-label=(title) {
            @for line in &object.lines { (one(line)) }
        }
    }
}

fn one(line: &FieldLine) -> Markup {
    let indent = "  ".repeat(line.depth);
    let colour = line.owners.first().map(|owner| owner % COLOURS);
    let class = colour.map(|colour| format!("line owner-{colour}"));
    let colon = if line.key == "-" { "" } else { ":" };
    html! {
        span class=(class.as_deref().unwrap_or("line")) {
            (indent) (Text(&line.key)) (colon)
            @if let Some(value) = &line.value { " " (Text(value)) }
            @for owner in &line.owners { " " (mark(*owner)) }
        }
        "\n"
    }
}
