//! What real applications came to: one result per application and cluster, and the page that shows
//! them. The suite writes results, `cargo xtask test --real` makes the page of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

use serde::{Deserialize, Serialize};

/// How often a word is said: actions, kinds.
pub type Tally = BTreeMap<String, usize>;

/// The cluster that an application was tried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tried {
    /// On a real control plane.
    ControlPlane,
    /// On the sandbox.
    Sandbox,
}

/// One command of the cycle.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CycleStep {
    /// What it did to how many objects.
    pub actions: Tally,
    /// How many requests it sent, where they are counted.
    pub requests: Option<usize>,
    /// How many of its objects it sent, where requests are counted.
    #[serde(default)]
    pub sent: Option<usize>,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// What one application came to on one cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CycleResult {
    /// The application.
    pub application: String,
    /// From which version to which it went.
    pub versions: [String; 2],
    /// Where.
    pub tried: Tried,
    /// How many objects the first version renders.
    pub objects: usize,
    /// The commands, by name.
    pub steps: BTreeMap<String, CycleStep>,
    /// What a plain delete keeps, by kind.
    pub kept: Tally,
    /// How many reviews the application's Services answered.
    pub reviews: usize,
}

impl CycleResult {
    /// Leaves it where `OPM_TEST_RESULTS` says, if it does.
    pub fn save(&self) -> io::Result<()> {
        let Some(dir) = env::var_os("OPM_TEST_RESULTS").filter(|dir| !dir.is_empty()) else {
            return Ok(());
        };
        let name = format!("{}-{:?}.json", self.application, self.tried);
        fs::write(Path::new(&dir).join(name), serde_json::to_vec_pretty(self)?)
    }
}

/// All results that were left in a directory, sorted by application.
pub fn read(dir: &Path) -> io::Result<Vec<CycleResult>> {
    let mut results = Vec::new();
    for entry in fs::read_dir(dir)? {
        let result: CycleResult = serde_json::from_slice(&fs::read(entry?.path())?)?;
        results.push(result);
    }
    results.sort_by(|a, b| a.application.cmp(&b.application));
    Ok(results)
}

const HEAD: &str = "\
# Compatibility

What real applications come to. `cargo xtask test --real` takes each through its whole life and writes this page; [testing.md](testing.md#real-applications) says how, and what answers for the applications' own programs, which do not run.

Every row passed all of this: `vet` finds no error; what is built of a chart, a kustomization or a directory without a module file is what `helm template`, `kubectl kustomize` or the files say, object for object; the first apply creates everything and becomes ready; a second apply changes nothing; `status` is Ready without drift; `diff` shows nothing; `diff` of the next version predicts what its apply then does to every object; rollback brings the first version back; delete leaves only what is kept; a new apply takes up what was kept, and a delete with all guards lifted leaves nothing.

Where nothing changed, *sent* is how many objects were sent because it could not be told that they need not be; the suite fails above one in a hundred.

Times are those of one busy machine: they compare rows, not machines.
";

const STEPS: &[(&str, &str)] = &[
    ("apply", "apply"),
    ("again", "apply again"),
    ("upgrade", "upgrade"),
    ("rollback", "rollback"),
    ("delete", "delete"),
];

/// The page that shows them.
#[must_use]
pub fn page(results: &[CycleResult]) -> String {
    let mut page = HEAD.to_owned();
    for (tried, title) in [
        (Tried::ControlPlane, "On a real control plane"),
        (Tried::Sandbox, "On the sandbox"),
    ] {
        let rows: Vec<_> = results.iter().filter(|one| one.tried == tried).collect();
        let _ = write!(page, "\n## {title}\n\n{}", table(&rows, tried));
    }
    page
}

fn table(rows: &[&CycleResult], tried: Tried) -> String {
    let mut titles = vec!["application", "versions", "objects"];
    titles.extend(STEPS.iter().map(|(_, title)| *title));
    titles.push("kept by delete");
    if tried == Tried::ControlPlane {
        titles.push("reviews");
    }
    let mut text = line(titles.iter().map(|title| (*title).to_owned()));
    text += &line(titles.iter().map(|_| "---".to_owned()));
    for row in rows {
        let [from, to] = &row.versions;
        let mut cells = vec![
            row.application.clone(),
            format!("{from} → {to}"),
            row.objects.to_string(),
        ];
        let steps = STEPS.iter().map(|(name, _)| row.steps.get(*name));
        cells.extend(steps.map(|step| step.map_or_else(String::new, cell)));
        cells.push(tallied(&row.kept, &[]));
        if tried == Tried::ControlPlane {
            cells.push(row.reviews.to_string());
        }
        text += &line(cells.into_iter());
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

/// What a step did, without what it left alone if it did anything at all.
fn cell(step: &CycleStep) -> String {
    let idle: &[&str] = match step.actions.keys().any(|action| action != "unchanged") {
        true => &["unchanged", "kept"],
        false => &[],
    };
    let mut parts = vec![tallied(&step.actions, idle)];
    if let Some(sent) = step.sent.filter(|_| idle.is_empty()) {
        parts.push(format!("{sent} sent"));
    }
    if let Some(requests) = step.requests {
        parts.push(format!("{requests} requests"));
    }
    let tenths = step.millis.div_ceil(100);
    parts.push(format!("{}.{} s", tenths / 10, tenths % 10));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn tallied(tally: &Tally, without: &[&str]) -> String {
    let shown = tally
        .iter()
        .filter(|(word, _)| !without.contains(&word.as_str()));
    let shown: Vec<String> = shown.map(|(word, n)| format!("{n} {word}")).collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{CycleResult, CycleStep, Tally, Tried, page};

    fn tally(words: &[(&str, usize)]) -> Tally {
        let words = words.iter();
        words.map(|(word, n)| ((*word).to_owned(), *n)).collect()
    }

    #[test]
    fn a_row_says_what_each_step_did() {
        let step = |actions: &[(&str, usize)], requests| CycleStep {
            actions: tally(actions),
            requests,
            sent: requests.map(|_| 0),
            millis: 1234,
        };
        let steps = [
            ("apply", step(&[("created", 3)], Some(12))),
            ("again", step(&[("unchanged", 3)], Some(5))),
            (
                "upgrade",
                step(&[("configured", 1), ("unchanged", 2)], None),
            ),
        ];
        let result = CycleResult {
            application: "shop".to_owned(),
            versions: ["v1.0.0".to_owned(), "v2.0.0".to_owned()],
            tried: Tried::ControlPlane,
            objects: 3,
            steps: steps.map(|(name, step)| (name.to_owned(), step)).into(),
            kept: tally(&[("Namespace", 1)]),
            reviews: 7,
        };
        let page = page(&[result]);
        let row = page.lines().find(|line| line.starts_with("| shop"));
        assert_eq!(
            row,
            Some(
                "| shop | v1.0.0 → v2.0.0 | 3 | 3 created, 12 requests, 1.3 s \
                 | 3 unchanged, 0 sent, 5 requests, 1.3 s | 1 configured, 1.3 s |  |  | 1 Namespace | 7 |"
            )
        );
    }
}
