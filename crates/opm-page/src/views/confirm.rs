//! What would be done, and the form that does it.

use maud::{Markup, html};
use opm_engine::Report;
use opm_engine::status::Status;

use super::{Text, heading, rollback, time, warnings};

/// A form that does something to a release once its name is typed.
pub(crate) struct Form<'a> {
    pub(crate) address: &'a str,
    pub(crate) release: &'a str,
    pub(crate) token: &'a str,
    pub(crate) what: &'a str,
    pub(crate) button: &'a str,
}

/// The form itself.
pub(crate) fn form(form: &Form<'_>) -> Markup {
    html! {
        form.filter.doing action=(form.address) method="post" autocomplete="off" {
            input type="hidden" name="token" value=(form.token);
            input type="hidden" name="what" value=(Text(form.what));
            label for="confirm" { "Type " strong { (Text(form.release)) } " to confirm" }
            input #confirm type="text" name="confirm" required;
            button type="submit" { (form.button) }
        }
    }
}

/// A rehearsal, and the form that carries it out.
pub(crate) fn view(title: &str, report: &Report, doing: &Form<'_>) -> Markup {
    html! {
        @if let Some(release) = &report.release {
            (heading(release.namespace.as_str(), release.name.as_str(), "/doing"))
        }
        h2 { (title) }
        (warnings(&report.warnings))
        p { "Nothing was changed yet." }
        (rollback::outcomes(&report.resources))
        (form(doing))
    }
}

/// The lock of a release, and the form that removes it.
pub(crate) fn lock(status: &Status, doing: &Form<'_>) -> Markup {
    let release = &status.release;
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), "/doing"))
        h2 { "Removing the lock" }
        @match &status.lock {
            None => { p.none { "Nobody holds it." } }
            Some(lock) => {
                p {
                    (Text(&lock.lock.holder)) " holds it since " (time(&lock.lock.since)) ". "
                    @match lock.expired {
                        true => "It is no longer renewed."
                        false => "It is still renewed: removing it is refused."
                    }
                }
                (form(doing))
            }
        }
    }
}
