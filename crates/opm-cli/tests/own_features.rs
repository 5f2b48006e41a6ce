//! `opm` with features that exist for this test only, one in each stage: what the shipped set
//! does not show today. This program is both: started by cargo it is the test, and started by
//! itself it is `opm`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails loudly and reports by itself"
)]

use std::process::{Command, ExitCode, Output};

use opm_cli::run_with;
use opm_core::feature::{Defaults, Feature, FeatureError, FeatureName, FeatureVersion, Stage};

const AS_OPM: &str = "--as-opm";

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

fn declared() -> Result<Defaults, FeatureError> {
    let removal = "v9.0.0".parse::<FeatureVersion>()?;
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
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == AS_OPM)
    {
        let typed = program.into_iter().chain(arguments.skip(1));
        return run_with(typed, declared().unwrap());
    }
    using_what_may_go_gives_one_line();
    the_same_command_before_and_after();
    every_stage_is_listed_and_documented();
    the_shipped_features_are_unknown_here();
    println!("4 checks of features in every stage passed");
    ExitCode::SUCCESS
}

fn opm(line: &str) -> (Option<i32>, String, String) {
    let work = tempfile::TempDir::new().unwrap();
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(std::env::current_exe().unwrap())
        .arg(AS_OPM)
        .args(line.split_whitespace())
        .env_clear()
        .env("HOME", work.path())
        .current_dir(work.path())
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
