//! Feeds the reader of kubeconfigs with whatever comes.
#![no_main]

#[path = "../entries/kubeconfig.rs"]
mod kubeconfig;

libfuzzer_sys::fuzz_target!(|data: &[u8]| kubeconfig::run(data));
