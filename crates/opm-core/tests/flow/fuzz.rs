//! A short deterministic run of the fuzz target for stored records.

#[path = "../../../../fuzz/entries/record.rs"]
mod record;
#[path = "../../../../fuzz/entries/seeded.rs"]
mod seeded;

#[test]
fn the_codec_survives_damaged_records() {
    seeded::run("record", 4_000, record::run);
}
