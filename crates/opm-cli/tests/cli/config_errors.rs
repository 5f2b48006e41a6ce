//! Configuration that cannot be used: what is said about it.

use insta::assert_snapshot;

use crate::runner::World;

#[test]
fn an_unknown_key_is_an_error_that_suggests_the_right_one() {
    let world = World::new().file("opm-config.yaml", "namespce: games\n");
    assert_snapshot!(world.opm("config view"), @r"
    exit 2
    --- stderr
    error: unknown key `namespce` in opm-config.yaml
    hint: did you mean `namespace`?
    ");
    let world = World::new().file("opm-config.toml", "[features]\nenabel = ['x']\n");
    assert_snapshot!(world.opm("config view"), @r"
    exit 2
    --- stderr
    error: unknown key `features.enabel` in opm-config.toml
    hint: did you mean `features.enable` or `features.disable`?
    ");
    let world = World::new().file("opm-config.yaml", "zzz: 1\nconfig: x\n");
    assert_snapshot!(world.opm("config view"), @r"
    exit 2
    --- stderr
    error: unknown key `config` in opm-config.yaml
    hint: did you mean `kubeconfig`?
    ");
}

#[test]
fn a_value_of_the_wrong_sort_names_its_key() {
    let wrong = [
        (
            "namespace: [a]",
            "`namespace` in opm-config.yaml is not valid: expected text",
        ),
        (
            "namespace: Not_A_Name",
            "`namespace` in opm-config.yaml is not valid: namespace \"Not_A",
        ),
        (
            "sandbox: maybe",
            "`sandbox` in opm-config.yaml is not valid: expected true or false",
        ),
        (
            "output: xml",
            "`output` in opm-config.yaml is not valid: \"xml\" is none of table, wide",
        ),
        (
            "verbose: -1",
            "`verbose` in opm-config.yaml is not valid: expected a small number",
        ),
        (
            "verbose: 1\nquiet: true",
            "`verbose` in opm-config.yaml is not valid: it is set together",
        ),
        (
            "features: [a]",
            "`features` in opm-config.yaml is not valid",
        ),
        (
            "features: {enable: a}",
            "`features.enable` in opm-config.yaml is not valid: expected a list",
        ),
        ("- a", "opm-config.yaml does not hold keys and values"),
        (
            "a: b: c",
            "failed to parse the configuration file opm-config.yaml: line 1, column 5: mapping",
        ),
        (
            "namespace: a\nnamespace: b",
            "opm-config.yaml: line 2, column 1: the key `namespace` occurs twice in one mapping",
        ),
    ];
    for (text, expected) in wrong {
        let ran = World::new()
            .file("opm-config.yaml", text)
            .opm("config view");
        assert_eq!(ran.code, 2, "{text}");
        assert!(ran.stderr.contains(expected), "{text}: {}", ran.stderr);
    }
}

#[test]
fn a_broken_toml_file_is_named_with_the_place() {
    let ran = World::new()
        .file("opm-config.toml", "color = 'never'\na = = 3\n")
        .opm("version");
    assert_snapshot!(ran, @r"
    exit 2
    --- stderr
    error: failed to parse the configuration file opm-config.toml: line 2, column 5: extra `=`, expected nothing
    ");
    let ran = World::new()
        .file("opm-config.toml", "quiet = true\nquiet = true\n")
        .opm("version");
    assert_snapshot!(ran, @r"
    exit 2
    --- stderr
    error: failed to parse the configuration file opm-config.toml: line 2, column 1: duplicate key
    ");
}

#[test]
fn a_variable_of_the_wrong_sort_is_named() {
    let wrong = [
        (
            "OPM_SANDBOX",
            "perhaps",
            "\"perhaps\" is neither true nor false",
        ),
        (
            "OPM_OUTPUT",
            "xml",
            "\"xml\" is none of table, wide, json, yaml",
        ),
        ("OPM_VERBOSE", "loud", "\"loud\" is no small number"),
        ("OPM_NAMESPACE", "UPPER", "only lower-case letters"),
    ];
    for (name, value, expected) in wrong {
        let ran = World::new().with(name, value).opm("config view");
        assert_eq!(ran.code, 2, "{name}");
        assert!(
            ran.stderr.contains(name) && ran.stderr.contains(expected),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_configuration_error_with_json_is_one_document() {
    let world = World::new().file("opm-config.yaml", "namespce: games\n");
    let error = world.opm("config view -o json").json()["error"].clone();
    assert_eq!(error["kind"], "config");
    assert_eq!(error["hints"][0], "did you mean `namespace`?", "{error}");
    assert_eq!(error["objects"], serde_json::json!([]));
}

#[test]
fn files_that_cannot_be_used() {
    let both = World::new()
        .file("opm-config.yaml", "")
        .file("opm-config.toml", "");
    assert_snapshot!(both.opm("config view"), @r"
    exit 2
    --- stderr
    error: there is more than one configuration file: opm-config.yaml and opm-config.toml
    hint: keep one of them, or name the one to use with --config
    ");
    let missing = World::new().opm("config view --config missing.yaml");
    assert_snapshot!(missing, @r"
    exit 2
    --- stderr
    error: failed to read the configuration file missing.yaml: no such file or directory
    ");
    let large = World::new().file("big.yaml", &"#".repeat((1 << 20) + 1));
    assert!(
        large
            .opm("config view --config big.yaml")
            .stderr
            .contains("larger than 1 MiB")
    );
    let empty = World::new()
        .file("opm-config.yaml", "")
        .file("x.json", "{\"namespace\": \"a\"}");
    assert_eq!(empty.opm("config view").code, 0);
    assert_eq!(empty.opm("config view --config x.json").code, 0);
}

/// The other usual ending of YAML, in the working directory and in the user's own.
#[test]
fn a_file_that_ends_in_yml_counts_and_is_never_one_of_two() {
    for (file, shown) in [
        ("opm-config.yml", "opm-config.yml"),
        (
            "../home/.config/opm/opm-config.yml",
            "TEMP/home/.config/opm/opm-config.yml",
        ),
    ] {
        let world = World::new().file(file, "namespace: games\n");
        let words = world.opm("config view").words();
        let expected = format!("namespace games {shown}\n");
        assert!(words.contains(&expected), "{words}");
    }
    for other in ["opm-config.yaml", "opm-config.toml"] {
        let world = World::new().file("opm-config.yml", "").file(other, "");
        let ran = world.opm("version");
        assert_eq!(ran.code, 2, "{ran}");
        for name in [other, "opm-config.yml"] {
            assert!(ran.stderr.contains(name), "{ran}");
        }
    }
}
