//! A short deterministic run of the fuzz target for YAML modules.

#[path = "../../../../fuzz/entries/seeded.rs"]
mod seeded;
#[path = "../../../../fuzz/entries/yaml_module.rs"]
mod yaml_module;

#[test]
fn damaged_modules_are_refused() {
    seeded::run("yaml_module", 1_000, yaml_module::run);
}
