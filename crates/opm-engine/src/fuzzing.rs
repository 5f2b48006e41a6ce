//! The entry point for compressed parts of records, which nothing else can reach from outside:
//! only there for tests and for fuzzing.

use opm_core::record::unpack::MAX_UNPACKED;
use opm_core::record::{decode_change, decode_inventory, decode_kept, decode_log, decode_pending};

use crate::record::{PayloadFormat, UnpackBudget, unpack};

/// Takes any bytes as what a record Secret holds. Nothing may panic, and nothing may become
/// larger than a run may use.
pub fn payload(data: &[u8]) {
    let budget = UnpackBudget::default();
    for format in [PayloadFormat::Text, PayloadFormat::Json] {
        let Ok(unpacked) = unpack(data, format, &budget) else {
            continue;
        };
        assert!(budget.used() <= MAX_UNPACKED && unpacked.len() as u64 <= budget.used());
        if format == PayloadFormat::Json {
            let _ = decode_change("change-sha1-00000000", &unpacked);
            let _ = (decode_inventory(&unpacked), decode_log(&unpacked));
            let _ = (decode_pending(&unpacked), decode_kept(&unpacked));
        }
    }
}

#[cfg(test)]
#[path = "../../../fuzz/entries/seeded.rs"]
mod seeded;

#[cfg(test)]
mod tests {
    #[test]
    fn damaged_payloads_are_refused() {
        super::seeded::run("payload", 1_000, super::payload);
    }
}
