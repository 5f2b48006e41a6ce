//! How a release stands.

use maud::{Markup, html};
use opm_engine::status::{ComponentStatus, ObjectStatus, Status, TrackedStatus};

use super::{
    Part, Text, change, columns, heading, object_address, release_address, state, time, warnings,
};

pub(crate) fn view(status: &Status, hints: &[String], changing: bool, page: usize) -> Markup {
    let release = &status.release;
    let address = release_address(release.namespace.as_str(), release.name.as_str());
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), ""))
        (warnings(&status.warnings))
        @for hint in hints { p.hint { (Text(hint)) } }
        dl.facts {
            dt { "Health" } dd { (state(status.health.word())) }
            @if let Some(module) = &status.module {
                dt { "Module" }
                dd { (Text(&module.path)) " " (Text(module.version.as_deref().unwrap_or("local"))) }
            }
            @if let Some(id) = &status.change_id { dt { "Change" } dd { (change(id)) } }
            @if let Some(when) = &status.last_transition_time { dt { "Recorded" } dd { (time(when)) } }
            dt { "Release id" } dd { code { (Text(release.id)) } }
            @if let Some(lock) = &status.lock {
                dt { "Lock" }
                dd {
                    (Text(&lock.lock.holder)) " since " (time(&lock.lock.since))
                    @if lock.expired { " (no longer renewed)" }
                }
            }
        }
        @if changing { (doing(status)) }
        (objects(status, page, &address))
        (tracked("Pending", "They are still to be cleaned up; the next apply or delete does so.", &status.pending, &address))
        (tracked("Kept", "They were left standing on purpose.", &status.kept, &address))
        @if !status.orphans.is_empty() {
            section aria-labelledby="orphans" {
                h2 #orphans { "Orphans" }
                p { "They carry the release's labels, and its record does not know them." }
                ul { @for entry in &status.orphans { li { (Text(&entry.identity)) } } }
            }
        }
    }
}

/// The frame that is filled as soon as its objects were looked at.
pub(crate) fn not_yet(namespace: &str, name: &str) -> Markup {
    html! {
        (heading(namespace, name, ""))
        p role="status" { span.looking { "…" } " Its objects are being looked at." }
        noscript { p { a href={ (release_address(namespace, name)) "?whole=true" } { "Wait until all is known" } } }
    }
}

/// What can be done about it.
fn doing(status: &Status) -> Markup {
    let release = &status.release;
    let address = release_address(release.namespace.as_str(), release.name.as_str());
    html! {
        nav.places aria-label="Doing" {
            a href={ (address) "/rollback" } { "Go back" }
            @if !status.kept.is_empty() { a href={ (address) "/prune" } { "Delete what was kept" } }
            @if status.lock.is_some() { a href={ (address) "/unlock" } { "Remove the lock" } }
            a href={ (address) "/delete" } { "Delete" }
        }
    }
}

/// The objects by component. Of those that do not fit on one page, what is not as it should be
/// comes first.
fn objects(status: &Status, page: usize, address: &str) -> Markup {
    let part = Part::of(status.objects().count(), page);
    let components = status.components.iter();
    let objects =
        components.flat_map(|component| component.objects.iter().map(move |o| (component, o)));
    let mut objects: Vec<(&ComponentStatus, &ObjectStatus)> = objects.collect();
    if !part.is_whole() {
        objects.sort_by_key(|(_, object)| !object.is_unready() && !object.has_strayed());
    }
    let shown: Vec<_> = part.lines(objects.iter()).collect();
    let groups = shown.chunk_by(|a, b| a.0.name == b.0.name);
    html! {
        @for group in groups {
            @if let Some((component, _)) = group.first() {
                section {
                    h2 { (Text(&component.name)) " " (state(component.health.word())) }
                    div.wide { table {
                        @if !part.is_whole() {
                            caption { (group.len()) " of " (component.objects.len()) " objects" }
                        }
                        (columns(&["Object", "Namespace", "Health", "Why, and what drifted"]))
                        tbody { @for (_, object) in group { (line(object, address)) } }
                    } }
                }
            }
        }
        (part.ways(|page| format!("{address}?page={page}")))
    }
}

fn line(object: &ObjectStatus, address: &str) -> Markup {
    let identity = &object.entry.identity;
    html! {
        tr {
            th scope="row" title=[object.entry.template.as_deref().map(Text)] {
                a href=(object_address(address, identity)) {
                    (Text(identity.kind())) "/" (Text(&identity.name))
                }
            }
            td { (Text(identity.namespace.as_deref().unwrap_or("–"))) }
            td { (state(object.word())) }
            td {
                (Text(&object.health.message))
                @if let Some(id) = &object.unrecorded {
                    p { "It is at " (change(id)) ", which was not recorded." }
                }
                (strayed(object))
            }
        }
    }
}

/// What is not as it was applied, and who did it.
pub(super) fn strayed(object: &ObjectStatus) -> Markup {
    html! {
        @if !object.drift.is_empty() {
            ul.drift aria-label="Drift" { @for drift in &object.drift { li {
                code { (Text(&drift.field)) }
                @if let Some(by) = &drift.by { " by " (Text(by)) }
                @if let Some(at) = &drift.at { " at " (time(at)) }
            } } }
        }
        @for left in &object.leftovers {
            p { (Text(&left.field)) " is left of " (Text(&left.by)) }
        }
    }
}

fn tracked(title: &str, what: &str, objects: &[TrackedStatus], address: &str) -> Markup {
    html! {
        @if !objects.is_empty() {
            section {
                h2 { (title) }
                p { (what) }
                div.wide { table {
                    (columns(&["Object", "There", "Why", "Change", "Since"]))
                    tbody { @for one in objects { tr {
                        th scope="row" {
                            a href=(object_address(address, &one.tracked.identity)) {
                                (Text(&one.tracked.identity))
                            }
                        }
                        td { @match one.exists { Some(true) => "yes", Some(false) => "no", None => "?" } }
                        td {
                            (Text(one.tracked.why))
                            @if let Some(reason) = &one.tracked.reason { ": " (Text(reason)) }
                        }
                        td { (change(&one.tracked.change)) }
                        td { (time(&one.tracked.since)) }
                    } } }
                } }
            }
        }
    }
}
