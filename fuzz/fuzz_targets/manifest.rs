//! Feeds the object parser, and all that takes an object apart, with whatever comes.
#![no_main]

#[path = "../entries/manifest.rs"]
mod manifest;

libfuzzer_sys::fuzz_target!(|data: &[u8]| manifest::run(data));
