//! Asking whether a feature is on allocates nothing. In a binary of its own, because counting
//! takes over its allocator.

use allocation_counter::measure;
use opm_core::feature::{Choice, FeatureSet, SANDBOX, global};

#[test]
fn asking_allocates_nothing() {
    let shipped = FeatureSet::shipped();
    let choice = [Choice::disable(SANDBOX.clone())];
    let chosen = shipped.clone().with_choices(choice.clone()).unwrap();
    // The first question may make the process-wide defaults.
    assert!(global::is_enabled(&SANDBOX));
    global::set(choice).unwrap();

    let counted = measure(|| {
        for _ in 0..1000 {
            assert!(shipped.is_enabled(&SANDBOX) && shipped.is_enabled("sandbox"));
            assert!(!chosen.is_enabled(&SANDBOX) && !chosen.is_enabled("unknown"));
            assert!(!global::is_enabled(&SANDBOX) && global::is_enabled("change-records"));
        }
    });
    assert_eq!(counted.count_total, 0);
    assert!(
        measure(|| drop(shipped.states())).count_total > 0,
        "the counter counts"
    );
}
