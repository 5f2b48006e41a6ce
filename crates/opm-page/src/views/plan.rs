//! What applying a module would do.

use maud::{Markup, html};
use opm_core::identity::Identity;
use opm_engine::TrackedObject;
use opm_engine::diff::{DiffReport, Difference};

use super::confirm::{self, Form};
use super::{
    Part, Text, action, change, fact, failure, fields, hint, object, release_address, title,
    warnings,
};

pub(crate) fn view(
    report: &DiffReport,
    hints: &[String],
    doing: Option<&Form<'_>>,
    page: usize,
) -> Markup {
    let release = &report.release;
    let (namespace, name) = (release.namespace.as_str(), release.name.as_str());
    html! {
        h1 { "Plan for " (title(namespace, name)) }
        (outcome(report, hints))
        @if !report.differs() { p.none { "An apply would change nothing." } }
        @if let Some(doing) = doing { (confirm::form(doing)) }
        (differences(report, page, |page| format!("/plan?page={page}")))
    }
}

/// What it comes to, and what stands in the way.
pub(super) fn outcome(report: &DiffReport, hints: &[String]) -> Markup {
    let release = &report.release;
    let address = release_address(release.namespace.as_str(), release.name.as_str());
    html! {
        (warnings(&report.warnings))
        @match &report.would_fail {
            Some(why) => { (failure::reasons(why, hints)) }
            None => { @for one in hints { (hint(one)) } }
        }
        dl.facts {
            (fact("Would change", &html! { (counts(&report.objects)) }))
            (fact("Would record", &change(report.change_id.as_str())))
            @if let Some(current) = &report.current {
                (fact("Current change", &html! { a href=(address) { (change(current)) } }))
            }
        }
    }
}

/// What would happen to each object, field by field.
pub(super) fn differences(
    report: &DiffReport,
    page: usize,
    address: impl Fn(usize) -> String,
) -> Markup {
    let differing = report.objects.iter().filter(|one| one.differs());
    let differing: Vec<&Difference> = differing.collect();
    let part = Part::of(differing.len(), page);
    html! {
        @for one in part.lines(differing.into_iter()) {
            section {
                h2 { (object(&one.outcome.identity)) " " (action(one.outcome.action.word())) }
                @if let Some(reason) = &one.outcome.reason { p { (Text(reason)) } }
                (fields(&one.changes))
                @for left in &one.leftovers {
                    p { (Text(&left.field)) " is left of " (Text(&left.by)) }
                }
            }
        }
        (part.ways(address))
        (listed("Would be let go of", report.transferred.iter().map(|one| {
            (&one.entry.identity, format!("it belongs to release {} now", one.to))
        })))
        (listed("Would still have to be cleaned up", report.pending.iter().map(why)))
        (listed("Would be left standing", report.kept.iter().map(why)))
        @if !report.orphans.is_empty() {
            section {
                h2 { "Orphans" }
                p { "They carry the release's labels; an apply leaves them as they are." }
                ul { @for entry in &report.orphans { li { (object(&entry.identity)) } } }
            }
        }
    }
}

fn why(one: &TrackedObject) -> (&Identity, String) {
    let reason = one.reason.clone();
    (&one.identity, reason.unwrap_or_else(|| one.why.to_owned()))
}

/// What would happen to how many objects.
fn counts(objects: &[Difference]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in objects.iter().map(|one| one.outcome.action.word()) {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.sort_by_key(|(word, _)| *word == "unchanged");
    let counts = counts.iter().map(|(word, count)| format!("{count} {word}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn listed<'a>(title: &str, objects: impl Iterator<Item = (&'a Identity, String)>) -> Markup {
    let mut objects = objects.peekable();
    html! {
        @if objects.peek().is_some() {
            section {
                h2 { (title) }
                ul { @for (identity, why) in objects { li { (object(identity)) ": " (Text(why)) } } }
            }
        }
    }
}
