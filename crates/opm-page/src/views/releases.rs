//! All releases.

use maud::{Markup, html};
use opm_core::health::HealthState;
use opm_engine::list::ListedRelease;

use super::{Part, Text, change, release_address, segment, state, time};
use crate::live::ReleaseList;
use crate::routes::ListQuery;

pub(crate) fn view(releases: &ReleaseList, query: &ListQuery) -> Markup {
    let ReleaseList { listing, healths } = releases;
    let wanted = query.q.to_lowercase();
    let among = listing.releases.iter();
    let among: Vec<&ListedRelease> = among.filter(|one| one.is_among(query.deleted)).collect();
    let shown = among.iter().copied().filter(|one| holds(one, &wanted));
    let shown: Vec<&ListedRelease> = shown.collect();
    let part = Part::of(shown.len(), query.page);
    let unseen = shown.iter().any(|one| healths.get(one).is_none());
    html! {
        (head(query))
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
                @match among.is_empty() {
                    true => { "There are no releases." }
                    false => { "No release matches." }
                }
            }
        } @else {
            div.wide { table {
                caption { (shown.len()) " of " (among.len()) }
                thead { tr {
                    th scope="col" { "Name" }
                    th scope="col" { "Namespace" }
                    th scope="col" { "Module" }
                    th scope="col" { "Version" }
                    th scope="col" { "Change" }
                    th scope="col" { "Objects" }
                    th scope="col" { "Health" }
                    th scope="col" { "Last" }
                    th scope="col" { "When" }
                    th scope="col" { "Note" }
                } }
                tbody { @for one in part.lines(shown.iter()) { (line(one, healths.get(one))) } }
            } }
            (part.ways(|page| address(query, query.health, page)))
            // With the script it comes by itself.
            @if unseen {
                noscript { p { a href=(address(query, true, part.at)) { "Wait until all is known" } } }
            }
        }
    }
}

fn head(query: &ListQuery) -> Markup {
    html! {
        h1 { "Releases" }
        form.filter role="search" action="/" method="get" {
            label for="q" { "Filter" }
            input #q type="search" name="q" value=(Text(&query.q));
            label { input type="checkbox" name="deleted" value="true" checked[query.deleted]; " deleted" }
            button type="submit" { "Show" }
        }
    }
}

/// The frame that is filled as soon as they are listed.
pub(crate) fn not_yet(query: &ListQuery) -> Markup {
    html! {
        (head(query))
        p role="status" { span.looking { "…" } " They are being listed." }
        noscript { p { a href=(address(query, true, query.page)) { "Wait until all is known" } } }
    }
}

/// The same list with these changes.
fn address(query: &ListQuery, health: bool, page: usize) -> String {
    let mut address = format!("/?q={}&page={page}", segment(&query.q));
    for (name, on) in [("health", health), ("deleted", query.deleted)] {
        if on {
            address.push_str(&format!("&{name}=true"));
        }
    }
    address
}

/// A line; its health is none as long as nobody has looked.
fn line(one: &ListedRelease, health: Option<Option<HealthState>>) -> Markup {
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
            td { @match health {
                Some(Some(health)) => { (state(health.word())) }
                Some(None) => { "not known" }
                None => { span.looking { "…" } }
            } }
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
