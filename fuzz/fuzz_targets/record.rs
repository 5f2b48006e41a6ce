//! Feeds the codec of stored records with whatever comes.
#![no_main]

#[path = "../entries/record.rs"]
mod record;

libfuzzer_sys::fuzz_target!(|data: &[u8]| record::run(data));
