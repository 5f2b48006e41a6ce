//! How objects are doing, for objects that were recorded from a real control plane. The recorder
//! is a test of `opm-e2e` (`record_health`), where the expectations are written down.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

use std::collections::BTreeMap;
use std::path::Path;

use opm_core::health::{self, HealthState};
use serde_json::{Map, Value};

fn recordings() -> BTreeMap<String, Value> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/health");
    let files = std::fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().path());
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            (name, serde_json::from_str(&text).unwrap())
        })
        .collect()
}

fn objects(value: &Value) -> Vec<Map<String, Value>> {
    let items = value.as_array().into_iter().flatten();
    items
        .map(|item| item.as_object().unwrap().clone())
        .collect()
}

/// Whether a text is what was expected, where `…` stands for anything.
fn matches(expected: &str, said: &str) -> bool {
    let parts: Vec<&str> = expected.split('…').collect();
    let [first, middle @ .., last] = &parts[..] else {
        return expected == said;
    };
    let Some(mut rest) = said.strip_prefix(first) else {
        return false;
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn recorded_objects_are_judged_as_people_would() {
    let recordings = recordings();
    assert!(recordings.len() >= 60, "{} recordings", recordings.len());
    let mut wrong = Vec::new();
    for (name, recording) in &recordings {
        let mut health = health::of(recording["object"].as_object().unwrap());
        if let Some(pods) = recording.get("pods") {
            health = health::with_pods(health, &objects(pods));
        }
        let expected = &recording["expected"];
        let message = expected["message"].as_str().unwrap();
        if health.state.word() != expected["state"] || !matches(message, &health.message) {
            wrong.push(format!(
                "{name}: {} {:?}\n  not {expected}",
                health.state.word(),
                health.message
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_state_but_one_was_seen_on_a_real_control_plane() {
    let recordings = recordings();
    let seen = |state: HealthState| {
        recordings
            .values()
            .any(|r| r["expected"]["state"] == state.word())
    };
    // Unknown is what could not be looked at, so there is nothing to record.
    for state in [
        HealthState::Ready,
        HealthState::Progressing,
        HealthState::Degraded,
        HealthState::Failed,
    ] {
        assert!(seen(state), "{}", state.word());
    }
}
