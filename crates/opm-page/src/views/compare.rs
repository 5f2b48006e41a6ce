//! Two changes side by side: their values, and their objects.

use maud::{Markup, html};
use opm_core::history::{ObjectChange, ObjectChangeKind};
use opm_engine::Comparison;

use super::{
    Part, action, change, fact, fields, fields_between, heading, release_address, segment, warnings,
};

pub(crate) fn view(comparison: &Comparison, page: usize) -> Markup {
    let release = &comparison.release;
    let (namespace, name) = (release.namespace.as_str(), release.name.as_str());
    let part = Part::of(comparison.objects.len(), page);
    let from = comparison.from.as_deref().unwrap_or_default();
    let address = |page| {
        let (from, to) = (segment(from), segment(&comparison.to));
        let release = release_address(namespace, name);
        format!("{release}/compare?from={from}&to={to}&page={page}")
    };
    html! {
        (heading(namespace, name, "/compare"))
        (warnings(&comparison.warnings))
        h2 {
            @match &comparison.from {
                Some(from) => { "From " (change(from)) " to " (change(&comparison.to)) }
                None => { "The first change, " (change(&comparison.to)) }
            }
        }
        dl.facts {
            (fact("Values", &html! { (comparison.values.len()) " different" }))
            (fact("Objects", &html! { (counts(&comparison.objects)) }))
        }
        section {
            h3 { "Values" }
            @if comparison.values.is_empty() { p.none { "They are the same." } }
            (fields_between(["Value", "Before", "After"], &comparison.values))
        }
        @if comparison.objects.is_empty() {
            section { h3 { "Objects" } p.none { "They are the same." } }
        }
        @for object in part.lines(comparison.objects.iter()) {
            section {
                h3 { (super::object(&object.identity)) " " (action(object.happened.word())) }
                @if let ObjectChangeKind::Changed(changes) = &object.happened { (fields(changes)) }
            }
        }
        (part.ways(address))
    }
}

fn counts(objects: &[ObjectChange]) -> String {
    let words = ["added", "changed", "removed"].into_iter();
    let counts = words.map(|word| {
        let of_word = objects.iter().filter(|one| one.happened.word() == word);
        (of_word.count(), word)
    });
    let counts = counts.filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    match counts.is_empty() {
        true => "none different".to_owned(),
        false => counts.join(", "),
    }
}
