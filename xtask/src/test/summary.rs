//! What a test run came to: how many tests passed, and which did not run, with the reason of each.
//!
//! libtest knows passed, failed and ignored. A test that finds out while it runs that it cannot run
//! counts as passed there; it is on the list of skipped tests, and is taken off the passed ones.

use std::collections::BTreeMap;

/// The counts of all test programs together.
#[derive(Debug, Default)]
pub(super) struct Summary {
    passed: usize,
    failed: usize,
    ignored: BTreeMap<String, Vec<String>>,
    skipped: BTreeMap<String, Vec<String>>,
}

impl Summary {
    /// Takes up one line of what libtest prints.
    pub(super) fn read_line(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += count(counts, " passed");
            self.failed += count(counts, " failed");
        } else if let Some((test, end)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... ignored"))
        {
            let why = end.strip_prefix(", ").unwrap_or("no reason is given");
            let tests = self.ignored.entry(why.to_owned()).or_default();
            tests.push(test.to_owned());
        }
    }

    /// Takes up the list that `opm_testkit::skip` writes: test, tab, reason.
    pub(super) fn read_skipped(&mut self, list: &str) {
        for (test, why) in list.lines().filter_map(|line| line.split_once('\t')) {
            let tests = self.skipped.entry(why.to_owned()).or_default();
            tests.push(test.to_owned());
        }
    }

    /// Whether a test found out that it cannot run.
    pub(super) fn has_skipped(&self) -> bool {
        !self.skipped.is_empty()
    }

    /// The summary, for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let skipped = total(&self.skipped);
        let mut lines = vec![format!(
            "{} passed, {} failed, {} ignored, {skipped} skipped",
            self.passed.saturating_sub(skipped),
            self.failed,
            total(&self.ignored),
        )];
        lines.extend(by_reason("ignored", &self.ignored));
        lines.extend(by_reason("SKIPPED", &self.skipped));
        lines
    }
}

fn count(counts: &str, what: &str) -> usize {
    let before = counts.split(what).next().unwrap_or_default();
    let number = before.rsplit(' ').next().unwrap_or_default();
    number.parse().unwrap_or(0)
}

fn total(tests: &BTreeMap<String, Vec<String>>) -> usize {
    tests.values().map(Vec::len).sum()
}

fn by_reason<'a>(
    word: &'a str,
    tests: &'a BTreeMap<String, Vec<String>>,
) -> impl Iterator<Item = String> + 'a {
    tests.iter().flat_map(move |(why, names)| {
        let mut names = names.clone();
        names.sort_unstable();
        let title = format!("{} {word}: {why}", names.len());
        let names = names.into_iter().map(|name| format!("    {name}"));
        std::iter::once(title).chain(names)
    })
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn tests_that_did_not_run_are_told_with_their_reasons() {
        let mut summary = Summary::default();
        for line in [
            "running 4 tests",
            "test a::one ... ok",
            "test a::two ... ignored, does not apply to the sandbox, which has no users",
            "test a::three ... ok",
            "test a::four ... FAILED",
            "test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test src/lib.rs - page (line 3) ... ignored",
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
        ] {
            summary.read_line(line);
        }
        summary.read_skipped("a::three\tthere is no Go\n");
        assert_eq!(
            summary.lines(),
            [
                "6 passed, 1 failed, 2 ignored, 1 skipped",
                "1 ignored: does not apply to the sandbox, which has no users",
                "    a::two",
                "1 ignored: no reason is given",
                "    src/lib.rs - page (line 3)",
                "1 SKIPPED: there is no Go",
                "    a::three",
            ]
        );
    }
}
