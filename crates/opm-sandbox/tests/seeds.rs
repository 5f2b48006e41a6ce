//! A short deterministic run of the fuzz target for patches.
#![allow(clippy::expect_used, clippy::panic, reason = "tests fail loudly")]

#[path = "../../../fuzz/entries/patch.rs"]
mod patch;
#[path = "../../../fuzz/entries/seeded.rs"]
mod seeded;

#[test]
fn damaged_patches_are_refused() {
    seeded::run("patch", 100, patch::run);
}
