//! The reference, generated: every command from what it takes, exit codes, settings, labels and
//! annotations. `cargo xtask docs` writes it to `docs/`, and a test holds the pages against it.

use std::fmt::Write as _;

use clap::{Arg, Command};
use opm_core::{hook, labels, managed, record};

use crate::commands::examples;
use crate::help::EXIT_CODES;
use crate::settings::Key;
use crate::{args, help};

const GENERATED: &str =
    "<!-- Generated from the code by `cargo xtask docs`. Edit that instead. -->\n\n";

/// The page about all commands.
pub fn commands() -> String {
    let mut root = help::documented(args::command());
    root.build();
    let mut page = format!("{GENERATED}# Commands\n\n");
    page.push_str(
        "`opm --help` and `opm COMMAND --help` say the same. The commands of `opm mod` are there \
         without `mod`, too: `opm apply` is `opm mod apply`. How they end stands in \
         [reference.md](reference.md#exit-codes).\n",
    );
    page.push_str("\n## Options of every command\n\n");
    let global: Vec<&Arg> = root.get_arguments().filter(|arg| shown(arg)).collect();
    page.push_str(&options(&global));
    for command in listed(&root) {
        section(command, command.get_name(), &mut page);
    }
    page
}

/// The subcommands that people call, and the manual, which nobody calls by hand.
fn listed(command: &Command) -> impl Iterator<Item = &Command> {
    let commands = command.get_subcommands();
    commands
        .filter(|one| one.get_name() != "help" && (!one.is_hide_set() || one.get_name() == "man"))
}

fn shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version"
}

