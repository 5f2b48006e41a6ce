//! All releases.

use maud::{Markup, html};
use opm_core::health::HealthState;
use opm_engine::list::{ListedRelease, ReleaseOverview};

use super::{
    Part, Text, cell, change, columns, deployment, drifted, release_address, segment, state, time,
};
use crate::live::ReleaseList;
use crate::routes::ListQuery;

const COLUMNS: [&str; 8] = [
    "Name",
    "Namespace",
    "Module",
    "Change",
    "Health",
    "Objects",
    "Last deployment",
    "Note",
];

pub(crate) fn view(releases: &ReleaseList, query: &ListQuery) -> Markup {
    let ReleaseList { listing, overviews } = releases;
    let wanted = query.q.to_lowercase();
    let among = listing.releases.iter();
    let among: Vec<&ListedRelease> = among.filter(|one| one.is_among(query.deleted)).collect();
    let holds = |one: &&ListedRelease| holds(one, overviews.get(one).flatten(), &wanted);
    let shown = among.iter().copied().filter(holds);
    let shown: Vec<&ListedRelease> = shown.collect();
    let part = Part::of(shown.len(), query.page);
    let unseen = shown.iter().any(|one| overviews.get(one).is_none());
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
        @if shown.is_empty() { (nothing(query, among.is_empty())) }
        @else {
            div.wide { table.cards {
                caption { (shown.len()) " of " (among.len()) }
                (columns(&COLUMNS))
                tbody { @for one in part.lines(shown.iter()) { (line(one, overviews.get(one))) } }
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

/// Why there is no line, and what to do about it.
fn nothing(query: &ListQuery, at_all: bool) -> Markup {
    html! {
        @match (at_all, query.deleted) {
            (false, _) => p.none { "No release matches. " a href="/" { "All releases" } },
            (true, true) => p.none { "There are no deleted releases." },
            (true, false) => {
                p.none { "There are no releases." }
                p { "To make one: " code.command { "opm mod apply DIR" } }
            }
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

/// A line; what is known of it beside that is none as long as nobody has looked.
fn line(one: &ListedRelease, overview: Option<Option<&ReleaseOverview>>) -> Markup {
    let summary = &one.summary;
    let known = overview.flatten();
    html! {
        tr {
            th scope="row" {
                a href=(release_address(&summary.namespace, &summary.name)) { (Text(&summary.name)) }
            }
            (cell("Namespace", &html! { (Text(&summary.namespace)) }))
            td data-column="Module" title=(Text(&summary.path)) {
                (Text(&summary.module)) " " (Text(summary.version.as_deref().unwrap_or("local")))
            }
            (cell("Change", &html! { @if let Some(id) = &summary.change_id { (change(id)) } }))
            (cell("Health", &health(overview)))
            (cell("Objects", &html! {
                @match known {
                    Some(known) if known.ready < known.objects => {
                        (known.ready) " of " (known.objects) " ready"
                    }
                    _ => { (summary.objects) }
                }
            }))
            (cell("Last deployment", &html! {
                @match (known.and_then(|known| known.last.as_ref()), &summary.last_result) {
                    (Some(last), _) => { (deployment(last)) }
                    (None, Some(result)) => { (state(result)) }
                    (None, None) => {}
                }
            }))
            (cell("Note", &html! {
                @if let Some(known) = known {
                    @if known.drifted > 0 { (drifted(known.drifted)) " " }
                    @if let Some((holder, since)) = &known.lock {
                        span.state.waiting { "locked" } " by " (Text(holder)) " since " (time(since)) " "
                    }
                }
                @if summary.pending > 0 { span.state.waiting { (summary.pending) " pending" } " " }
                @if summary.kept > 0 && summary.told_state().is_none() {
                    span.state.plain { (summary.kept) " kept" } " "
                }
                (Text(notes(one).join(", ")))
            }))
        }
    }
}

fn health(overview: Option<Option<&ReleaseOverview>>) -> Markup {
    html! {
        @match overview {
            Some(Some(known)) => {
                @if let Some(health) = known.health { (state(health.word())) }
            }
            Some(None) => { "not known" }
            None => { span.looking { "…" } }
        }
    }
}

/// What its summary says beside all that.
fn notes(one: &ListedRelease) -> Vec<String> {
    let summary = &one.summary;
    let mut notes: Vec<String> = summary.told_state().into_iter().collect();
    notes.extend(one.mark.map(str::to_owned));
    let manager = one.manager.as_ref();
    notes.extend(manager.map(|manager| format!("managed by {manager}")));
    notes
}

/// Whether a release has this text in its name, namespace, module or version, or in the words
/// that say how it stands.
fn holds(one: &ListedRelease, known: Option<&ReleaseOverview>, wanted: &str) -> bool {
    let summary = &one.summary;
    let texts = [
        &summary.name,
        &summary.namespace,
        &summary.module,
        &summary.path,
    ];
    let version = summary.version.as_deref();
    let health = known.and_then(|known| known.health).map(HealthState::word);
    let drifted = known
        .is_some_and(|known| known.drifted > 0)
        .then_some("drifted");
    let locked = known
        .is_some_and(|known| known.lock.is_some())
        .then_some("locked");
    let result = summary.last_result.as_deref();
    let words = [version, health, drifted, locked, result]
        .into_iter()
        .flatten();
    let mut texts = texts.into_iter().map(String::as_str).chain(words);
    wanted.is_empty() || texts.any(|text| text.to_lowercase().contains(wanted))
}
