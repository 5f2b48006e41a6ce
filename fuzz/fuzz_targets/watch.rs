//! Feeds the reader of watches with whatever comes.
#![no_main]

#[path = "../entries/watch.rs"]
mod watch;

libfuzzer_sys::fuzz_target!(|data: &[u8]| watch::run(data));
