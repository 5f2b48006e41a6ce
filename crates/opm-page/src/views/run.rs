//! What a run from the page did, as it goes on.

use maud::{Markup, html};

use super::{Text, failure, hint, rollback, state, warnings};
use crate::runs::{PageRun, RunTold};

pub(crate) fn view(run: &PageRun, told: &RunTold, hints: &[String]) -> Markup {
    html! {
        h1 { (Text(&run.title)) }
        @match &told.end {
            None => { p { (state("started")) " It goes on if this page is closed." } }
            Some(Ok(report)) => {
                p { (state("succeeded")) }
                (warnings(&report.warnings))
                @for one in hints { (hint(one)) }
                (rollback::outcomes(&report.resources))
            }
            Some(Err(why)) => {
                p { (state("failed")) }
                (failure::reasons(why, hints))
                (rollback::outcomes(&why.report.resources))
            }
        }
        @if !told.lines.is_empty() {
            h2 { @match told.end { None => "What happens", Some(_) => "What happened" } }
            ol.told-lines { @for line in &told.lines { li { (Text(line)) } } }
        }
        p { a href=(run.address) { "The release" } }
    }
}
