//! Reports as HTML. Everything that a cluster or a module said goes through [`Text`]: it is
//! escaped, and what would move, hide or reorder text is written out.

pub(crate) mod compare;
pub(crate) mod confirm;
pub(crate) mod events;
pub(crate) mod failure;
pub(crate) mod history;
pub(crate) mod logs;
pub(crate) mod manifests;
pub(crate) mod object;
pub(crate) mod plan;
pub(crate) mod release;
pub(crate) mod releases;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod tree;

use std::fmt::Display;

use maud::{DOCTYPE, Escaper, Markup, Render, html};
use opm_core::diff::{ChangeKind, FieldChange};
use opm_core::identity::Identity;
use opm_core::printable::is_unprintable;
use opm_engine::LastDeployment;

/// What may come from anybody, shown as text.
struct Text<T>(T);

impl<T: Display> Render for Text<T> {
    fn render_to(&self, out: &mut String) {
        use std::fmt::Write as _;
        let text = self.0.to_string();
        let mut shown = String::with_capacity(text.len());
        for c in text.chars() {
            match is_unprintable(c) {
                true => shown.extend(c.escape_unicode()),
                false => shown.push(c),
            }
        }
        // Writing into a text does not fail.
        let _ = Escaper::new(out).write_str(&shown);
    }
}

/// A page that is kept as it is.
pub(crate) struct LiveView {
    /// Where it is told what there is now.
    pub(crate) address: String,
    /// The digest of what it shows.
    pub(crate) digest: u64,
}

/// What stands around every view.
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    pub(crate) cluster: &'a str,
    /// Whether there is a module whose plan can be looked at.
    pub(crate) plan: bool,
    pub(crate) live: Option<&'a LiveView>,
}

/// A whole page.
pub(crate) fn page(frame: &Frame<'_>, content: &Markup) -> Markup {
    let digest = frame.live.map(|live| format!("{:016x}", live.digest));
    let pages = [("/", "Releases"), ("/plan", "Plan")].into_iter();
    let pages = pages.filter(|(_, word)| frame.plan || *word != "Plan");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (Text(frame.title)) " · opm" }
                link rel="stylesheet" href="/style.css";
                script src="/page.js" defer {}
            }
            body {
                a.skip href="#content" { "To the content" }
                header {
                    p.brand { "opm" }
                    nav.pages aria-label="Pages" {
                        @for (place, word) in pages {
                            @let current = (word == frame.title).then_some("page");
                            a href=(place) aria-current=[current] { (word) }
                        }
                    }
                    p.cluster { "Cluster " (Text(frame.cluster)) }
                }
                main #content tabindex="-1"
                    data-live=[frame.live.map(|live| &live.address)]
                    data-digest=[digest]
                { (content) }
                p #told .told role="status" aria-live="polite" {}
            }
        }
    }
}

/// The address of a release.
pub(crate) fn release_address(namespace: &str, name: &str) -> String {
    format!("/releases/{}/{}", segment(namespace), segment(name))
}

/// The address of an object of a release, or of what lies below it.
pub(crate) fn object_address(release: &str, of: &Identity) -> String {
    let mut address = format!(
        "{release}/object?kind={}&name={}",
        segment(of.kind()),
        segment(&of.name)
    );
    if !of.group().is_empty() {
        address.push_str(&format!("&group={}", segment(of.group())));
    }
    if let Some(namespace) = &of.namespace {
        address.push_str(&format!("&in={}", segment(namespace)));
    }
    address
}

/// One segment of a path, or one value of a query, whatever it holds.
fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(byte.into()),
            b'.' | b'~' => out.push(byte.into()),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// The heading of a release, with the way to everything else about it.
fn heading(namespace: &str, name: &str, here: &str) -> Markup {
    let address = release_address(namespace, name);
    let places = [
        ("", "Status"),
        ("/tree", "Tree"),
        ("/history", "History"),
        ("/manifests", "Manifests"),
        ("/events", "Events"),
        ("/logs", "Logs"),
    ];
    html! {
        h1 { (title(namespace, name)) }
        nav.places aria-label="Release" {
            @for (place, word) in places {
                @let current = (place == here).then_some("page");
                a href={ (address) (place) } aria-current=[current] { (word) }
            }
        }
    }
}

/// The name of a release, and where it is.
fn title(namespace: &str, name: &str) -> Markup {
    html! { (Text(name)) " " small { "in " (Text(namespace)) } }
}

/// A change by its first digits, and whole when it is pointed at.
fn change(id: &str) -> Markup {
    html! { code title=(Text(id)) { (short(id)) } }
}

/// Its first digits.
fn short(id: &str) -> Markup {
    let digits = id.rsplit('-').next().unwrap_or(id);
    html! { (Text(digits.chars().take(8).collect::<String>())) }
}

/// A state in words, with a colour that says the same.
fn state(word: &str) -> Markup {
    let class = match word {
        "Ready" | "succeeded" | "current" => "good",
        "Progressing" | "Unknown" | "started" | "not-ready" | "interrupted" | "drifted" => {
            "waiting"
        }
        "Degraded" | "Failed" | "Missing" | "failed" | "lost" | "rolled-back" => "bad",
        _ => "plain",
    };
    html! { span.state.(class) { (Text(word)) } }
}

/// What happens to something, with a colour that says the same.
fn action(word: &str) -> Markup {
    let class = match word {
        "created" | "adopted" | "added" => "good",
        "configured" | "recreated" | "changed" | "kept" => "waiting",
        "pruned" | "deleted" | "removed" | "failed" => "bad",
        _ => "plain",
    };
    html! { span.state.(class) { (Text(word)) } }
}

