//! All releases.

use maud::{Markup, html};
use opm_engine::list::{ListedRelease, Listing};

use super::{Text, change, release_address, state, time};
use crate::routes::ListQuery;

pub(crate) fn view(listing: &Listing, query: &ListQuery) -> Markup {
    let wanted = query.q.to_lowercase();
    let shown = listing.releases.iter().filter(|one| holds(one, &wanted));
    let shown: Vec<&ListedRelease> = shown.collect();
    html! {
        h1 { "Releases" }
        form.filter role="search" action="/" method="get" {
            label for="q" { "Filter" }
            input #q type="search" name="q" value=(Text(&query.q));
            label { input type="checkbox" name="health" value="true" checked[query.health]; " health" }
            label { input type="checkbox" name="deleted" value="true" checked[query.deleted]; " deleted" }
            button type="submit" { "Show" }
        }
        @for place in &listing.unseen {
            p.warnings {
                @match &place.namespace {
                    Some(namespace) => { "Namespace " (Text(namespace)) " could not be looked into: " }
                    None => { "Other namespaces could not be looked into: " }
                }
                (Text(&place.reason))
            }
        }
        @if shown.is_empty() {
            p.none {
                @match listing.releases.is_empty() {
                    true => { "There are no releases." }
                    false => { "No release matches." }
                }
            }
        } @else {
            div.wide { table {
                caption { (shown.len()) " of " (listing.releases.len()) }
                thead { tr {
                    th scope="col" { "Name" }
                    th scope="col" { "Namespace" }
                    th scope="col" { "Module" }
                    th scope="col" { "Version" }
                    th scope="col" { "Change" }
                    th scope="col" { "Objects" }
                    @if query.health { th scope="col" { "Health" } }
                    th scope="col" { "Last" }
                    th scope="col" { "When" }
                    th scope="col" { "Note" }
                } }
                tbody { @for one in shown { (line(one, query.health)) } }
            } }
        }
    }
}

fn line(one: &ListedRelease, health: bool) -> Markup {
    let summary = &one.summary;
    let mut notes: Vec<String> = summary.told_state().into_iter().collect();
    notes.extend(one.mark.map(str::to_owned));
    if summary.pending > 0 {
        notes.push(format!("{} pending", summary.pending));
    }
    if summary.kept > 0 && summary.told_state().is_none() {
        notes.push(format!("{} kept", summary.kept));
    }
    html! {
        tr {
            th scope="row" {
                a href=(release_address(&summary.namespace, &summary.name)) { (Text(&summary.name)) }
            }
            td { (Text(&summary.namespace)) }
            td title=(Text(&summary.path)) { (Text(&summary.module)) }
            td { (Text(summary.version.as_deref().unwrap_or("local"))) }
            td { @if let Some(id) = &summary.change_id { (change(id)) } }
            td.number { (summary.objects) }
            @if health {
                td { @match one.health {
                    Some(health) => { (state(health.word())) }
                    None => { "?" }
                } }
            }
            td { @if let Some(last) = &summary.last_result { (state(last)) } }
            td { @if let Some(when) = &summary.last_transition_time { (time(when)) } }
            td { (Text(notes.join(", "))) }
        }
    }
}

/// Whether a release has this text in its name, namespace, module or version.
fn holds(one: &ListedRelease, wanted: &str) -> bool {
    let summary = &one.summary;
    let texts = [
        &summary.name,
        &summary.namespace,
        &summary.module,
        &summary.path,
    ];
    let mut texts = texts.into_iter().chain(&summary.version);
    wanted.is_empty() || texts.any(|text| text.to_lowercase().contains(wanted))
}
