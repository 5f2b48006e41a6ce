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

/// What stands behind a `$`, and in the lines of a document that follows it.
#[test]
fn the_session_of_the_helm_page_runs() {
    let helm = [opm_testkit::programs::Program::Helm];
    if opm_testkit::programs::ensure(&helm).is_err() && !opm_testkit::cluster_required() {
        opm_testkit::skip_without("helm to render charts with");
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/helm.md");
    let page = std::fs::read_to_string(page).unwrap();
    let sessions = page.split("```console\n").skip(1);
    let sessions = sessions.map(|rest| rest.split("```").next().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let bin = opm_testkit::opm_binary();
    let mut path = opm_testkit::programs::directories();
    path.push(bin.parent().unwrap().to_owned());
    path.extend(["/usr/bin", "/bin"].map(std::path::PathBuf::from));
    for session in sessions {
        let lines = session.lines();
        let lines = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line));
        let script = lines.collect::<Vec<_>>().join("\n");
        let ran = Command::new("sh")
            .args(["-e", "-c", &script])
            .current_dir(dir.path())
            .env_clear()
            .env("PATH", std::env::join_paths(&path).unwrap())
            .env("HOME", dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{script}\n{said}");
    }
}

#[test]
fn no_other_page_shows_a_session_that_nobody_runs() {
    let shown = |page: &std::path::PathBuf| {
        let text = std::fs::read_to_string(page).unwrap();
        text.contains("```console")
    };
    let names = pages().into_iter().filter(shown);
    let mut names: Vec<String> = names
        .map(|page| page.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["README.md", "helm.md", "tutorial.md", "zarf.md"]);
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

/// The shipped sources as one text, in which strings that go on in the next line are one.
fn shipped_words() -> String {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    let mut words = String::new();
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.ends_with("tests") || path.ends_with("opm-e2e");
            if path.is_dir() && !is_test {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                words.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut pieces = words.split("\\\n");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + piece.trim_start())
}

#[test]
fn every_message_that_is_explained_is_one_that_opm_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    let page = std::fs::read_to_string(page).unwrap();
    let words = shipped_words();
    let headings = page.lines().filter_map(|line| line.strip_prefix("### `"));
    let messages: Vec<&str> = headings.map(|line| line.trim_end_matches('`')).collect();
    assert!(messages.len() > 20, "{messages:?}");
    for message in messages {
        for part in message.split('…') {
            let part = part.trim_matches([' ', ',', ':', ';']);
            assert!(words.contains(part), "{message}: nobody says {part:?}");
        }
    }
}

/// The commands that a page shows: lines of its code blocks, and words in the text.
fn commands_of(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            let parts = line
                .split(" # ")
                .next()
                .unwrap()
                .split(['|', '>', ';', '&']);
            found.extend(parts.map(|part| part.trim().to_owned()));
        } else {
            let spans = line.split('`').skip(1).step_by(2);
            let commands = spans.flat_map(|span| span.split(['|', '>', ';', '&']));
            found.extend(commands.map(|command| command.trim().to_owned()));
        }
    }
    found.retain(|command| command.starts_with("opm ") && !command.contains('['));
    found
}

/// What a word that stands for something may be.
fn meant(word: &str) -> String {
    match word {
        "DURATION" => "1m".to_owned(),
        "N" => "1".to_owned(),
        "SHELL" => "bash".to_owned(),
        "VERSION" => "1.34.0".to_owned(),
        "KIND/NAME" => "Kind/name".to_owned(),
        "FORMAT" => "json".to_owned(),
        name if name.chars().all(|c| c.is_ascii_uppercase()) => name.to_lowercase(),
        word => word.to_owned(),
    }
}

/// Names that stand for something are taken for what they are; flags and commands have to be there.
#[test]
fn every_command_of_every_page_is_one_that_opm_takes() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for command in commands_of(&text) {
            let words = command.split_whitespace().skip(1);
            let words = words.filter(|word| !word.contains('…') && *word != "COMMAND");
            let words: Vec<String> = words.map(meant).collect();
            let bin = opm_testkit::opm_binary();
            let line = format!("exec {} {} --help", bin.display(), words.join(" "));
            let ran = Command::new("sh")
                .args(["-c", &line])
                .env_clear()
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            // A flag that is named without its value is there all the same.
            if !ran.status.success() && !said.contains("a value is required for") {
                wrong.push(format!("{}: `{command}`: {said}", page.display()));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 100, "{checked}");
}

/// The picture at the top is animated, light, and shows what `opm` says.
#[test]
fn the_recording_is_light_and_moves() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let image = readme.split("](").find_map(|rest| rest.split_once(".svg)"));
    let image = image.map(|(image, _)| format!("{image}.svg")).unwrap();
    let picture = std::fs::read_to_string(root.join(image)).unwrap();
    assert!(picture.len() < 150_000, "{} bytes", picture.len());
    assert!(picture.contains("<animate "), "it moves");
    assert_eq!(
        picture.matches("<text").count(),
        picture.matches("</text>").count()
    );
    let pieces = picture.split('<').filter_map(|piece| piece.split_once('>'));
    let text: String = pieces.map(|(_, text)| text).collect();
    for words in [
        "opm apply",
        "3 created",
        "Do this?",
        "Ready",
        "going back to",
    ] {
        assert!(text.contains(words), "{words}");
    }
}
