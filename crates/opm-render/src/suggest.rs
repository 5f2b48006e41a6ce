//! The nearest known name to a mistyped one.

/// The known name that is nearest to `given`, if any is near enough to be meant.
pub(crate) fn nearest<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Two slips in a long word, one in a short one.
    let reach = if given.chars().count() > 4 { 2 } else { 1 };
    let given = given.to_ascii_lowercase();
    known
        .into_iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&given, &name.to_ascii_lowercase()),
                name,
            )
        })
        .filter(|(distance, _)| *distance <= reach)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_only_what_is_near() {
        let known = [
            "manifests",
            "after",
            "optional",
            "kustomize",
            "chart",
            "name",
        ];
        for (given, expected) in [
            ("manifest", Some("manifests")),
            ("Manifests", Some("manifests")),
            ("optoinal", Some("optional")),
            ("nmae", Some("name")),
            ("namespace", None),
            ("x", None),
        ] {
            assert_eq!(nearest(given, known), expected, "{given}");
        }
    }
}
