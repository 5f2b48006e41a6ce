//! What every command prints for people, in one session on the sandbox: a snapshot for each.
//!
//! Blanks are narrowed, and what differs from run to run (times, who) stands as `…`: how columns
//! line up is shown elsewhere.

use std::collections::BTreeMap;

use crate::runner::World;

/// Commands that have commands of their own.
const GROUPS: [&str; 5] = ["mod", "config", "controller", "feature", "sandbox"];

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\ncomponents:\n  - {name: app, manifests: [objects]}\n";

fn config_map(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{k: \"{value}\"}}\n---\n"
    )
}

fn kept(name: &str) -> String {
    config_map(name, "1").replace(
        "metadata: {",
        "metadata: {annotations: {opmodel.dev/prune: \"false\"}, ",
    )
}

/// What is done, in this order: a line of `opm`, or a file and what is in it from then on.
enum Step {
    Opm(&'static str),
    File(&'static str, String),
}

fn session() -> Vec<Step> {
    use Step::{File, Opm};
    let objects = "web/objects/all.yaml";
    vec![
        Opm("mod init ./new --format yaml"),
        Opm("mod vet ./web"),
        Opm("mod build ./web"),
        Opm("mod apply ./web --dry-run"),
        Opm("mod apply ./web"),
        Opm("mod apply ./web"),
        Opm("mod rbac ./web --for status"),
        File(
            objects,
            [config_map("a", "2"), kept("stays"), config_map("b", "1")].concat(),
        ),
        Opm("mod diff ./web"),
        Opm("mod apply ./web -m second"),
        Opm("mod status web"),
        Opm("mod list"),
        Opm("mod list --health"),
        Opm("mod tree web"),
        Opm("mod events web"),
        Opm("mod logs web"),
        Opm("mod test web"),
        Opm("mod history web"),
        Opm("mod history web --log"),
        Opm("mod history web --diff ~0"),
        Opm("mod show web values"),
        Opm("mod show web manifests"),
        Opm("mod rollback web --dry-run"),
        Opm("mod rollback web --yes"),
        Opm("mod repair web --dry-run"),
        Opm("mod unlock web"),
        File(objects, config_map("a", "2")),
        Opm("mod apply ./web"),
        Opm("mod forget web cm/nothing"),
        Opm("mod prune web cm/stays --dry-run"),
        Opm("mod prune web cm/stays"),
        File(
            objects,
            [
                config_map("a", "2"),
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {k: 1}\n".to_owned(),
            ]
            .concat(),
        ),
        Opm("mod vet ./web"),
        Opm("mod apply ./web"),
        File(
            objects,
            [config_map("a", "2"), config_map("c", "1")].concat(),
        ),
        Opm("mod apply ./web"),
        Opm("mod forget web cm/c"),
        Opm("mod status wbe"),
        Opm("mod delete web --dry-run"),
        Opm("mod delete web"),
        Opm("mod delete web --yes"),
        Opm("mod status web"),
        Opm("mod list"),
        Opm("config init"),
        Opm("config view"),
        Opm("config trust"),
        Opm("config trust --list"),
        Opm("config untrust"),
        Opm("feature list"),
        Opm("feature docs"),
        Opm("sandbox status"),
        // These serve until they are stopped; what they print is tested where that is done.
        Opm("sandbox serve --nonsense"),
        Opm("controller run --nonsense"),
        Opm("ui --nonsense"),
        Opm("controller install"),
        Opm("sandbox reset --yes"),
        Opm("completion bash"),
        Opm("man ./pages"),
        Opm("version"),
    ]
}

/// A line without what is different every time.
fn steady(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let number = bare.trim_end_matches(|c: char| c.is_alphabetic());
        let unit = bare.get(number.len()..).unwrap_or_default();
        let is_age = !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit() || c == '.')
            && ["ms", "s", "m", "h"].contains(&unit);
        let is_time = bare.len() >= 20 && bare.contains("T") && bare.ends_with('Z');
        let is_size = line.contains(" KiB") && word.starts_with('(');
        match is_age || is_time || is_size {
            true => word.replace(bare, "…"),
            false => word.to_owned(),
        }
    });
    let indent = line.get(..line.len() - line.trim_start().len());
    let words = words.collect::<Vec<_>>().join(" ");
    format!("{}{words}", indent.unwrap_or_default())
}

/// What a run printed, as far as it is the same every time. Long texts that are generated are
/// tested elsewhere: their first lines are enough.
fn shown(line: &str, printed: &str) -> String {
    let generated = ["feature docs", "completion bash"].contains(&line);
    let most = if generated { 5 } else { usize::MAX };
    let mut lines: Vec<String> = printed.lines().take(most).map(steady).collect();
    if printed.lines().count() > most {
        lines.push("…".to_owned());
    }
    format!("$ opm {line}\n{}\n", lines.join("\n").trim_end())
}

#[test]
fn every_command_prints_this_for_people() {
    let mut world = World::new()
        .with("OPM_SANDBOX", "true")
        .with("OPM_SANDBOX_DIR", "box")
        .with("USER", "somebody")
        .with("PATH", "/usr/bin:/bin")
        .file("web/module.yaml", MODULE)
        .file(
            "web/objects/all.yaml",
            &[config_map("a", "1"), kept("stays")].concat(),
        );
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    for step in session() {
        match step {
            Step::File(path, text) => world = world.file(path, &text),
            Step::Opm(line) => {
                let ran = world.opm(line);
                let words: Vec<&str> = line.split_whitespace().collect();
                let name = match GROUPS.contains(&words[0]) {
                    true => format!("{}-{}", words[0], words[1]),
                    false => words[0].to_owned(),
                };
                let page = pages.entry(name).or_default();
                page.push_str(&shown(line, &ran.to_string()));
                page.push('\n');
            }
        }
    }
    let mut all = Vec::new();
    crate::help::commands(&world, "", &mut all);
    for command in all {
        let name = command.trim().replace(' ', "-");
        assert!(
            pages.contains_key(&name),
            "nothing shows what {name} prints"
        );
    }
    for (name, page) in pages {
        insta::assert_snapshot!(name, page);
    }
}
