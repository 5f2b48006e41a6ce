//! Settings: where they are found, which of them wins, and how a first file is written.

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
    assert_eq!(world.opm("config trust").code, 0);
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
    log-entries                    50                default
    retired-managers               -                 default
    preflight                      false             default
    review                         destructive       default
    render-cache                   true              default
    discovery-cache                true              default
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

    # How many deployments a release's log remembers.
    # log-entries: 50

    # The tools that opm replaces: their managed fields are taken over with an object.
    # retired-managers: ["helm", "kubectl-client-side-apply"]

    # Let the server pretend to take everything before anything is sent.
    # preflight: true

    # When a plan is shown and asked about: always, destructive or never.
    # review: "always"

    # Keep renderings of CUE modules in the user's cache.
    # render-cache: false

    # Keep what clusters serve in the user's cache.
    # discovery-cache: false

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

    # How many deployments a release's log remembers.
    # log-entries = 50

    # The tools that opm replaces: their managed fields are taken over with an object.
    # retired-managers = ["helm", "kubectl-client-side-apply"]

    # Let the server pretend to take everything before anything is sent.
    # preflight = true

    # When a plan is shown and asked about: always, destructive or never.
    # review = "always"

    # Keep renderings of CUE modules in the user's cache.
    # render-cache = false

    # Keep what clusters serve in the user's cache.
    # discovery-cache = false

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
fn the_page_in_docs_names_every_setting() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    let document = World::new().opm("config view -o json").json();
    for setting in document["settings"].as_array().unwrap() {
        let text = |name: &str| setting[name].as_str().unwrap_or("–").to_owned();
        let key = match text("key").as_str() {
            "–" => "–".to_owned(),
            key => format!("`{key}`"),
        };
        let row = format!("`--{}` | `{}` | {key} |", text("name"), text("variable"));
        assert!(
            page.contains(&row),
            "docs/configuration.md has no row with {row}"
        );
    }
    for name in ["enable", "disable"] {
        let variable = format!("OPM_FEATURE_{}", name.to_uppercase());
        let row = format!("`--feature-{name}` | `{variable}` | `features.{name}` |");
        assert!(
            page.contains(&row),
            "docs/configuration.md has no row with {row}"
        );
    }
}
