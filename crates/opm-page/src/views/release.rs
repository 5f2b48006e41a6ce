//! How a release stands.

use maud::{Markup, html};
use opm_core::identity::Identity;
use opm_engine::status::{ComponentStatus, ObjectStatus, Status, TrackedStatus};

use super::{
    Part, Text, cell, change, columns, command, count, deployment, drifted, fact, heading, hint,
    object, object_address, release_address, state, time, warnings,
};

pub(crate) fn view(status: &Status, hints: &[String], changing: bool, page: usize) -> Markup {
    let release = &status.release;
    let (namespace, name) = (release.namespace.as_str(), release.name.as_str());
    let address = release_address(namespace, name);
    html! {
        (heading(namespace, name, ""))
        (warnings(&status.warnings))
        @for one in hints { (hint(one)) }
        (facts(status))
        @if changing { (doing(status)) }
        (inventory(status, page, &address))
        (pending(status, &address))
        (kept(status, &address))
        @if !status.transferred.is_empty() {
            section aria-labelledby="transferred" {
                h2 #transferred { "Taken over" }
                p { "Other releases have them now." }
                ul { @for one in &status.transferred {
                    li { (object(&one.entry.identity)) ": " (Text(&one.health.message)) }
                } }
            }
        }
        @if !status.orphans.is_empty() {
            section aria-labelledby="orphans" {
                h2 #orphans { "Orphans" }
                p {
                    "They carry the release's labels, and its record does not know them. If it was \
                     lost or restored, this takes them up: "
                    (command(&["opm", "mod", "repair", name, "-n", namespace]))
                }
                ul { @for entry in &status.orphans { li { (object(&entry.identity)) } } }
            }
        }
    }
}

/// How it stands, in short.
fn facts(status: &Status) -> Markup {
    html! {
        dl.facts {
            (fact("Health", &html! { (health(status)) }))
            @if let Some(module) = &status.module {
                (fact("Module", &html! {
                    (Text(&module.path)) " " (Text(module.version.as_deref().unwrap_or("local")))
                }))
            }
            @if let Some(id) = &status.change_id {
                (fact("Change", &html! {
                    (change(id))
                    @if let Some(when) = &status.last_transition_time { ", recorded " (time(when)) }
                }))
            }
            @if let Some(last) = &status.last_deployment {
                (fact("Last deployment", &deployment(last)))
            }
            @if let Some(lock) = &status.lock {
                (fact("Lock", &html! {
                    (Text(&lock.lock.holder)) " on " (Text(&lock.lock.host)) " (" (Text(&lock.lock.command))
                    ") since " (time(&lock.lock.since))
                    @if lock.expired { ", no longer renewed" }
                }))
            }
            (fact("Release id", &html! { code { (Text(status.release.id)) } }))
        }
    }
}

/// The state of all of it, and how many objects are as they should be.
fn health(status: &Status) -> Markup {
    let all = status.objects().count();
    let ready = status.objects().filter(|one| one.health.is_ready()).count();
    let strayed = status.objects().filter(|one| one.is_drifted()).count();
    html! {
        @match status.told_state() {
            Some(told) => { (state(&told)) }
            None => {
                (state(status.health.word())) " "
                @if ready == all { (count(all, "object")) }
                @else { (ready) " of " (count(all, "object")) " ready" }
                @if strayed > 0 { " " (drifted(strayed)) }
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
        nav.actions aria-label="Doing" {
            a href={ (address) "/rollback" } { "Go back" }
            @if !status.kept.is_empty() { a href={ (address) "/prune" } { "Delete what was kept" } }
            @if status.lock.is_some() { a href={ (address) "/unlock" } { "Remove the lock" } }
            a.danger href={ (address) "/delete" } { "Delete" }
        }
    }
}

/// The objects by component. Of those that do not fit on one page, what is not as it should be
/// comes first.
fn inventory(status: &Status, page: usize, address: &str) -> Markup {
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
                    div.wide { table.cards.objects {
                        @if !part.is_whole() {
                            caption { (group.len()) " of " (component.objects.len()) " objects" }
                        }
                        (columns(&["Object", "Namespace", "Health", "Message, and what drifted"]))
                        tbody { @for (_, one) in group { (line(one, address)) } }
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
            (cell("Namespace", &html! { (Text(identity.namespace.as_deref().unwrap_or("–"))) }))
            (cell("Health", &html! {
                (state(object.word()))
                @if object.is_drifted() { " " (state("drifted")) }
            }))
            (cell("Message", &html! {
                (Text(&object.health.message))
                @if let Some(id) = &object.unrecorded {
                    p { "It is at " (change(id)) ", which was not recorded." }
                }
                (strayed(object))
            }))
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
                @if let Some(at) = &drift.at { ", " (time(at)) }
            } } }
        }
        @for left in &object.leftovers {
            p { (Text(&left.field)) " is left of " (Text(&left.by)) }
        }
    }
}

/// What is still to be cleaned up, and what does so.
fn pending(status: &Status, address: &str) -> Markup {
    let release = &status.release;
    let (namespace, name) = (release.namespace.as_str(), release.name.as_str());
    let what = html! {
        "They are still to be cleaned up: the next apply or delete does so"
        @if let Some(current) = &status.change_id {
            ", or what applies the current change again: "
            (command(&["opm", "mod", "rollback", name, "--revision", current, "-n", namespace]))
        } @else {
            ": " (command(&["opm", "mod", "delete", name, "-n", namespace]))
        }
    };
    tracked("Pending", &what, &status.pending, address, |_| {
        Markup::default()
    })
}

/// What was left standing, and what removes it or lets go of it.
fn kept(status: &Status, address: &str) -> Markup {
    let release = &status.release;
    let (namespace, name) = (release.namespace.as_str(), release.name.as_str());
    let what = html! { "They were left standing on purpose." };
    tracked("Kept", &what, &status.kept, address, |identity| {
        let object = format!("{}/{}", identity.kind(), identity.name);
        let words = |verb| ["opm", "mod", verb, name, &object, "-n", namespace];
        html! {
            p { "To delete it: " (command(&words("prune"))) }
            p { "To let go of it: " (command(&words("forget"))) }
        }
    })
}

fn tracked(
    title: &str,
    what: &Markup,
    objects: &[TrackedStatus],
    address: &str,
    ways: impl Fn(&Identity) -> Markup,
) -> Markup {
    html! {
        @if !objects.is_empty() {
            section {
                h2 { (title) }
                p { (what) }
                div.wide { table.cards {
                    (columns(&["Object", "There", "Why", "Change", "Since"]))
                    tbody { @for one in objects { tr {
                        th scope="row" {
                            a href=(object_address(address, &one.tracked.identity)) {
                                (object(&one.tracked.identity))
                            }
                        }
                        (cell("There", &html! {
                            @match (one.exists, &one.health) {
                                (Some(true), Some(health)) => {
                                    (state(health.state.word())) " " (Text(&health.message))
                                }
                                (Some(true), None) => "yes",
                                (Some(false), _) => "no",
                                (None, _) => "not known",
                            }
                        }))
                        (cell("Why", &html! {
                            (Text(one.tracked.why))
                            @if let Some(reason) = &one.tracked.reason { ": " (Text(reason)) }
                            (ways(&one.tracked.identity))
                        }))
                        (cell("Change", &change(&one.tracked.change)))
                        (cell("Since", &time(&one.tracked.since)))
                    } } }
                } }
            }
        }
    }
}
