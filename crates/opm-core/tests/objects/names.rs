//! The rules for names, one line per rule.

use opm_core::name::{ComponentName, ModuleName, ModulePath, NamespaceName, ReleaseName};

const LABEL: &str = "only lower-case letters, digits and '-' are allowed";
const ENDS: &str = "it must start and end with a letter or a digit";
const SEGMENTS: &str = "no part between slashes may be empty, '.' or '..'";
const CHARACTERS: &str = "only lower-case letters, digits, '-', '.', '_', '~' and '/' are allowed";
const MAJOR: &str = "what follows '@' must be a major version such as 'v0'";

#[test]
fn labels_that_break_a_rule_say_which() {
    let long = "a".repeat(64);
    let longer = "a".repeat(300);
    let table = [
        ("", "it must not be empty"),
        (".", LABEL),
        ("..", LABEL),
        ("a/b", LABEL),
        ("a.b", LABEL),
        ("Web", LABEL),
        ("wéb", LABEL),
        ("a b", LABEL),
        ("a\n", LABEL),
        ("a%2fb", LABEL),
        ("a_b", LABEL),
        ("-a", ENDS),
        ("a-", ENDS),
        ("-", ENDS),
        (long.as_str(), "it must have at most 63 characters"),
        (longer.as_str(), "it must have at most 63 characters"),
    ];
    for (given, rule) in table {
        let error = ReleaseName::new(given).unwrap_err();
        assert_eq!(
            (error.what, error.rule),
            ("release name", rule),
            "{given:?}"
        );
        assert_eq!(ModuleName::new(given).unwrap_err().rule, rule, "{given:?}");
        assert_eq!(
            ComponentName::new(given).unwrap_err().rule,
            rule,
            "{given:?}"
        );
        assert_eq!(
            NamespaceName::new(given).unwrap_err().rule,
            rule,
            "{given:?}"
        );
        assert!(error.to_string().len() < 200, "{error}");
    }
}

#[test]
fn labels_that_follow_the_rules_are_taken() {
    for given in ["a", "0", "web", "web-1", "1-a", "a--b", &"a".repeat(63)] {
        assert_eq!(ReleaseName::new(given).unwrap().as_str(), given);
        assert_eq!(given.parse::<NamespaceName>().unwrap().to_string(), given);
    }
}

#[test]
fn an_error_names_what_was_given_and_the_rule() {
    assert_eq!(
        ReleaseName::new("My App").unwrap_err().to_string(),
        format!("release name \"My App\" is not valid: {LABEL}")
    );
}

#[test]
fn module_paths_that_break_a_rule_say_which() {
    let long = format!("a/{}", "b".repeat(254));
    let table = [
        ("", "it must not be empty"),
        ("@v0", "it must not be empty"),
        ("/a", SEGMENTS),
        ("a/", SEGMENTS),
        ("a//b", SEGMENTS),
        ("a/../b", SEGMENTS),
        ("..", SEGMENTS),
        (".", SEGMENTS),
        ("a/.", SEGMENTS),
        ("A/b", CHARACTERS),
        ("a b", CHARACTERS),
        ("a:b", CHARACTERS),
        ("a\\b", CHARACTERS),
        ("a@", MAJOR),
        ("a@v", MAJOR),
        ("a@0", MAJOR),
        ("a@v01", MAJOR),
        ("a@v1.2", MAJOR),
        ("a@v0@v1", MAJOR),
        (long.as_str(), "it must have at most 255 characters"),
    ];
    for (given, rule) in table {
        assert_eq!(ModulePath::new(given).unwrap_err().rule, rule, "{given:?}");
    }
}

#[test]
fn module_paths_lose_their_major_version_and_nothing_else() {
    let table = [
        (
            "opmodel.dev/modules/minecraft@v0",
            "opmodel.dev/modules/minecraft",
        ),
        (
            "opmodel.dev/modules/minecraft@v10",
            "opmodel.dev/modules/minecraft",
        ),
        (
            "opmodel.dev/modules/minecraft",
            "opmodel.dev/modules/minecraft",
        ),
        ("local/web", "local/web"),
        ("a.b/c_d~e-f@v1", "a.b/c_d~e-f"),
    ];
    for (given, expected) in table {
        let path = ModulePath::new(given).unwrap();
        assert_eq!((path.as_str(), path.without_major()), (given, expected));
    }
    let web = ModuleName::new("web").unwrap();
    assert_eq!(ModulePath::local(&web).as_str(), "local/web");
}
