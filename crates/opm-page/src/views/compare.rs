//! Two changes side by side.

use maud::{Markup, html};
use opm_core::history::ObjectChangeKind;
use opm_engine::Comparison;

use super::{Text, change, fields, heading, warnings};

pub(crate) fn view(comparison: &Comparison) -> Markup {
    let release = &comparison.release;
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), "/compare"))
        (warnings(&comparison.warnings))
        h2 {
            @match &comparison.from {
                Some(from) => { "From " (change(from)) " to " (change(&comparison.to)) }
                None => { "The first change, " (change(&comparison.to)) }
            }
        }
        @if comparison.objects.is_empty() { p.none { "Their objects are the same." } }
        @for object in &comparison.objects {
            section {
                h3 { (Text(&object.identity)) " " span.state.plain { (object.happened.word()) } }
                @if let ObjectChangeKind::Changed(changes) = &object.happened { (fields(changes)) }
            }
        }
    }
}
