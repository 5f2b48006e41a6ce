//! The module that the controller is installed by: it comes with the program.

use std::collections::BTreeMap;

/// What the controller's own release is called.
pub const NAME: &str = "opm-controller";

const FILES: [(&str, &str); 5] = [
    ("module.yaml", include_str!("../deploy/module.yaml")),
    ("resource.yaml", include_str!("../deploy/resource.yaml")),
    ("rights.yaml", include_str!("../deploy/rights.yaml")),
    ("deployment.yaml", include_str!("../deploy/deployment.yaml")),
    ("policies.yaml", include_str!("../deploy/policies.yaml")),
];

/// The files of the module, by name.
pub fn files() -> BTreeMap<String, String> {
    let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    FILES.into_iter().map(owned).collect()
}

#[cfg(test)]
mod tests {
    use opm_render::yaml;
    use serde_json::Value;

    use super::*;
    use crate::resource::definition;

    #[test]
    fn the_module_has_the_version_of_the_program_and_every_file_that_it_names() {
        let files = files();
        let module = &files["module.yaml"];
        for wanted in ["  version: ", "  image: opm-controller:"] {
            let line = format!("{wanted}{}\n", env!("CARGO_PKG_VERSION"));
            assert!(module.contains(&line), "{line}");
        }
        for name in files.keys().filter(|name| *name != "module.yaml") {
            assert!(module.contains(name.as_str()), "{name}");
        }
    }

    /// `OPM_WRITE_RESOURCE=1` writes it anew.
    #[test]
    fn the_definition_is_that_of_the_program() {
        let made = serde_json::to_value(definition()).unwrap();
        let text = yaml::write([&made]).unwrap();
        if std::env::var_os("OPM_WRITE_RESOURCE").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/resource.yaml");
            std::fs::write(file, &text).unwrap();
            return;
        }
        let committed: Value = yaml::document(&files()["resource.yaml"]).unwrap();
        assert_eq!(committed, made, "OPM_WRITE_RESOURCE=1 writes it anew");
    }
    /// What can be told of the image without building it.
    #[test]
    fn the_image_has_a_binary_and_nobody_to_run_anything_else() {
        let text = include_str!("../../../packaging/Dockerfile.controller");
        let steps: Vec<(&str, &str)> = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| line.split_once(' ').unwrap())
            .collect();
        let of = |step: &str| -> Vec<&str> {
            let own = steps.iter().filter(|(name, _)| *name == step);
            own.map(|(_, rest)| *rest).collect()
        };
        assert_eq!(of("FROM"), ["${BASE}"]);
        assert!(
            of("ARG").contains(&"BASE=scratch"),
            "nothing that could change"
        );
        assert_eq!(
            of("USER"),
            ["65532:65532"],
            "a number, which Kubernetes can tell from root"
        );
        let deployment = &files()["deployment.yaml"];
        assert!(deployment.contains("runAsUser: 65532"));
        assert_eq!(of("COPY"), ["${BINARY} /usr/local/bin/opm"]);
        // Without a shell: as lists of words, and nothing is run while it is built.
        for step in ["ENTRYPOINT", "CMD"] {
            for words in of(step) {
                let words: Vec<String> = serde_json::from_str(words).unwrap();
                assert!(!words.is_empty());
            }
        }
        let known = ["ARG", "FROM", "COPY", "USER", "ENTRYPOINT", "CMD"];
        assert!(
            steps.iter().all(|(name, _)| known.contains(name)),
            "{steps:?}"
        );
    }
}
