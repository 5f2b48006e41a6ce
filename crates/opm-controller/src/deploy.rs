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

    /// What can be told of the image without building it: every variant is the binary, nobody in
    /// particular, and at most the programs that render.
    #[test]
    fn the_image_has_a_binary_and_nobody_to_run_anything_else() {
        let text = include_str!("../../../packaging/Dockerfile.controller");
        let text = text.replace(" \\\n    ", " ");
        let lines = text.lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let steps: Vec<(&str, &str)> = lines.map(|line| line.split_once(' ').unwrap()).collect();
        let stages = steps.chunk_by(|_, next| next.0 != "FROM");
        let stages: BTreeMap<&str, &[(&str, &str)]> = stages
            .map(|stage| (stage[0].1.rsplit_once(" AS ").unwrap().1, stage))
            .collect();
        assert_eq!(stages["base"][0].1, "scratch AS base", "nothing to run");
        let from_base = [
            ("opm", "base AS opm", vec![]),
            ("cue", "base AS cue", vec!["cue"]),
            ("helm", "base AS helm", vec!["helm"]),
            ("all", "cue AS all", vec!["helm"]),
        ];
        for (stage, from, programs) in from_base {
            let copied = programs.iter();
            let copied =
                copied.map(|one| format!("--from=programs /programs/{one} /usr/local/bin/{one}"));
            let copied: Vec<String> = copied.collect();
            let mut expected = vec![("FROM", from)];
            expected.extend(copied.iter().map(|step| ("COPY", step.as_str())));
            assert_eq!(stages[stage], expected);
        }
        let last = steps.iter().rfind(|(step, _)| *step == "FROM").unwrap();
        assert_eq!(last.1, "base AS opm", "built unless another is named");
        let of = |step: &str| -> Vec<&str> {
            let own = stages["base"].iter().filter(|(name, _)| *name == step);
            own.map(|(_, rest)| *rest).collect()
        };
        assert_eq!(
            of("USER"),
            ["65532:65532"],
            "Kubernetes can tell a number from root"
        );
        assert!(files()["deployment.yaml"].contains("runAsUser: 65532"));
        // Without a shell: as lists of words, and nothing is run in it while it is built.
        for step in ["ENTRYPOINT", "CMD"] {
            for words in of(step) {
                let words: Vec<String> = serde_json::from_str(words).unwrap();
                assert!(!words.is_empty());
            }
        }
        assert_eq!(of("RUN"), [""; 0]);
    }
}
