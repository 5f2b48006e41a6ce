//! What applying a module would do.

use maud::{Markup, html};
use opm_engine::TrackedObject;
use opm_engine::diff::{DiffReport, Difference};

use super::confirm::{self, Form};
use super::{Text, change, failure, fields, release_address, warnings};

pub(crate) fn view(report: &DiffReport, hints: &[String], doing: Option<&Form<'_>>) -> Markup {
    let release = &report.release;
    let differing = report.objects.iter().filter(|one| one.differs());
    let differing: Vec<&Difference> = differing.collect();
    let unchanged = report.objects.len() - differing.len();
    html! {
        h1 { "Plan for " (Text(&release.name)) " " small { "in " (Text(&release.namespace)) } }
        (warnings(&report.warnings))
        @match &report.would_fail {
            Some(why) => { (failure::reasons(why, hints)) }
            None => { @for hint in hints { p.hint { (Text(hint)) } } }
        }
        dl.facts {
            dt { "Would record" } dd { (change(report.change_id.as_str())) }
            @if let Some(current) = &report.current {
                dt { "Now" }
                dd { a href=(release_address(release.namespace.as_str(), release.name.as_str())) { (change(current)) } }
            }
            dt { "Would change" } dd { (differing.len()) }
            dt { "Unchanged" } dd { (unchanged) }
        }
        @if !report.differs() { p.none { "An apply would change nothing." } }
        @for one in differing {
            section {
                h2 { (Text(&one.outcome.identity)) " " span.state.plain { (one.outcome.action.word()) } }
                @if let Some(reason) = &one.outcome.reason { p { (Text(reason)) } }
                (fields(&one.changes))
                @for left in &one.leftovers {
                    p { (Text(&left.field)) " is left of " (Text(&left.by)) }
                }
            }
        }
        @if let Some(doing) = doing { (confirm::form(doing)) }
        (listed("Would still have to be cleaned up", &report.pending))
        (listed("Would be left standing", &report.kept))
        @if !report.orphans.is_empty() {
            section {
                h2 { "Orphans" }
                p { "They carry the release's labels; an apply leaves them as they are." }
                ul { @for entry in &report.orphans { li { (Text(&entry.identity)) } } }
            }
        }
    }
}

fn listed(title: &str, objects: &[TrackedObject]) -> Markup {
    html! {
        @if !objects.is_empty() {
            section {
                h2 { (title) }
                ul { @for one in objects { li {
                    (Text(&one.identity)) ": " (Text(one.reason.as_deref().unwrap_or(one.why)))
                } } }
            }
        }
    }
}
