//! What stands in the way.

use maud::{Markup, html};
use opm_engine::Failure;

use super::{Text, hint, object};

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
            @for one in &failure.objects {
                p { (object(&one.identity)) ": " (Text(&one.reason)) }
            }
            @for one in hints { (hint(one)) }
        }
    }
}