fn section(command: &Command, path: &str, page: &mut String) {
    if command.has_subcommands() {
        for one in listed(command) {
            section(one, &format!("{path} {}", one.get_name()), page);
        }
        return;
    }
    let _ = write!(page, "\n## opm {path}\n\n");
    let about = command.get_long_about().or(command.get_about());
    for paragraph in about
        .map(ToString::to_string)
        .unwrap_or_default()
        .split("\n\n")
    {
        let _ = write!(page, "{}\n\n", cell(paragraph));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = write!(page, "```\n{usage}\n```\n\n");
    let own = command.get_arguments();
    let own: Vec<&Arg> = own
        .filter(|arg| shown(arg) && !arg.is_global_set())
        .collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in &own {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    for heading in headings {
        let under = own.iter().copied();
        let under: Vec<&Arg> = under
            .filter(|arg| arg.get_help_heading() == heading)
            .collect();
        if let Some(heading) = heading {
            let _ = write!(page, "{heading}:\n\n");
        }
        page.push_str(&options(&under));
        page.push('\n');
    }
    let examples = examples::of(path);
    if !examples.is_empty() {
        page.push_str("```sh\n");
        for (what, line) in examples {
            let _ = writeln!(page, "# {what}\n{line}");
        }
        page.push_str("```\n");
    }
}

fn options(args: &[&Arg]) -> String {
    let mut table = "| | |\n| --- | --- |\n".to_owned();
    for arg in args {
        let help = arg.get_long_help().or(arg.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let paragraphs: Vec<String> = help.split("\n\n").map(cell).collect();
        let mut help = paragraphs.join(". ");
        let values = arg.get_possible_values();
        let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
        if !values.is_empty() && !arg.is_hide_possible_values_set() {
            let _ = write!(help, " (`{}`)", values.join("`, `"));
        }
        let _ = writeln!(table, "| {} | {help} |", cell(&spelled(arg)));
    }
    table
}

/// An argument as it is typed.
fn spelled(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let takes = arg.get_num_args().is_some_and(|count| count.takes_values());
    let optional = arg
        .get_num_args()
        .is_some_and(|count| count.min_values() == 0);
    let value = match names.is_empty() || !takes {
        true => String::new(),
        false if arg.is_positional() => names.join(" "),
        false if optional => format!("[={}]", names.join(" ")),
        false => format!(" {}", names.join(" ")),
    };
    let short = arg.get_short().map(|short| format!("`-{short}`, "));
    match arg.get_long() {
        Some(long) => format!("{}`--{long}{value}`", short.unwrap_or_default()),
        None => format!("`{value}`"),
    }
}

/// Text that a cell of a table, or a paragraph, can hold.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// The page about everything else that scripts and manifests depend on.
pub fn tables() -> String {
    let mut page = format!("{GENERATED}# Exit codes, settings, labels and annotations\n\n");
    page.push_str("## Exit codes\n\n| code | meaning |\n| --- | --- |\n");
    for (code, meaning) in EXIT_CODES {
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page.push_str(
        "\nWith `-o json` a command that fails prints `{\"error\": {\"kind\", \"message\", \
         \"hints\", \"objects\"}}`; [troubleshooting.md](troubleshooting.md) goes by messages.\n",
    );
    page.push_str(
        "\n## Settings\n\nWhat each means stands in [configuration.md](configuration.md).\n\n",
    );
    page.push_str(
        "| flag | variable | key | may come with a checkout |\n| --- | --- | --- | --- |\n",
    );
    for key in Key::ALL {
        let config = key
            .config()
            .map_or("–".to_owned(), |key| format!("`{key}`"));
        let checkout = if key.holds_from_checkout() {
            "yes"
        } else {
            "no"
        };
        let (flag, variable) = (key.flag(), key.variable());
        let _ = writeln!(
            page,
            "| `--{flag}` | `{variable}` | {config} | {checkout} |"
        );
    }
    page.push_str("\n## Labels\n\n");
    page.push_str(
        "On the metadata of what `opm` applies, never in pod templates or selectors. They say whose \
         an object is: change none of them by hand.\n\n",
    );
    page.push_str(&keys(&LABELS));
    page.push_str("\n## Annotations\n\nIn manifests, for `opm` to read:\n\n");
    page.push_str(&keys(&ANNOTATIONS));
    page.push_str(
        "\n## What opm stores\n\nOn the Secrets of a release, which are in its namespace:\n\n",
    );
    page.push_str(&keys(&STORED));
    page.push_str("\n## Field managers\n\n");
    page.push_str(&keys(&MANAGERS));
    page
}

fn keys(table: &[(&str, &str)]) -> String {
    let mut text = "| | |\n| --- | --- |\n".to_owned();
    for (key, meaning) in table {
        let _ = writeln!(text, "| `{key}` | {meaning} |");
    }
    text
}

const LABELS: [(&str, &str); 7] = [
    (
        labels::MANAGED_BY,
        "`open-platform-model` on everything that `opm` applies",
    ),
    (labels::MODULE_NAME, "the name of the module"),
    (labels::MODULE_NAMESPACE, "the namespace of the release"),
    (labels::RELEASE_NAME, "the name of the release"),
    (
        labels::RELEASE_ID,
        "the id of the release ([how it is made](release-ids.md)): whose object it is",
    ),
    (labels::COMPONENT_NAME, "the name of the component"),
    (
        "shared.opmodel.dev/RELEASE-ID",
        "on an object that several releases share, one label for each of them instead of the five above; \
         its value is the name of the release",
    ),
];

const ANNOTATIONS: [(&str, &str); 6] = [
    (
        labels::PRUNE,
        "`\"false\"`: the object is never pruned or deleted; it is kept ([more](ownership.md))",
    ),
    (
        labels::SHARED,
        "`\"true\"`: it belongs to all releases that apply it ([more](ownership.md))",
    ),
    (
        labels::RECREATE,
        "`\"true\"`: it may be deleted and created again when a field changes that cannot be changed \
         in place; `--recreate` says so for all objects",
    ),
    (labels::WAIT, "`\"false\"`: `--wait` does not wait for it"),
    (
        hook::MARKER,
        "tells a chart's hooks from objects that only say so; whoever renders a chart sets it",
    ),
    (
        "sandbox.opmodel.dev/simulate",
        "`pending`, `fail` or `crash`: what becomes of it in the [sandbox](sandbox.md), and nowhere else",
    ),
];

const STORED: [(&str, &str); 7] = [
    (
        record::RELEASE_TYPE,
        "the type of the Secret that holds the record",
    ),
    (
        record::RECORD_TYPE,
        "the type of the Secrets that hold what a change rendered",
    ),
    (
        labels::COMPONENT,
        "label: `inventory` on the former, `record` on the latter",
    ),
    (
        managed::MANAGER_ANNOTATION,
        "annotation: the resource that manages the release ([the controller](controller.md))",
    ),
    (labels::SUMMARY, "annotation: what `opm mod list` shows"),
    (
        "opmodel.dev/change",
        "annotation: which change it belongs to",
    ),
    (
        "opmodel.dev/failed-change",
        "annotation: the same, of a change that was not recorded because its run failed",
    ),
];

const MANAGERS: [(&str, &str); 3] = [
    (labels::FIELD_MANAGER, "of everything that `opm` applies"),
    (labels::LOCK_FIELD_MANAGER, "of the lock in the record"),
    (
        "opm-RELEASE-ID",
        "of an object that several releases share, one for each of them",
    ),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn sources(directory: &Path, all: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, all);
            } else {
                all.push(std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn every_label_and_annotation_is_told() {
        let page = tables();
        let mut all = Vec::new();
        for of in ["opm-core", "opm-engine", "opm-sandbox"] {
            let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            sources(&crates.join(of).join("src"), &mut all);
        }
        let mut seen = 0;
        for text in &all {
            let declared = text.lines().filter(|line| line.contains("const "));
            let keys = declared.flat_map(|line| line.split('"').skip(1).step_by(2));
            for key in keys.filter(|key| {
                key.contains("opmodel.dev/") && !key.contains("/v1") && !key.contains(' ')
            }) {
                seen += 1;
                assert!(page.contains(key), "{key}");
            }
        }
        assert!(seen > 15, "{seen}");
    }

    #[test]
    fn every_exit_code_is_told() {
        use opm_engine::FailureKind as Kind;
        let told: Vec<u8> = EXIT_CODES.iter().map(|(code, _)| *code).collect();
        for kind in [
            Kind::Failed,
            Kind::Refused,
            Kind::Unreachable,
            Kind::NotPermitted,
            Kind::NotFound,
            Kind::Locked,
            Kind::LockLost,
            Kind::Incomplete,
            Kind::Interrupted,
        ] {
            assert!(told.contains(&kind.exit_code()), "{kind:?}");
        }
        for exit in [
            crate::Exit::DONE,
            crate::Exit::DIFFERENCES,
            crate::Exit::NOT_READY,
        ] {
            assert!(told.contains(&exit.code()), "{exit:?}");
        }
    }
}
