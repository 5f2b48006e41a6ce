//! What happened to a release's objects.

use maud::{Markup, html};
use opm_core::below::ClusterEvent;
use opm_engine::status::ReleaseEvents;

use super::{Text, columns, heading, time, warnings};

pub(crate) fn view(events: &ReleaseEvents) -> Markup {
    let release = &events.release;
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), "/events"))
        (warnings(&events.warnings))
        (table(&events.events))
    }
}

/// Events, newest first.
pub(super) fn table(events: &[ClusterEvent]) -> Markup {
    html! {
        @if events.is_empty() { p.none { "There are no events." } }
        @else {
            div.wide { table {
                (columns(&["When", "Object", "Reason", "Message", "Times"]))
                tbody { @for event in events.iter().rev() {
                    @let class = if event.severity == "Warning" { "bad" } else { "plain" };
                    tr {
                        td { (time(&event.time)) }
                        th scope="row" { (Text(&event.object)) }
                        td { span.state.(class) { (Text(&event.reason)) } }
                        td { (Text(&event.message)) }
                        td.number { (event.count) }
                    }
                } }
            } }
        }
    }
}
