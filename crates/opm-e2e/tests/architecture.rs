//! The invariants of ARCHITECTURE.md that a machine can check.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests say what they expect by failing loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which of our crates a crate may use. Tests may use more.
const ARROWS: &[(&str, &[&str])] = &[
    ("opm-core", &[]),
    ("opm-engine", &["opm-core"]),
    ("opm-render", &["opm-core", "opm-engine"]),
    ("opm-cluster", &["opm-core", "opm-engine"]),
    ("opm-page", &["opm-core", "opm-engine"]),
    ("opm-sandbox", &[]),
    (
        "opm-controller",
        &["opm-core", "opm-engine", "opm-render", "opm-cluster"],
    ),
    (
        "opm-cli",
        &[
            "opm-controller",
            "opm-core",
            "opm-engine",
            "opm-page",
            "opm-render",
            "opm-cluster",
            "opm-sandbox",
        ],
    ),
    (
        "opm-simulation",
        &["opm-core", "opm-engine", "opm-cluster", "opm-sandbox"],
    ),
    ("opm-testkit", &["opm-core"]),
    ("opm-e2e", &["opm-core", "opm-testkit", "opm-sandbox"]),
    (
        "xtask",
        &[
            "opm-core",
            "opm-cli",
            "opm-testkit",
            "opm-render",
            "opm-sandbox",
        ],
    ),
];

/// What `opm-core` stands on: formats and arithmetic, nothing that reaches outside.
const CORE_STANDS_ON: &[&str] = &[
    "base64",
    "jiff",
    "semver",
    "serde",
    "serde_json",
    "sha1",
    "sha2",
    "strsim",
    "thiserror",
    "uuid",
];

/// Ways out of a pure crate, and why each is closed.
const WAYS_OUT: &[(&str, &str)] = &[
    ("std::fs", "the core reads no files"),
    ("std::env", "settings arrive as arguments"),
    ("std::net", "the core sends nothing"),
    ("std::process", "the core starts nothing"),
    ("SystemTime", "time arrives as an argument"),
    ("Instant::now", "time arrives as an argument"),
    ("std::thread", "the core does not wait"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// What cargo knows of the crates of the workspace.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The normal dependencies of every crate of the workspace.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let names = |package: &Value| {
        let normal = |d: &&Value| d["kind"].is_null();
        package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(normal)
            .map(|d| d["name"].as_str().unwrap().to_owned())
            .collect()
    };
    packages()
        .iter()
        .map(|p| (p["name"].as_str().unwrap().to_owned(), names(p)))
        .collect()
}

fn sources(of: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![of.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn arrows_point_inward_only() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for (name, uses) in dependencies() {
        let allowed = allowed.get(name.as_str()).unwrap_or_else(|| {
            panic!("{name} is new: say in ARROWS and in ARCHITECTURE.md what it may use")
        });
        for used in uses
            .iter()
            .filter(|d| d.starts_with("opm-") || *d == "xtask")
        {
            assert!(
                allowed.contains(&used.as_str()),
                "{name} must not use {used}"
            );
        }
    }
}

/// The tiers of docs/testing.md: whoever adds a suite says when it runs.
#[test]
fn every_suite_has_a_tier() {
    let page = std::fs::read_to_string(root().join("docs/testing.md")).unwrap();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let suites = package["targets"].as_array().unwrap().iter();
        for suite in suites.filter(|t| is_suite(&t["kind"])) {
            let suite = suite["name"].as_str().unwrap();
            let row = |line: &&str| {
                line.contains(&format!("`{name}/"))
                    && (line.contains(&format!("/{suite}`"))
                        || line.contains(&format!("`{suite}`")))
            };
            let tier = page.lines().find(row).and_then(|row| row.split('|').nth(2));
            assert!(
                tier.is_some_and(|tier| tier.contains("ordinary") || tier.contains("on request")),
                "docs/testing.md does not say in which tier {name}/{suite} is"
            );
        }
    }
}

fn is_suite(kinds: &Value) -> bool {
    let kinds = kinds.as_array().cloned().unwrap_or_default();
    kinds.iter().any(|kind| kind == "test" || kind == "bench")
}

#[test]
fn the_core_stands_on_formats_only() {
    for used in &dependencies()["opm-core"] {
        assert!(
            CORE_STANDS_ON.contains(&used.as_str()),
            "opm-core must not use {used}"
        );
    }
}

#[test]
fn the_core_has_no_way_out() {
    for (path, text) in sources(&root().join("crates/opm-core/src")) {
        for (way, why) in WAYS_OUT {
            assert!(!text.contains(way), "{} uses {way}: {why}", path.display());
        }
    }
}

/// Feature flags are arguments. The process-wide ones are for programs that use us, and one file
/// makes settings of them when such a program asks for it.
#[test]
fn nobody_reads_the_global_features() {
    let own = root().join("crates/opm-core/src/feature");
    let way_in = root().join("crates/opm-engine/src/global_features.rs");
    let shipped = |path: &Path| path.components().any(|c| c.as_os_str() == "src");
    for (path, text) in sources(&root().join("crates")) {
        if path.starts_with(&own) || path == way_in || !shipped(&path) {
            continue;
        }
        for way in ["global::", "feature::global", "FeatureStore"] {
            assert!(
                !text.contains(way),
                "{} uses {way}: feature flags arrive as arguments",
                path.display()
            );
        }
        assert!(
            !text.contains("from_global_features("),
            "{} goes by the features of the process",
            path.display()
        );
    }
}

