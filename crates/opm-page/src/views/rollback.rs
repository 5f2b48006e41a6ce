//! What going back would do.

use maud::{Markup, html};
use opm_engine::{ObjectOutcome, Report};

use super::confirm::{self, Form};
use super::{Text, change, columns, heading, warnings};

pub(crate) fn view(report: &Report, address: &str, doing: Option<&Form<'_>>) -> Markup {
    html! {
        @if let Some(release) = &report.release {
            (heading(release.namespace.as_str(), release.name.as_str(), "/rollback"))
        }
        (warnings(&report.warnings))
        h2 {
            "What going back would do"
            @if let Some(id) = &report.change_id { ": " (change(id.as_str())) }
        }
        p { "Nothing was changed: the server was only asked what it would do." }
        (outcomes(&report.resources))
        @match (doing, &report.release, &report.change_id) {
            (Some(doing), _, _) => { (confirm::form(doing)) }
            (None, Some(release), Some(id)) => {
                p { "To do it: " code {
                    "opm mod rollback " (Text(&release.name)) " --revision " (Text(id)) " -n "
                    (Text(&release.namespace))
                } }
            }
            (None, _, _) => {}
        }
        p { a href={ (address) "/history" } { "Back to the history" } }
    }
}

/// What happens to which object.
pub(super) fn outcomes(resources: &[ObjectOutcome]) -> Markup {
    html! {
        @if !resources.is_empty() {
            div.wide { table {
                (columns(&["Object", "What happens", "Why"]))
                tbody { @for one in resources { tr {
                    th scope="row" { (Text(&one.identity)) }
                    td { (one.action.word()) }
                    td { (Text(one.reason.as_deref().unwrap_or_default())) }
                } } }
            } }
        }
    }
}
