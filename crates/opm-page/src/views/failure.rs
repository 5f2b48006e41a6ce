//! What stands in the way.

use maud::{Markup, html};
use opm_engine::Failure;

use super::Text;

/// Of a page.
pub(crate) fn view(failure: &Failure, hints: &[String]) -> Markup {
    html! {
        h1 { "This cannot be shown" }
        (reasons(failure, hints))
    }
}

/// Of anything.
pub(super) fn reasons(failure: &Failure, hints: &[String]) -> Markup {
    html! {
        div.failure role="alert" {
            @for line in failure.message.lines() { p { (Text(line)) } }
            @for object in &failure.objects {
                p { (Text(&object.identity)) ": " (Text(&object.reason)) }
            }
            @for hint in hints { p.hint { (Text(hint)) } }
        }
    }
}