#[test]
fn only_the_output_module_prints() {
    let printing = [
        "println!(",
        "print!(",
        "std::io::stdout()",
        "std::io::stderr()",
    ];
    for name in [
        "opm-core",
        "opm-engine",
        "opm-render",
        "opm-cluster",
        "opm-sandbox",
        "opm-page",
        "opm-controller",
        "opm-cli",
    ] {
        for (path, text) in sources(&root().join("crates").join(name).join("src")) {
            if path.components().any(|c| c.as_os_str() == "ui") {
                continue;
            }
            let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
            for way in printing {
                let prints = shipped
                    .lines()
                    .any(|l| !l.trim_start().starts_with("//") && l.contains(way));
                assert!(
                    !prints,
                    "{} prints with {way}: only opm-cli's ui does",
                    path.display()
                );
            }
        }
    }
}

/// Type names that a crate may have more than once, and why.
const REPEATED: &[(&str, &str)] = &[
    ("Args", "a command's arguments, named by its module"),
    ("Command", "a group of commands, named by its module"),
];

/// Names of the old dialect: bare participles, pronouns and private words.
const DIALECT: &[&str] = &[
    "Again",
    "Aim",
    "Among",
    "Asker",
    "Audience",
    "Back",
    "Bad",
    "Beside",
    "Both",
    "Course",
    "Glance",
    "Glimpse",
    "Holding",
    "How",
    "InHand",
    "Onlooker",
    "Opening",
    "Parting",
    "Scene",
    "Seen",
    "Settled",
    "Sight",
    "Taken",
    "Trouble",
    "Turn",
    "Unsettled",
    "Weighed",
    "What",
    "Which",
    "Why",
];

/// Numbers get their nouns in one place, so that nobody reads `1 objects`.
#[test]
fn a_number_and_its_noun_agree() {
    let nouns = ["object", "component", "release", "request"];
    let mut wrong = Vec::new();
    for of in [
        "opm-core",
        "opm-engine",
        "opm-render",
        "opm-cluster",
        "opm-controller",
        "opm-page",
        "opm-cli",
    ] {
        for (file, text) in sources(&root().join("crates").join(of).join("src")) {
            let shipped = text.split("#[cfg(test)]").next().unwrap();
            let lines = shipped.lines().enumerate();
            let lines = lines.filter(|(_, line)| line.contains('"'));
            wrong.extend(lines.filter_map(|(at, line)| {
                let counted = |noun: &&str| {
                    let plain = line.contains(&format!("}} {noun}s"));
                    plain || line.contains(&format!("}} more {noun}s"))
                };
                let noun = nouns.iter().find(|noun| counted(noun))?;
                Some(format!("{}:{}: {noun}s", file.display(), at + 1))
            }));
        }
    }
    assert!(
        wrong.is_empty(),
        "use opm_core::words::count: {}",
        wrong.join("\n")
    );
}

#[test]
fn every_type_has_a_name_of_its_own() {
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for (_, text) in sources(&path.join("src")) {
            for line in text.lines().map(str::trim_start) {
                let words = line.trim_start_matches("pub(crate) ");
                let words = words.trim_start_matches("pub(super) ");
                let mut words = words.trim_start_matches("pub ").split_whitespace();
                if !words
                    .next()
                    .is_some_and(|word| ["struct", "enum", "trait"].contains(&word))
                {
                    continue;
                }
                let name = words.next().unwrap_or_default();
                let end = name.find(|c: char| !c.is_alphanumeric());
                let name = &name[..end.unwrap_or(name.len())];
                *names.entry(name.to_owned()).or_default() += 1;
            }
        }
        for (name, count) in names {
            let allowed = REPEATED.iter().any(|(repeated, _)| *repeated == name);
            assert!(
                count == 1 || allowed,
                "{}: {count} types are called {name}",
                path.display()
            );
            assert!(
                !DIALECT.contains(&name.as_str()),
                "{}: {name} is no noun that says what it is",
                path.display()
            );
        }
    }
}

/// The future of a use case is good for nothing if no other task can have it.
#[test]
fn every_use_case_is_run_in_a_task_of_its_own() {
    let engine = root().join("crates/opm-engine");
    let table = std::fs::read_to_string(engine.join("src/engine.rs")).unwrap();
    let tests = sources(&engine.join("tests"));
    let does = |line: &str| {
        let (does, name) = line.trim().split_once(": ")?;
        let listed = does.starts_with("reads \"") || does.starts_with("writes \"");
        listed.then(|| name.split('(').next().unwrap().to_owned())
    };
    let names: Vec<String> = table.lines().filter_map(does).collect();
    assert!(names.len() > 20, "the table looks different: {names:?}");
    for name in names {
        let (method, spawned) = (format!(".{name}("), format!("        {name}("));
        let tried =
            |(_, text): &(PathBuf, String)| text.contains(&method) || text.contains(&spawned);
        assert!(tests.iter().any(tried), "opm-engine/tests never run {name}");
    }
}

/// What would lift a refusal is a value; only the command line words it.
#[test]
fn core_and_engine_know_no_command_line() {
    for name in ["opm-core", "opm-engine"] {
        for (path, text) in sources(&root().join("crates").join(name).join("src")) {
            // The page about features is about the command's features.
            if path.ends_with("feature/markdown.rs") || path.to_string_lossy().contains("tests") {
                continue;
            }
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for line in code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
            {
                let flag = line
                    .match_indices("--")
                    .any(|(at, _)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()));
                assert!(
                    !flag && !line.contains("opm mod") && !line.contains("`opm "),
                    "{}: {line}",
                    path.display()
                );
            }
        }
    }
}
