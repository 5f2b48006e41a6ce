//! The entry point for stored records: any bytes, read as the data of a Secret. Nothing may
//! panic, no error may quote what is stored, and what can be read must survive being written.
//!
//! An input is a JSON object: its keys are data keys; a text is the bytes of that key, anything
//! else is the JSON that is stored there.

use std::collections::BTreeMap;

use opm_core::plan::{Desired, PlanOptions, plan, plan_delete};
use opm_core::record::size::{Records, fit};
use opm_core::record::{Record, SecretParts, Stored, decode, encode};
use serde_json::Value;

/// Takes any bytes.
pub(crate) fn run(data: &[u8]) {
    let secret = secret(data);
    match decode(&secret) {
        Ok(decoded) => {
            if let Stored::Writable(record) = decoded.stored {
                writable(&record);
            }
        }
        Err(error) => assert!(!error.to_string().contains("hunter2"), "{error}"),
    }
}

fn secret(data: &[u8]) -> SecretParts {
    let data: BTreeMap<String, Vec<u8>> = match serde_json::from_slice(data) {
        Ok(Value::Object(map)) => map
            .into_iter()
            .map(|(key, value)| (key, bytes(value)))
            .collect(),
        // Not an input of the usual form: then it is damage to one key.
        _ => BTreeMap::from([("metadata".to_owned(), data.to_vec())]),
    };
    SecretParts {
        data,
        ..SecretParts::default()
    }
}

fn bytes(value: Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.into_bytes(),
        other => other.to_string().into_bytes(),
    }
}

fn writable(record: &Record) {
    let written = encode(record);
    let again = decode(&written).expect("what was written can be read");
    assert_eq!(again.stored, Stored::Writable(record.clone()));
    assert_eq!(encode(record), written);
    let options = PlanOptions::default();
    let _ = plan(&Desired::default(), Some(record), options);
    let _ = plan_delete(record, options);
    let limit = written.size() / 2;
    for records in [Records::Used, Records::Off] {
        let fitted = fit(record.clone(), records, limit);
        assert!(fitted.record.history.len() <= record.history.len());
    }
}
