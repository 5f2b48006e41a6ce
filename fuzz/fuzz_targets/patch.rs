//! Feeds the sandbox's patches with whatever comes.
#![no_main]

#[path = "../entries/patch.rs"]
mod patch;

libfuzzer_sys::fuzz_target!(|data: &[u8]| patch::run(data));
