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
}
