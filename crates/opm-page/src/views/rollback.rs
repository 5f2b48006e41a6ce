//! What going back would do.

use maud::{Markup, html};
use opm_engine::Report;

use super::{Text, change, heading, warnings};

pub(crate) fn view(report: &Report, address: &str) -> Markup {
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
        div.wide { table {
            thead { tr {
                th scope="col" { "Object" }
                th scope="col" { "What would happen" }
                th scope="col" { "Why" }
            } }
            tbody { @for one in &report.resources { tr {
                th scope="row" { (Text(&one.identity)) }
                td { (one.action.word()) }
                td { (Text(one.reason.as_deref().unwrap_or_default())) }
            } } }
        } }
        @if let (Some(release), Some(id)) = (&report.release, &report.change_id) {
            p { "To do it: " code {
                "opm mod rollback " (Text(&release.name)) " " (Text(id)) " -n " (Text(&release.namespace))
            } }
        }
        p { a href={ (address) "/history" } { "Back to the history" } }
    }
}
