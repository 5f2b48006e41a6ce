//! `opm` with other features than it ships: some that exist for this test only, one in each
//! stage, and the shipped ones as they will be when they are ga, or deprecated. This program is
//! both: started by cargo it is the test, and started by itself it is `opm`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails loudly and reports by itself"
)]

use std::path::Path;
use std::process::{Command, ExitCode, Output};

use opm_cli::run_with;
use opm_core::feature::{Defaults, Feature, FeatureError, FeatureName, FeatureVersion, Stage};
use serde_json::Value;

/// Own features, one in each stage.
const EACH_STAGE: &str = "--as-opm-in-each-stage";
/// What ships, with `change-records` ga.
const GRADUATED: &str = "--as-opm-graduated";
/// What ships, with `change-records` deprecated.
const DEPRECATED: &str = "--as-opm-deprecated";

fn feature(name: &str, stage: Stage, until: Option<FeatureVersion>) -> Feature {
    Feature {
        name: FeatureName::new(name).unwrap(),
        description: format!("Does {name}."),
        enabled: matches!(stage, Stage::Beta | Stage::Ga),
        since: FeatureVersion::new(0, 1, 0),
        until,
        stage,
        owner: "the tests".to_owned(),
        proposal: None,
    }
}

fn declared(build: &str) -> Option<Result<Defaults, FeatureError>> {
    let removal = "v9.0.0".parse::<FeatureVersion>().unwrap();
    Some(match build {
        EACH_STAGE => each_stage(removal),
        GRADUATED => shipped_with(feature("change-records", Stage::Ga, None)),
        DEPRECATED => shipped_with(feature("change-records", Stage::Deprecated, Some(removal))),
        _ => return None,
    })
}

/// What ships, with one feature declared otherwise.
fn shipped_with(changed: Feature) -> Result<Defaults, FeatureError> {
    let mut features = Defaults::shipped().to_map();
    features.insert(changed.name.clone(), changed);
    Defaults::new(features.into_values())
}

fn each_stage(removal: FeatureVersion) -> Result<Defaults, FeatureError> {
    Defaults::new([
        feature("young-idea", Stage::Alpha, None),
        feature("in-trial", Stage::Beta, None),
        feature("settled", Stage::Ga, None),
        feature("old-habit", Stage::Deprecated, Some(removal)),
    ])
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = arguments.next();
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if let Some(defaults) = declared(&first.to_string_lossy()) {
        let typed = program.into_iter().chain(arguments.skip(1));
        return run_with(typed, defaults.unwrap());
    }
    using_what_may_go_gives_one_line();
    the_same_command_before_and_after();
    every_stage_is_listed_and_documented();
    the_shipped_features_are_unknown_here();
    a_feature_that_goes_ga_is_on_and_quiet();
    a_feature_that_is_deprecated_is_off_and_says_when_it_goes();
    println!("6 checks of features in every stage passed");
    ExitCode::SUCCESS
}

fn opm(line: &str) -> (Option<i32>, String, String) {
    let work = tempfile::TempDir::new().unwrap();
    opm_in(work.path(), EACH_STAGE, line)
}

fn opm_in(work: &Path, build: &str, line: &str) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(std::env::current_exe().unwrap())
        .arg(build)
        .args(line.split_whitespace())
        .env_clear()
        .env("HOME", work)
        .current_dir(work)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn using_what_may_go_gives_one_line() {
    let young = "warning: the feature `young-idea` is alpha: it may change or go in any version\n";
    let old = "warning: the feature `old-habit` is deprecated and will be removed in 9.0.0\n";
    let cases = [
        ("version", String::new()),
        ("version --feature-enable young-idea", young.to_owned()),
        ("version --feature-enable old-habit", old.to_owned()),
        (
            "version --feature-enable young-idea,old-habit,settled",
            format!("{old}{young}"),
        ),
        ("version --feature-enable in-trial,settled", String::new()),
        (
            "version --feature-disable young-idea,old-habit",
            String::new(),
        ),
    ];
    for (line, expected) in cases {
        let (code, _, stderr) = opm(line);
        assert_eq!((code, stderr), (Some(0), expected), "{line}");
    }
}

