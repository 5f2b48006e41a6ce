//! The documentation of features, generated: what `opm feature docs` prints and what
//! `docs/features.md` holds.

use std::fmt::Write;

use super::{Feature, FeatureSet, Stage};

const OPENING: &str = "\
<!-- Generated from the declarations by `cargo xtask docs`. Edit those instead. -->

# Features

Parts of `opm` that can be switched on and off. `opm feature list` shows what holds for you;
[adding-a-feature.md](adding-a-feature.md) says how a feature comes and goes.

Switch them with a flag, a variable or the configuration file. A flag beats a variable, and a
variable beats the file, feature by feature:

```sh
opm --feature-enable NAME,NAME --feature-disable NAME …
OPM_FEATURE_ENABLE=NAME OPM_FEATURE_DISABLE=NAME opm …
```
```yaml
# opm-config.yaml
features:
  enable: [NAME]
  disable: [NAME]
```

Checks that keep a cluster safe are not features: nothing here switches them off.

";

/// The page about all features that a set declares. What the user chose plays no part.
pub fn page(features: &FeatureSet) -> String {
    let mut page = OPENING.to_owned();
    page.push_str("| feature | stage | default | since | removed in | owner |\n");
    page.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for feature in features.declared() {
        page.push_str(&row(feature));
    }
    for feature in features.declared() {
        page.push_str(&section(feature));
    }
    page.push_str("\n## Stages\n\n");
    for stage in Stage::ALL {
        let _ = writeln!(page, "- **{stage}**: {}", meaning(stage));
    }
    page
}

fn row(feature: &Feature) -> String {
    let name = &feature.name;
    let default = if feature.enabled { "on" } else { "off" };
    let until = match &feature.until {
        Some(until) => until.to_string(),
        None => "–".to_owned(),
    };
    format!(
        "| [`{name}`](#{name}) | {} | {default} | {} | {until} | {} |\n",
        feature.stage, feature.since, feature.owner
    )
}

fn section(feature: &Feature) -> String {
    let mut text = format!("\n## {}\n\n{}\n", feature.name, feature.description);
    if let Some(proposal) = &feature.proposal {
        let _ = writeln!(text, "\nProposal: {proposal}.");
    }
    text
}

/// What users can expect of a stage.
fn meaning(stage: Stage) -> &'static str {
    match stage {
        Stage::Alpha => {
            "an experiment. Off by default; may change or go in any version. Enabling one says so \
             on standard error."
        }
        Stage::Beta => {
            "complete and tested. Usually on by default; a change that breaks something comes \
             with a way over and a line in the changelog."
        }
        Stage::Ga => {
            "part of the product. On by default; kept until a deprecation, which is announced."
        }
        Stage::Deprecated => {
            "on its way out. Off by default, and can be enabled until the version that removes \
             it. Enabling one names that version on standard error."
        }
    }
}
