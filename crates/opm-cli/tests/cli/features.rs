//! Feature flags through the built binary: every way to choose, every pair of ways that
//! disagree, what is said about doubtful choices, and one command that a flag changes.

use insta::assert_snapshot;
use serde_json::Value;

use crate::runner::{Ran, World};

/// Off by default.
const OFF: &str = "label-orphan-pruning";
/// On by default.
const ON: &str = "change-records";

/// A place where features are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Flag,
    Variable,
    Yaml,
    Toml,
    UserYaml,
    UserToml,
}

const FILES: [Place; 4] = [Place::Yaml, Place::Toml, Place::UserYaml, Place::UserToml];

/// What is said where: `(place, enable, disable)`.
type Said<'a> = (Place, &'a str, &'a str);

/// A file that chooses, in its language.
fn file(toml: bool, enable: &str, disable: &str) -> String {
    if toml {
        format!("[features]\nenable = [{enable:?}]\ndisable = [{disable:?}]\n")
    } else {
        format!("features:\n  enable: [{enable:?}]\n  disable: [{disable:?}]\n")
    }
}

/// Runs a command line in a world where the given things are said.
fn run(said: &[Said<'_>], line: &str) -> Ran {
    let mut world = World::new();
    let mut line = line.to_owned();
    for (place, enable, disable) in said {
        let user = "../home/.config/opm/opm-config";
        world = match place {
            Place::Flag => {
                line += &format!(" --feature-enable={enable} --feature-disable={disable}");
                world
            }
            Place::Variable => world
                .with("OPM_FEATURE_ENABLE", enable)
                .with("OPM_FEATURE_DISABLE", disable),
            Place::Yaml => world.file("opm-config.yaml", &file(false, enable, disable)),
            Place::Toml => world.file("opm-config.toml", &file(true, enable, disable)),
            Place::UserYaml => world.file(&format!("{user}.yaml"), &file(false, enable, disable)),
            Place::UserToml => world.file(&format!("{user}.toml"), &file(true, enable, disable)),
        };
    }
    world.opm(&line)
}

/// Whether a feature is on.
fn is_on(said: &[Said<'_>], feature: &str) -> bool {
    let ran = run(said, "version -o json");
    assert_eq!(ran.code, 0, "{said:?}: {ran}");
    ran.json()["features"][feature].as_bool().unwrap()
}

#[test]
fn every_place_can_enable_and_disable() {
    assert!(!is_on(&[], OFF) && is_on(&[], ON));
    for place in [Place::Flag, Place::Variable].into_iter().chain(FILES) {
        assert!(is_on(&[(place, OFF, "")], OFF), "{place:?}");
        assert!(!is_on(&[(place, "", ON)], ON), "{place:?}");
    }
}

#[test]
fn the_stronger_place_wins_in_every_pair() {
    let mut pairs = vec![(Place::Flag, Place::Variable)];
    for file in FILES {
        pairs.extend([(Place::Flag, file), (Place::Variable, file)]);
    }
    for (strong, weak) in pairs {
        for feature in [ON, OFF] {
            let enabled = [(strong, feature, ""), (weak, "", feature)];
            let disabled = [(strong, "", feature), (weak, feature, "")];
            assert!(
                is_on(&enabled, feature),
                "{strong:?} over {weak:?}, {feature}"
            );
            assert!(
                !is_on(&disabled, feature),
                "{strong:?} over {weak:?}, {feature}"
            );
        }
    }
}

#[test]
fn all_three_places_at_once_in_every_combination() {
    let states = [None, Some(true), Some(false)];
    let say = |place, state: Option<bool>| match state {
        None => (place, "", ""),
        Some(true) => (place, ON, ""),
        Some(false) => (place, "", ON),
    };
    for number in 0..27 {
        let [flag, variable, file] = [number % 3, number / 3 % 3, number / 9].map(|n| states[n]);
        let said = [
            say(Place::Flag, flag),
            say(Place::Variable, variable),
            say(Place::Yaml, file),
        ];
        assert_eq!(
            is_on(&said, ON),
            flag.or(variable).or(file).unwrap_or(true),
            "{said:?}"
        );
    }
}

#[test]
fn each_feature_is_decided_on_its_own() {
    let said = [
        (Place::Flag, OFF, ""),
        (Place::Variable, "", ON),
        (Place::Yaml, "", "sandbox"),
    ];
    assert!(is_on(&said, OFF));
    assert!(!is_on(&said, ON));
    assert!(!is_on(&said, "sandbox"));
}

#[test]
fn lists_can_be_written_in_many_ways() {
    let world = World::new();
    for line in [
        format!("version -o json --feature-disable {ON},sandbox"),
        format!("version -o json --feature-disable {ON} --feature-disable sandbox"),
        format!("--feature-disable={ON} version -o json --feature-disable=sandbox"),
        format!("version -o json --feature-disable ,{ON},,sandbox,"),
    ] {
        let features = world.opm(&line).json()["features"].clone();
        assert_eq!(
            (&features[ON], &features["sandbox"]),
            (&Value::Bool(false), &Value::Bool(false))
        );
    }
    let off = World::new()
        .file("opm-config.yaml", &file(false, "", ON))
        .with("OPM_FEATURE_DISABLE", "sandbox");
    let line = format!("--feature-enable {ON} version -o json --feature-enable sandbox");
    let features = off.opm(&line).json()["features"].clone();
    assert_eq!(
        (&features[ON], &features["sandbox"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    let blanks = World::new().with("OPM_FEATURE_DISABLE", &format!(" {ON} , sandbox, "));
    let features = blanks.opm("version -o json").json()["features"].clone();
    assert_eq!(
        (&features[ON], &features["sandbox"]),
        (&Value::Bool(false), &Value::Bool(false))
    );
}

#[test]
fn both_at_one_level_is_an_error() {
    assert_snapshot!(run(&[(Place::Flag, ON, ON)], "version"), @r"
    exit 2
    --- stderr
    error: the feature `change-records` is both enabled and disabled
    hint: take it out of --feature-enable or out of --feature-disable
    ");
    assert_snapshot!(run(&[(Place::Variable, ON, ON)], "version"), @r"
    exit 2
    --- stderr
    error: the feature `change-records` is both enabled and disabled
    hint: take it out of the environment variable OPM_FEATURE_ENABLE or out of the environment variable OPM_FEATURE_DISABLE
    ");
    assert_snapshot!(run(&[(Place::Toml, ON, ON)], "version"), @r"
    exit 2
    --- stderr
    error: the feature `change-records` is both enabled and disabled
    hint: take it out of the key `features.enable` in opm-config.toml or out of the key `features.disable` in opm-config.toml
    ");
    let json = run(&[(Place::Yaml, ON, ON)], "version -o json");
    assert_eq!(
        (json.code, &json.json()["error"]["kind"]),
        (2, &Value::from("config"))
    );
}

/// ZEP-0035: a feature that is set twice is an error, wherever it is set.
#[test]
fn twice_at_one_level_is_an_error() {
    let line = "version --feature-enable change-records,change-records";
    assert_snapshot!(World::new().opm(line), @r"
    exit 2
    --- stderr
    error: the feature `change-records` stands twice in --feature-enable
    hint: name it once
    ");
    let twice = format!("{ON},{ON}");
    let elsewhere = World::new().with("OPM_FEATURE_DISABLE", &twice);
    assert_snapshot!(elsewhere.opm("version"), @r"
    exit 2
    --- stderr
    error: the feature `change-records` stands twice in the environment variable OPM_FEATURE_DISABLE
    hint: name it once
    ");
    for line in [
        format!("--feature-enable {ON} version --feature-enable={ON}"),
        format!("version --feature-disable {ON} --feature-disable {ON}"),
    ] {
        assert_eq!(World::new().opm(&line).code, 2, "{line}");
    }
    let text = format!("features: {{enable: [{ON}, {ON}]}}\n");
    assert_eq!(
        World::new()
            .file("opm-config.yaml", &text)
            .opm("version")
            .code,
        2
    );
    let two = World::new().with("OPM_FEATURE_ENABLE", ON);
    assert_eq!(two.opm(&format!("version --feature-enable {ON}")).code, 0);
}

#[test]
fn an_unknown_name_is_an_error_on_the_command_line_and_a_warning_elsewhere() {
    assert_snapshot!(run(&[(Place::Flag, "change-record", "")], "version"), @r"
    exit 2
    --- stderr
    error: --feature-enable names an unknown feature `change-record`
    hint: did you mean `change-records`?
    ");
    assert_snapshot!(run(&[(Place::Flag, "", "zzz")], "version"), @r"
    exit 2
    --- stderr
    error: --feature-disable names an unknown feature `zzz`
    hint: `opm feature list` shows the features of this version
    ");
    assert_snapshot!(run(&[(Place::Variable, "", "sandboxes")], "version"), @r"
    exit 0
    --- stdout
    opm 0.1.0
    --- stderr
    warning: the environment variable OPM_FEATURE_DISABLE names an unknown feature `sandboxes`, which is ignored; did you mean `sandbox`?
    ");
    assert_snapshot!(run(&[(Place::Yaml, "gone-since", "")], "version"), @r"
    exit 0
    --- stdout
    opm 0.1.0
    --- stderr
    warning: the key `features.enable` in opm-config.yaml names an unknown feature `gone-since`, which is ignored; `opm feature list` shows the features of this version
    ");
    for place in [Place::Variable].into_iter().chain(FILES) {
        let ran = run(&[(place, "gone-since", ON)], "version -o json");
        assert_eq!(ran.code, 0, "{place:?}");
        assert_eq!(ran.json()["features"][ON], false, "the others still count");
    }
}

#[test]
fn an_alpha_feature_gives_one_line_also_when_quiet() {
    assert_snapshot!(run(&[(Place::Flag, OFF, ""), (Place::Yaml, OFF, "")], "version -q"), @r"
    exit 0
    --- stdout
    opm 0.1.0
    --- stderr
    warning: the feature `label-orphan-pruning` is alpha: it may change or go in any version
    ");
    assert_eq!(run(&[(Place::Flag, "", OFF)], "version").stderr, "");
}

#[test]
fn list_shows_what_holds() {
    let said = [(Place::Variable, OFF, "sandbox")];
    assert_snapshot!(run(&said, "feature list"), @r"
    exit 0
    --- stdout
    NAME                   STAGE   ENABLED   DEFAULT   USER
    change-records         beta    true      true      -
    label-orphan-pruning   alpha   true      false     true
    sandbox                beta    false     true      false
    --- stderr
    warning: the feature `label-orphan-pruning` is alpha: it may change or go in any version
    ");
    assert_snapshot!(run(&[], "feature list -o wide").stdout, @r"
    NAME                   STAGE   ENABLED   DEFAULT   USER   SINCE   UNTIL   OWNER             PROPOSAL                           SUMMARY
    change-records         beta    true      true      -      0.1.0   -       opm maintainers   package and component state        Keeps the rendered manifests of each change, compressed, in Secrets beside the inventory, so that a rollback needs neither the module's source nor a registry.
    label-orphan-pruning   alpha   false     false     -      0.1.0   -       opm maintainers   RFC-0001, Deferred Work, Layer 2   After an apply, looks for objects that carry the release's labels but are in no record of it, and prunes them.
    sandbox                beta    true      true      -      0.1.0   -       opm maintainers   -                                  Offers a Kubernetes API inside the binary, to try a module with no cluster at hand.
    ");
}

#[test]
fn list_as_json_has_the_fields_of_the_contract() {
    let document = run(&[(Place::Yaml, "", "sandbox")], "feature list -o json").json();
    let features = document["features"].as_array().unwrap();
    let fields = [
        "default",
        "description",
        "enabled",
        "name",
        "owner",
        "proposal",
        "since",
        "stage",
        "until",
        "user",
    ];
    for feature in features {
        let found: Vec<&str> = feature
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(found, fields);
    }
    let sandbox = features
        .iter()
        .find(|feature| feature["name"] == "sandbox")
        .unwrap();
    assert_eq!(sandbox["default"], true);
    assert_eq!(sandbox["user"], false);
    assert_eq!(sandbox["enabled"], false);
    let other = features
        .iter()
        .find(|feature| feature["name"] == ON)
        .unwrap();
    assert_eq!(other["user"], Value::Null);
}

#[test]
fn docs_are_the_page_in_the_repository() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/features.md");
    let page = std::fs::read_to_string(page).unwrap();
    // What a user chooses does not change what is documented.
    assert_eq!(run(&[(Place::Flag, "", ON)], "feature docs").stdout, page);
}

#[test]
fn help_ends_with_the_features_as_they_hold() {
    let tail = |said: &[Said<'_>], line: &str| {
        let help = run(said, line).stdout;
        help.split("\nFeatures:\n")
            .nth(1)
            .map(|tail| tail.split("\n\n").next().unwrap().to_owned())
    };
    assert_snapshot!(tail(&[], "--help").unwrap(), @r"
    change-records           beta         on
    label-orphan-pruning     alpha        off
    sandbox                  beta         on
    ");
    let said = [
        (Place::Flag, OFF, ""),
        (Place::Variable, "", ON),
        (Place::Yaml, "", "sandbox"),
    ];
    assert_snapshot!(tail(&said, "--help").unwrap(), @r"
    change-records           beta         off
    label-orphan-pruning     alpha        on
    sandbox                  beta         off
    ");
    for command in ["", "mod ", "mod apply ", "mod rollback ", "sandbox serve "] {
        for help in ["-h", "--help"] {
            let line = format!("{command}{help}");
            assert_eq!(tail(&said, &line), tail(&said, "--help"), "{line}");
        }
    }
    // Help is given whatever else is wrong.
    assert!(tail(&[(Place::Flag, "no-such", "")], "--help").is_some());
    assert!(tail(&[(Place::Yaml, ON, ON)], "--help").is_some());
}

#[test]
fn view_tells_who_chose() {
    let said = [
        (Place::Flag, OFF, ""),
        (Place::Variable, "", ON),
        (Place::Yaml, "", "sandbox"),
    ];
    let words = run(&said, "config view").words();
    let features: Vec<&str> = words
        .lines()
        .filter(|line| line.starts_with("feature "))
        .collect();
    assert_snapshot!(features.join("\n"), @r"
    feature change-records false OPM_FEATURE_DISABLE
    feature label-orphan-pruning true --feature-enable
    feature sandbox false opm-config.yaml
    ");
}

/// The same command, before and after a flag changes what it does.
#[test]
fn a_disabled_sandbox_is_refused() {
    let before = run(&[], "version --sandbox");
    assert_eq!((before.code, before.stderr.as_str()), (0, ""));
    assert_snapshot!(run(&[(Place::Flag, "", "sandbox")], "version --sandbox"), @r"
    exit 2
    --- stderr
    error: --sandbox needs the feature `sandbox`, which is disabled by --feature-disable
    hint: leave out one of the two
    ");
    assert_snapshot!(run(&[(Place::Variable, "", "sandbox")], "version --sandbox"), @r"
    exit 2
    --- stderr
    error: --sandbox needs the feature `sandbox`, which is disabled by the environment variable OPM_FEATURE_DISABLE
    hint: enable it with --feature-enable sandbox
    ");
    assert_snapshot!(run(&[(Place::Yaml, "", "sandbox")], "version --sandbox -o json").stdout, @r#"
    {
      "error": {
        "hints": [
          "enable it with --feature-enable sandbox"
        ],
        "kind": "refused",
        "message": "--sandbox needs the feature `sandbox`, which is disabled by the key `features.disable` in opm-config.yaml",
        "objects": []
      }
    }
    "#);
    let again = run(
        &[(Place::Flag, "sandbox", ""), (Place::Yaml, "", "sandbox")],
        "version --sandbox",
    );
    assert_eq!(again, before);
}

#[test]
fn settings_that_would_be_refused_can_still_be_looked_at() {
    let text = "sandbox: true\nfeatures: {disable: [sandbox]}\n";
    let world = World::new().file("opm-config.yaml", text);
    for line in ["config view", "feature list", "version", "completion bash"] {
        assert_eq!(world.opm(line).code, 0, "{line}");
    }
}