fn the_same_command_before_and_after() {
    let (_, before, _) = opm("version -o wide");
    let (_, after, _) = opm("version -o wide --feature-enable old-habit --feature-disable settled");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        before,
        format!("opm {version}\nfeatures: in-trial, settled\n")
    );
    assert_eq!(
        after,
        format!("opm {version}\nfeatures: in-trial, old-habit\n")
    );
}

fn every_stage_is_listed_and_documented() {
    let (_, list, _) = opm("feature list -o wide");
    let (_, docs, _) = opm("feature docs");
    let (_, help, _) = opm("--help");
    let until = list
        .lines()
        .find(|line| line.starts_with("old-habit"))
        .unwrap();
    assert!(
        until.contains("deprecated") && until.contains("9.0.0"),
        "{list}"
    );
    for (name, stage) in [
        ("young-idea", "alpha"),
        ("in-trial", "beta"),
        ("settled", "ga"),
        ("old-habit", "deprecated"),
    ] {
        assert!(
            docs.contains(&format!("| [`{name}`](#{name}) | {stage} |")),
            "{docs}"
        );
        assert!(help.contains(name), "{help}");
    }
}

fn the_shipped_features_are_unknown_here() {
    let (code, _, stderr) = opm("version --feature-enable sandbox");
    assert_eq!(code, Some(2));
    assert!(stderr.contains("unknown feature `sandbox`"), "{stderr}");
}

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\ncomponents:\n  - {name: app, manifests: [app.yaml]}\n";

/// Applies two changes in a sandbox, takes the module away, and goes back to the first one: exit
/// code, and what all of it said about features. Only kept manifests make that possible.
fn applied_and_rolled_back(build: &str, flags: &str) -> (Option<i32>, Vec<String>, Vec<Value>) {
    let work = tempfile::TempDir::new().unwrap();
    let (mut said, mut recorded) = (Vec::new(), Vec::new());
    let mut run = |line: &str| {
        let line = format!("{line} {flags} --sandbox --sandbox-dir box -o json");
        let (code, stdout, stderr) = opm_in(work.path(), build, &line);
        let warnings = stderr.lines().filter(|line| line.contains("feature"));
        said.extend(warnings.map(str::to_owned));
        (code, stdout)
    };
    let module = work.path().join("web");
    std::fs::create_dir(&module).unwrap();
    std::fs::write(module.join("module.yaml"), MODULE).unwrap();
    for text in ["one", "two"] {
        let object = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{text: {text}}}\n"
        );
        std::fs::write(module.join("app.yaml"), object).unwrap();
        let (_, built) = run("mod build ./web");
        let built: Value = serde_json::from_str(&built).unwrap();
        recorded.push(built["features"]["change-records"].clone());
        let (code, stdout) = run("mod apply ./web");
        assert_eq!(code, Some(0), "{stdout}");
    }
    std::fs::remove_dir_all(&module).unwrap();
    let (code, _) = run("mod rollback web");
    said.sort();
    said.dedup();
    (code, said, recorded)
}

fn a_feature_that_goes_ga_is_on_and_quiet() {
    let on = (Some(0), Vec::new(), vec![Value::Bool(true); 2]);
    assert_eq!(applied_and_rolled_back(GRADUATED, ""), on);
    let named = applied_and_rolled_back(GRADUATED, "--feature-enable change-records");
    assert_eq!(named, on);
    // Until its switch goes, it can still be switched off.
    let off = applied_and_rolled_back(GRADUATED, "--feature-disable change-records");
    assert_eq!(off, (Some(2), Vec::new(), vec![Value::Bool(false); 2]));
}

fn a_feature_that_is_deprecated_is_off_and_says_when_it_goes() {
    let off = applied_and_rolled_back(DEPRECATED, "");
    assert_eq!(off, (Some(2), Vec::new(), vec![Value::Bool(false); 2]));
    let warning =
        "warning: the feature `change-records` is deprecated and will be removed in 9.0.0";
    let on = applied_and_rolled_back(DEPRECATED, "--feature-enable change-records");
    let expected = (
        Some(0),
        vec![warning.to_owned()],
        vec![Value::Bool(true); 2],
    );
    assert_eq!(on, expected);
}
