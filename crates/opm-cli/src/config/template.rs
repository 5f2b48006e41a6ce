//! The first configuration file: every key, explained and commented out, so that it changes
//! nothing until somebody edits it.

use super::ConfigLanguage;
use crate::settings::Key;

const OPENING: &str = "\
# Configuration of opm.
#
# Flags beat environment variables, and those beat this file. Each line that is commented out
# shows an example; `opm config view` shows what holds, and where it comes from.
";

/// The text of a new configuration file.
pub(crate) fn text(language: ConfigLanguage) -> String {
    let plain = Key::ALL.into_iter().filter(|key| !is_nested(*key));
    let mut text = OPENING.to_owned();
    for key in plain.filter(|key| key.config().is_some()) {
        text.push_str(&entry(language, key, ""));
    }
    // In TOML a table takes all keys below it, so the nested ones come last.
    let nested = Key::ALL.into_iter().filter(|key| is_nested(*key));
    match language {
        ConfigLanguage::Yaml => text.push_str("\nfeatures:\n"),
        ConfigLanguage::Toml => text.push_str("\n[features]\n"),
    }
    let indent = if language == ConfigLanguage::Yaml {
        "  "
    } else {
        ""
    };
    for (number, key) in nested.enumerate() {
        let entry = entry(language, key, indent);
        text.push_str(if number == 0 {
            entry.trim_start_matches('\n')
        } else {
            &entry
        });
    }
    text
}

fn is_nested(key: Key) -> bool {
    key.config().is_some_and(|path| path.contains('.'))
}

fn entry(language: ConfigLanguage, key: Key, indent: &str) -> String {
    let path = key.config().unwrap_or_default();
    let name = path.rsplit('.').next().unwrap_or(path);
    let (explanation, example) = explained(key);
    let line = match language {
        ConfigLanguage::Yaml => format!("{name}: {example}"),
        ConfigLanguage::Toml => format!("{name} = {example}"),
    };
    format!("\n{indent}# {explanation}\n{indent}# {line}\n")
}

/// What a key is for, and an example that reads the same in YAML and TOML.
fn explained(key: Key) -> (&'static str, &'static str) {
    match key {
        Key::Kubeconfig => (
            "The kubeconfig file. A relative path is meant from this file.",
            "\"kubeconfig.yaml\"",
        ),
        Key::Context => ("The context of the kubeconfig.", "\"staging\""),
        Key::Namespace => ("The namespace of releases.", "\"games\""),
        Key::As => ("The user to act as.", "\"deployer\""),
        Key::Sandbox => ("Use the cluster that is built into opm.", "true"),
        Key::SandboxDir => (
            "Where the built-in cluster lives. A relative path is meant from this file.",
            "\"sandbox\"",
        ),
        Key::Output => (
            "The format of answers: table, wide, json or yaml.",
            "\"json\"",
        ),
        Key::Config => ("The configuration file.", "\"opm-config.yaml\""),
        Key::Verbose => ("How much to say: 1 for more, 2 for everything.", "1"),
        Key::Quiet => ("Say nothing but errors and warnings.", "true"),
        Key::Color => (
            "Whether to colour the output: auto, always or never.",
            "\"auto\"",
        ),
        Key::Events => (
            "Write every event as a line of JSON to standard error.",
            "true",
        ),
        Key::LogEntries => ("How many deployments a release's log remembers.", "50"),
        Key::RetiredManagers => (
            "The tools that opm replaces: their managed fields are taken over with an object.",
            "[\"helm\", \"kubectl-client-side-apply\"]",
        ),
        Key::Preflight => (
            "Let the server pretend to take everything before anything is sent.",
            "true",
        ),
        Key::Review => (
            "When a plan is shown and asked about: always, destructive or never.",
            "\"always\"",
        ),
        Key::RenderCache => (
            "Keep renderings of CUE modules in the user's cache.",
            "false",
        ),
        Key::DiscoveryCache => ("Keep what clusters serve in the user's cache.", "false"),
        Key::FeatureEnable => (
            "Features to enable; `opm feature list` shows them all.",
            "[\"some-feature\"]",
        ),
        Key::FeatureDisable => ("Features to disable.", "[\"another-feature\"]"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::ValueEnum;

    use super::{ConfigLanguage, text};
    use crate::config::{decode, parse};
    use crate::settings::Key;

    /// Takes the comment sign off every line that shows an example.
    fn uncommented(text: &str) -> String {
        let is_example = |line: &str| {
            let bare = line.trim_start().trim_start_matches("# ");
            let name = bare.split([':', ' ']).next().unwrap_or_default();
            Key::ALL
                .iter()
                .filter_map(|key| key.config())
                .any(|path| path.rsplit('.').next() == Some(name) && bare.len() > name.len())
        };
        let lines = text.lines().map(|line| {
            if is_example(line) {
                line.replacen("# ", "", 1)
            } else {
                line.to_owned()
            }
        });
        lines.map(|line| line + "\n").collect()
    }

    #[test]
    fn a_new_file_says_nothing_and_every_example_is_valid() {
        for language in ConfigLanguage::value_variants() {
            let path = Path::new(language.file_name());
            let fresh = parse(path, &text(*language)).unwrap().unwrap();
            let layer = decode::layer(path, &fresh).unwrap();
            assert!(layer.namespace.is_none() && layer.feature_enable.is_empty());

            // Verbose and quiet exclude each other; everything else can be set at once.
            let all = uncommented(&text(*language)).replace("verbose", "# verbose");
            let layer = decode::layer(path, &parse(path, &all).unwrap().unwrap()).unwrap();
            assert_eq!(layer.namespace.unwrap().as_str(), "games");
            assert_eq!(layer.sandbox, Some(true));
            assert_eq!(layer.feature_enable, ["some-feature"]);
            assert_eq!(layer.feature_disable, ["another-feature"]);
        }
    }
}
