//! Settings: where they are found, which of them wins, and what is said about bad ones.

use insta::assert_snapshot;

use crate::runner::World;

fn namespace(world: &World, line: &str) -> (String, String) {
    let document = world.opm(line).json();
    let settings = document["settings"].as_array().unwrap();
    let found = settings
        .iter()
        .find(|setting| setting["name"] == "namespace")
        .unwrap();
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    (text("value"), text("origin"))
}

fn pair(value: &str, origin: &str) -> (String, String) {
    (value.to_owned(), origin.to_owned())
}

#[test]
fn flag_beats_environment_beats_file_beats_default() {
    let view = "config view -o json";
    let world = World::new();
    assert_eq!(namespace(&world, view), pair("", "default"));
    let world = world.file("opm-config.yaml", "namespace: from-file\n");
    assert_eq!(namespace(&world, view), pair("from-file", "file"));
    let world = world.with("OPM_NAMESPACE", "from-env");
    assert_eq!(namespace(&world, view), pair("from-env", "environment"));
    assert_eq!(
        namespace(&world, "config view -o json -n typed"),
        pair("typed", "flag")
    );
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let world = World::new()
        .with("OPM_NAMESPACE", "")
        .with("OPM_SANDBOX", "");
    assert_eq!(
        namespace(&world, "config view -o json"),
        pair("", "default")
    );
}

#[test]
fn the_working_directory_comes_before_the_users_directory() {
    let world = World::new().file(
        "../home/.config/opm/opm-config.toml",
        "namespace = 'user'\n",
    );
    assert_eq!(
        namespace(&world, "config view -o json"),
        pair("user", "file")
    );
    let world = world.file("opm-config.toml", "namespace = 'here'\n");
    assert_eq!(
        namespace(&world, "config view -o json"),
        pair("here", "file")
    );
    let world = world.file("other.yaml", "namespace: other\n");
    assert_eq!(
        namespace(&world, "config view -o json --config other.yaml"),
        pair("other", "file")
    );
    let world = world.with("OPM_CONFIG", "other.yaml");
    assert_eq!(
        namespace(&world, "config view -o json"),
        pair("other", "file")
    );
}

#[test]
fn a_switch_can_be_switched_off_again() {
    let world = World::new().file("opm-config.yaml", "quiet: true\nevents: true\n");
    let on = world.opm("config view").words();
    let off = world.opm("config view --events=false -v").words();
    assert!(on.contains("events true opm-config.yaml"), "{on}");
    assert!(on.contains("quiet true opm-config.yaml"), "{on}");
    assert!(off.contains("events false --events"), "{off}");
    assert!(off.contains("quiet false --quiet"), "{off}");
}

