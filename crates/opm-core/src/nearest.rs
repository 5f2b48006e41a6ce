//! "Did you mean": the known names nearest to an unknown one.

/// The most names that a suggestion lists: more would be no help.
const MOST: usize = 3;

/// The known names that `given` may have been meant to be, nearest first.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let given = given.to_lowercase();
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| Some((distance(&given, &name.to_lowercase())?, name)))
        .collect();
    near.sort_unstable();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// How far a name is from what was typed, if near enough to have been meant. People mistype a
/// letter in three at most, or remember one word of a name.
fn distance(given: &str, name: &str) -> Option<usize> {
    let slips = strsim::damerau_levenshtein(given, name);
    let near = slips * 3 <= given.len().max(3);
    (near || (given.len() >= 3 && name.contains(given))).then_some(slips)
}

/// The suggestion as a sentence, or nothing when no name is near.
pub fn did_you_mean(names: &[&str]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => None,
        Some((only, [])) => Some(format!("did you mean {only}?")),
        Some((last, others)) => Some(format!("did you mean {} or {last}?", others.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, nearest};

    #[test]
    fn suggests_near_names_only() {
        let known = ["sandbox", "sandbox-dir", "namespace", "color"];
        let cases: [(&str, &[&str]); 7] = [
            ("sandbx", &["sandbox"]),
            ("Namespace", &["namespace"]),
            ("colour", &["color"]),
            ("dir", &["sandbox-dir"]),
            ("sandbox", &["sandbox", "sandbox-dir"]),
            ("zzz", &[]),
            ("", &[]),
        ];
        for (given, expected) in cases {
            assert_eq!(nearest(given, known), expected, "{given:?}");
        }
    }

    #[test]
    fn the_nearest_comes_first() {
        let known = ["manifests", "after", "optional", "chart", "name"];
        for (given, expected) in [
            ("manifest", Some("manifests")),
            ("Manifests", Some("manifests")),
            ("optoinal", Some("optional")),
            ("nmae", Some("name")),
            ("namee", Some("name")),
            ("namespace", None),
            ("x", None),
        ] {
            assert_eq!(nearest(given, known).first().copied(), expected, "{given}");
        }
    }

    #[test]
    fn says_it_as_a_sentence() {
        assert_eq!(did_you_mean(&[]), None);
        assert_eq!(did_you_mean(&["a"]).as_deref(), Some("did you mean `a`?"));
        assert_eq!(
            did_you_mean(&["a", "b"]).as_deref(),
            Some("did you mean `a` or `b`?")
        );
        assert_eq!(
            did_you_mean(&["a", "b", "c"]).as_deref(),
            Some("did you mean `a`, `b` or `c`?")
        );
    }
}
