//! The README, the tutorial and the page for users of Zarf are true: every command of them runs, and
//! prints what they say.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

use std::path::Path;
use std::process::Command;

/// A command of a page, and what it is said to print. `…` stands for anything.
struct Example {
    command: String,
    output: Vec<String>,
}

fn shown(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => {
                    found.push(Example {
                        command: command.to_owned(),
                        output: Vec::new(),
                    });
                }
                (None, Some(last)) => last.output.push(line.to_owned()),
                (None, None) => panic!("output without a command: {line}"),
            },
        }
    }
    found
}

/// Whether a line is as shown, however wide the columns of its table are.
fn agrees(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (narrow(shown), narrow(printed));
    match shown.split_once('…') {
        None => shown == printed,
        Some((begin, end)) => {
            printed.len() >= begin.len() + end.len()
                && printed.starts_with(begin)
                && printed.ends_with(end)
        }
    }
}

fn narrow(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line of `…` alone stands for any number of lines.
fn all_agree(shown: &[String], printed: &[&str]) -> bool {
    match shown {
        [] => printed.is_empty(),
        [any, rest @ ..] if any == "…" => {
            (0..=printed.len()).any(|skip| all_agree(rest, &printed[skip..]))
        }
        [line, rest @ ..] => {
            printed.first().is_some_and(|first| agrees(line, first))
                && all_agree(rest, &printed[1..])
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp")
        .arg("-r")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(copied.success());
}

#[test]
fn every_command_of_the_readme_does_what_it_says() {
    is_true("README.md");
}

#[test]
fn every_command_of_the_tutorial_does_what_it_says() {
    is_true("docs/tutorial.md");
}

#[test]
fn every_command_for_users_of_zarf_does_what_it_says() {
    is_true("docs/zarf.md");
}

fn is_true(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    copy(&root.join("examples"), dir.path());
    let bin = opm_testkit::opm_binary();
    let path = format!("{}:/usr/bin:/bin", bin.parent().unwrap().display());
    let commands = shown(&text);
    assert!(commands.len() > 5, "{page} shows its commands");
    for Example { command, output } in commands {
        let run = command.replace("cargo run --release --", "opm");
        let ran = Command::new("sh")
            .args(["-c", &format!("{run} 2>&1")])
            .current_dir(dir.path())
            .env_clear()
            .env("PATH", &path)
            .env("HOME", dir.path())
            .env("OPM_SANDBOX", "true")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        let lines: Vec<&str> = printed.lines().collect();
        assert!(
            all_agree(&output, &lines),
            "$ {command}\nis shown as\n{}\nand prints\n{printed}",
            output.join("\n")
        );
    }
}

/// The pages of the documentation, and the README.
fn pages() -> Vec<std::path::PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages.chain([root.join("README.md")]).collect()
}

#[test]
fn every_page_is_in_the_book() {
    let summary = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/SUMMARY.md");
    let summary = std::fs::read_to_string(summary).unwrap();
    for page in pages() {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        if !["README.md", "SUMMARY.md"].contains(&name.as_str()) {
            assert!(
                summary.contains(&format!("({name})")),
                "{name} is not in it"
            );
        }
    }
}

#[test]
fn every_link_leads_to_a_file() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = link.split('#').next().unwrap();
            let is_elsewhere = file.contains("://") || file.is_empty() || file.contains(' ');
            let there = page.parent().unwrap().join(file);
            assert!(is_elsewhere || there.exists(), "{}: {link}", page.display());
        }
    }
}
