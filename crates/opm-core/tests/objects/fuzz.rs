//! A short deterministic run of the fuzz target for objects.

#[path = "../../../../fuzz/entries/manifest.rs"]
mod manifest;
#[path = "../../../../fuzz/entries/seeded.rs"]
mod seeded;

#[test]
fn the_object_parser_survives_damaged_objects() {
    seeded::run("manifest", 20_000, manifest::run);
}
