//! What the containers of a release wrote.

use maud::{Markup, html};
use opm_engine::status::{ContainerLog, ReleaseLogs};

use super::{Text, heading, warnings};

pub(crate) fn view(logs: &ReleaseLogs) -> Markup {
    let release = &logs.release;
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), "/logs"))
        (warnings(&logs.warnings))
        @if logs.logs.is_empty() { p.none { "There are no containers to ask." } }
        @for log in &logs.logs { (one(log)) }
    }
}

/// What one container wrote.
pub(super) fn one(log: &ContainerLog) -> Markup {
    html! {
        section {
            h2 { (Text(&log.pod)) " " small { (Text(&log.container)) " of " (Text(&log.component)) } }
            @if let Some(error) = &log.error { p.warnings { (Text(error)) } }
            pre tabindex="0" role="region" aria-label={ "Log of " (Text(&log.pod)) " " (Text(&log.container)) } {
                @for line in &log.lines { (Text(&line.text)) "\n" }
            }
        }
    }
}
