//! Feeds the reader of compressed parts of records with whatever comes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| opm_engine::fuzzing::payload(data));
