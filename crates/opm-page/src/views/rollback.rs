//! What going back would do.

use maud::{Markup, html};
use opm_engine::ObjectOutcome;
use opm_engine::diff::DiffReport;

use super::confirm::{self, Form};
use super::{Text, action, change, columns, command, heading, object, plan, segment};

pub(crate) fn view(
    report: &DiffReport,
    hints: &[String],
    address: &str,
    doing: Option<&Form<'_>>,
    page: usize,
) -> Markup {
    let (release, id) = (&report.release, report.change_id.as_str());
    let (namespace, name) = (release.namespace.as_str(), release.name.as_str());
    let part = |page| format!("{address}/rollback?to={}&page={page}", segment(id));
    html! {
        (heading(namespace, name, "/rollback"))
        h2 { "What going back would do: " (change(id)) }
        p { "Nothing was changed: the server was only asked what it would do." }
        (plan::outcome(report, hints))
        @if !report.differs() { p.none { "Going back would change nothing." } }
        @match doing {
            Some(doing) => { (confirm::form(doing)) }
            None => {
                p {
                    "To do it: "
                    (command(&["opm", "mod", "rollback", name, "--revision", id, "-n", namespace]))
                }
            }
        }
        (plan::differences(report, page, part))
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
                    th scope="row" { (object(&one.identity)) }
                    td { (action(one.action.word())) }
                    td { (Text(one.reason.as_deref().unwrap_or_default())) }
                } } }
            } }
        }
    }
}
