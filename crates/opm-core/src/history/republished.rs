//! Charts that somebody published again, under the version that they had.

use std::collections::BTreeMap;

/// The charts of which another archive is applied than before, though they have the same name and
/// version: each with its component. Archives are as records name them, by component.
pub fn republished_charts<'a>(
    before: &BTreeMap<String, String>,
    now: &'a BTreeMap<String, String>,
) -> Vec<(&'a str, &'a str)> {
    let parts = |recorded: &'a str| recorded.rsplit_once(' ');
    let republished = now.iter().filter_map(|(component, recorded)| {
        let (reference, digest) = parts(recorded)?;
        let (old_reference, old_digest) = before.get(component)?.rsplit_once(' ')?;
        let moved = reference == old_reference && digest != old_digest;
        moved.then_some((component.as_str(), reference))
    });
    republished.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_version_with_another_digest_counts() {
        let charts = |recorded: &str| BTreeMap::from([("db".to_owned(), recorded.to_owned())]);
        let before = charts("oci://example.com/pg@1.0.0 sha256:aa");
        for (now, expected) in [
            ("oci://example.com/pg@1.0.0 sha256:aa", None),
            (
                "oci://example.com/pg@1.0.0 sha256:bb",
                Some("oci://example.com/pg@1.0.0"),
            ),
            ("oci://example.com/pg@1.1.0 sha256:bb", None),
            ("oci://elsewhere.example.com/pg@1.0.0 sha256:bb", None),
            ("", None),
        ] {
            let now = charts(now);
            let found = republished_charts(&before, &now);
            assert_eq!(found.first().map(|(_, chart)| *chart), expected, "{now:?}");
        }
        assert_eq!(republished_charts(&BTreeMap::new(), &before), []);
    }
}
