//! Short deterministic runs of the fuzz targets for objects.

#[path = "../../../../fuzz/entries/managed_fields.rs"]
mod managed_fields;
#[path = "../../../../fuzz/entries/manifest.rs"]
mod manifest;
#[path = "../../../../fuzz/entries/seeded.rs"]
mod seeded;

#[test]
fn the_object_parser_survives_damaged_objects() {
    seeded::run("manifest", 20_000, manifest::run);
}

#[test]
fn who_owns_what_survives_damaged_managed_fields() {
    seeded::run("managed_fields", 5_000, managed_fields::run);
}
