//! Short deterministic runs of the fuzz targets for what this crate reads.
#![allow(clippy::expect_used, clippy::panic, reason = "tests fail loudly")]

#[path = "../../../fuzz/entries/kubeconfig.rs"]
mod kubeconfig;
#[path = "../../../fuzz/entries/seeded.rs"]
mod seeded;
#[path = "../../../fuzz/entries/watch.rs"]
mod watch;

#[test]
fn damaged_kubeconfigs_are_refused() {
    seeded::run("kubeconfig", 2_000, kubeconfig::run);
}

#[test]
fn damaged_watches_end() {
    seeded::run("watch", 60, watch::run);
}