#[test]
fn view_shows_every_setting_with_its_origin() {
    let world = World::new()
        .file(
            "opm-config.yaml",
            "kubeconfig: kube/config\nsandbox-dir: /var/box\ncolor: never\n",
        )
        .with("OPM_CONTEXT", "staging");
    assert_snapshot!(world.opm("config view -n games"), @r"
    exit 0
    --- stdout
    SETTING                        VALUE             FROM
    kubeconfig                     kube/config       opm-config.yaml
    context                        staging           OPM_CONTEXT
    namespace                      games             --namespace
    as                             -                 default
    sandbox                        false             default
    sandbox-dir                    /var/box          opm-config.yaml
    output                         -                 default
    config                         opm-config.yaml   default
    verbose                        0                 default
    quiet                          false             default
    color                          never             opm-config.yaml
    events                         false             default
    feature change-records         true              default
    feature label-orphan-pruning   false             default
    feature sandbox                true              default
    ");
}

#[test]
fn init_writes_a_file_that_changes_nothing() {
    let world = World::new();
    assert_snapshot!(world.opm("config init"), @r"
    exit 0
    --- stderr
    wrote opm-config.yaml
    hint: `opm config view` shows what holds, and where it comes from
    ");
    assert_eq!(world.opm("config view").code, 0);
    assert_snapshot!(world.read("opm-config.yaml"), @r#"
    # Configuration of opm.
    #
    # Flags beat environment variables, and those beat this file. Each line that is commented out
    # shows an example; `opm config view` shows what holds, and where it comes from.

    # The kubeconfig file. A relative path is meant from this file.
    # kubeconfig: "kubeconfig.yaml"

    # The context of the kubeconfig.
    # context: "staging"

    # The namespace of releases.
    # namespace: "games"

    # The user to act as.
    # as: "deployer"

    # Use the cluster that is built into opm.
    # sandbox: true

    # Where the built-in cluster lives. A relative path is meant from this file.
    # sandbox-dir: "sandbox"

    # The format of answers: table, wide, json or yaml.
    # output: "json"

    # How much to say: 1 for more, 2 for everything.
    # verbose: 1

    # Say nothing but errors and warnings.
    # quiet: true

    # Whether to colour the output: auto, always or never.
    # color: "auto"

    # Write every event as a line of JSON to standard error.
    # events: true

    features:
      # Features to enable; `opm feature list` shows them all.
      # enable: ["some-feature"]

      # Features to disable.
      # disable: ["another-feature"]
    "#);
    assert_snapshot!(world.opm("config init"), @r"
    exit 2
    --- stderr
    error: opm-config.yaml exists already and was left as it is
    hint: edit it, or remove it first to start over
    ");
}

#[test]
fn init_writes_where_and_what_it_is_told() {
    let world = World::new();
    assert_eq!(world.opm("config init --format toml --user -q").code, 0);
    assert_snapshot!(world.read("../home/.config/opm/opm-config.toml"), @r#"
    # Configuration of opm.
    #
    # Flags beat environment variables, and those beat this file. Each line that is commented out
    # shows an example; `opm config view` shows what holds, and where it comes from.

    # The kubeconfig file. A relative path is meant from this file.
    # kubeconfig = "kubeconfig.yaml"

    # The context of the kubeconfig.
    # context = "staging"

    # The namespace of releases.
    # namespace = "games"

    # The user to act as.
    # as = "deployer"

    # Use the cluster that is built into opm.
    # sandbox = true

    # Where the built-in cluster lives. A relative path is meant from this file.
    # sandbox-dir = "sandbox"

    # The format of answers: table, wide, json or yaml.
    # output = "json"

    # How much to say: 1 for more, 2 for everything.
    # verbose = 1

    # Say nothing but errors and warnings.
    # quiet = true

    # Whether to colour the output: auto, always or never.
    # color = "auto"

    # Write every event as a line of JSON to standard error.
    # events = true

    [features]
    # Features to enable; `opm feature list` shows them all.
    # enable = ["some-feature"]

    # Features to disable.
    # disable = ["another-feature"]
    "#);
    assert_eq!(world.opm("config init --config deep/er/my.toml").code, 0);
    assert_eq!(world.opm("config view --config deep/er/my.toml").code, 0);
    assert_eq!(world.opm("config init --config my.txt").code, 2);
    assert_eq!(
        world.opm("config init --config my.yaml --format toml").code,
        2
    );
    assert_eq!(world.opm("config init --config my.yaml --user").code, 2);
}

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
            "opm-config.yaml: line 2, column 1: the key `namespace` stands twice in one mapping",
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
fn a_relative_path_is_meant_from_where_the_file_is() {
    let text = "kubeconfig: kube/config\nsandbox-dir: /absolute\n";
    let world = World::new().file("../home/.config/opm/opm-config.yaml", text);
    let words = world.opm("config view").words();
    assert!(
        words.contains("kubeconfig TEMP/home/.config/opm/kube/config TEMP"),
        "{words}"
    );
    assert!(words.contains("sandbox-dir /absolute "), "{words}");
}

#[test]
fn the_xdg_directories_are_honoured() {
    let world = World::new().file("../xdg/opm/opm-config.yaml", "namespace: xdg\n");
    let home = world.path("../xdg").canonicalize().unwrap();
    let world = world.with("XDG_CONFIG_HOME", home.to_str().unwrap());
    assert_eq!(
        namespace(&world, "config view -o json"),
        pair("xdg", "file")
    );
    let relative = World::new()
        .file("xdg/opm/opm-config.yaml", "namespace: xdg\n")
        .with("XDG_CONFIG_HOME", "xdg");
    assert_eq!(
        namespace(&relative, "config view -o json"),
        pair("", "default")
    );
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
    error: there are two configuration files: opm-config.yaml and opm-config.toml
    hint: keep one of them, or name the one to use with --config
    ");
    let missing = World::new().opm("config view --config missing.yaml");
    assert_snapshot!(missing, @r"
    exit 2
    --- stderr
    error: failed to read the configuration file missing.yaml: No such file or directory (os error 2)
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