/// An object by its name, and where it is.
fn object(of: &Identity) -> Markup {
    html! {
        (Text(of.kind())) "/" (Text(&of.name))
        @if let Some(namespace) = &of.namespace { " " small { "in " (Text(namespace)) } }
    }
}

/// What to do next; what stands between backquotes is to be typed.
fn hint(hint: &str) -> Markup {
    html! {
        p.hint {
            @for (at, part) in hint.split('`').enumerate() {
                @if at % 2 == 1 { code.command { (Text(part)) } } @else { (Text(part)) }
            }
        }
    }
}

/// What whoever looks should know.
fn warnings(warnings: &[String]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            ul.warnings aria-label="Warnings" {
                @for warning in warnings { li { (Text(warning)) } }
            }
        }
    }
}

/// How many lines of a long table are on one page.
const LINES: usize = 200;

/// The part of a long table that is shown, and the way to the others.
struct Part {
    at: usize,
    all: usize,
}

impl Part {
    /// The part that was asked for, or the nearest that there is.
    fn of(lines: usize, asked: usize) -> Self {
        let all = lines.div_ceil(LINES).max(1);
        let at = asked.clamp(1, all);
        Self { at, all }
    }

    /// The lines that are on it.
    fn lines<T>(&self, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        all.skip((self.at - 1) * LINES).take(LINES)
    }

    fn is_whole(&self) -> bool {
        self.all == 1
    }

    /// The way to the others; `address` gives theirs.
    fn ways(&self, address: impl Fn(usize) -> String) -> Markup {
        html! {
            @if !self.is_whole() {
                nav.parts aria-label="Parts of this table" {
                    @if self.at > 1 { a rel="prev" href=(address(self.at - 1)) { "Previous" } }
                    span { "Part " (self.at) " of " (self.all) }
                    @if self.at < self.all { a rel="next" href=(address(self.at + 1)) { "Next" } }
                }
            }
        }
    }
}

/// The head of a table.
fn columns(names: &[&str]) -> Markup {
    html! { thead { tr { @for name in names { th scope="col" { (name) } } } } }
}

/// A cell that bears the name of its column, for screens on which each line is a card.
fn cell(column: &str, content: &Markup) -> Markup {
    html! { td data-column=(column) { (content) } }
}

/// A fact and what it is about.
fn fact(about: &str, content: &Markup) -> Markup {
    html! { div { dt { (about) } dd { (content) } } }
}

/// A moment in time. The script says how long ago it was.
fn time(time: &str) -> Markup {
    html! { time datetime=(Text(time)) { (Text(time.replace('T', " ").replace('Z', " UTC"))) } }
}

/// How many objects are no longer as they were applied.
fn drifted(number: usize) -> Markup {
    html! { span.state.waiting { (number) " drifted" } }
}

/// What was last done to a release, by whom and when.
fn deployment(last: &LastDeployment) -> Markup {
    html! {
        (state(&last.result))
        " " small { (Text(&last.command)) " by " (Text(&last.who)) ", " (time(&last.time)) }
    }
}

/// How many of something there are.
fn count(number: usize, what: &str) -> Markup {
    html! { (opm_core::words::count(number, what)) }
}

/// A command as a shell takes it, whatever the names in it hold.
fn command(words: &[&str]) -> Markup {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,".contains(c);
    let quoted = words.iter().map(|word| match word.chars().all(plain) {
        true => (*word).to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    let quoted: Vec<String> = quoted.collect();
    html! { code.command { (Text(quoted.join(" "))) } }
}

/// Fields, as they were and as they are.
fn fields(changes: &[FieldChange]) -> Markup {
    fields_between(["Field", "Before", "After"], changes)
}

/// The same under other names. Of what must not be seen, only that it is another.
fn fields_between(names: [&str; 3], changes: &[FieldChange]) -> Markup {
    html! {
        @if !changes.is_empty() {
            div.wide { table.fields {
                (columns(&names))
                tbody {
                    @for change in changes {
                        @let class = match change.kind {
                            ChangeKind::Added => "added",
                            ChangeKind::Removed => "removed",
                            ChangeKind::Changed => "changed",
                        };
                        @let sides = [&change.old, &change.new];
                        tr.(class) {
                            th scope="row" { code { (Text(&change.path)) } }
                            @if sides.into_iter().flatten().any(|side| side.is_masked()) {
                                td colspan="2" { (class) ", and not shown" }
                            } @else {
                                td { @if let Some(old) = &change.old { del { (Text(old)) } } }
                                td { @if let Some(new) = &change.new { ins { (Text(new)) } } }
                            }
                        }
                    }
                }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_anybody_wrote_is_text() {
        let hostile = "<script>\u{202e}\u{1b}[31m\"'&\n";
        let shown = html! { p title=(Text(hostile)) { (Text(hostile)) } }.into_string();
        let text = "&lt;script&gt;\\u{202e}\\u{1b}[31m&quot;'&amp;\n";
        assert_eq!(shown, format!("<p title=\"{text}\">{text}</p>"));
        assert_eq!(segment("a/../b?c#d e%é"), "a%2F..%2Fb%3Fc%23d%20e%25%C3%A9");
    }

    #[test]
    fn a_command_can_be_copied_whatever_is_named() {
        let shown = command(&["opm", "mod", "prune", "web", "Role/<it's>"]).into_string();
        let text = "opm mod prune web 'Role/&lt;it'\\''s&gt;'";
        assert_eq!(shown, format!("<code class=\"command\">{text}</code>"));
    }

    #[test]
    fn a_change_is_known_by_its_first_digits() {
        let shown = change("change-sha1-0123456789").into_string();
        assert!(shown.contains(">01234567<"), "{shown}");
    }
}
