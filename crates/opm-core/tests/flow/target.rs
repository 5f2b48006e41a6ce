//! Which change is meant, by name or by default.

use opm_core::history::{ChangeNameError, TargetReason, default_target, named};
use opm_core::record::{Content, Counts, Extra, HistorySlot, LogEntry, LogResult, Record};

use crate::world::new_record;

fn history(ids: &[&str]) -> Record {
    let mut record = new_record();
    record.history = ids
        .iter()
        .map(|id| HistorySlot {
            id: format!("change-sha1-{id}"),
            content: Content::Absent,
        })
        .collect();
    record
}

fn deployment(command: &str, result: LogResult) -> LogEntry {
    LogEntry {
        number: None,
        id: String::new(),
        command: command.to_owned(),
        time: String::new(),
        seconds: 0,
        who: String::new(),
        from: String::new(),
        opm: String::new(),
        message: None,
        change: None,
        module: None,
        values: None,
        components: None,
        record: None,
        result,
        reason: None,
        counts: Counts::new(),
        extra: Extra::default(),
    }
}

#[test]
fn a_change_is_named_by_its_id_or_the_beginning_of_its_digits() {
    let record = history(&["aa000001", "aa000002", "bb000001"]);
    for (given, expected) in [
        ("change-sha1-aa000002", Ok("change-sha1-aa000002")),
        ("change-sha1-bb", Ok("change-sha1-bb000001")),
        ("b", Ok("change-sha1-bb000001")),
        ("aa000001", Ok("change-sha1-aa000001")),
        ("aa", Err("ambiguous")),
        ("cc", Err("unknown")),
        ("", Err("unknown")),
        ("change-sha1-", Err("unknown")),
        ("change-", Err("unknown")),
        ("BB", Err("unknown")),
    ] {
        let found = named(&record, given).map_err(|error| match error {
            ChangeNameError::Unknown(_) | ChangeNameError::NoChange { .. } => "unknown",
            ChangeNameError::Ambiguous { changes, .. } => {
                assert_eq!(changes.len(), 2);
                "ambiguous"
            }
        });
        assert_eq!(found, expected, "{given:?}");
    }
}

#[test]
fn a_change_is_named_by_its_place_its_deployment_or_how_it_went() {
    use LogResult::{Failed, NotReady, Succeeded};
    let mut record = history(&["cc", "bb", "aa"]);
    let run = |change: &str, result: LogResult, number: Option<u64>| LogEntry {
        number,
        change: Some(format!("change-sha1-{change}")),
        ..deployment("apply", result)
    };
    record.log = vec![
        run("dd", Failed, Some(9)),
        run("cc", NotReady, Some(8)),
        run("bb", Succeeded, Some(7)),
        run("zz", Succeeded, None),
        run("aa", Succeeded, None),
    ];
    for (given, expected) in [
        ("current", Some("cc")),
        ("~0", Some("cc")),
        ("~1", Some("bb")),
        ("previous", Some("bb")),
        ("~2", Some("aa")),
        ("~3", None),
        ("~x", None),
        ("~", None),
        // What fell off the history is not meant, and what was not ready was not good.
        ("last-good", Some("bb")),
        ("#8", Some("cc")),
        ("#7", Some("bb")),
        ("#1", Some("aa")),
        // It is not in the history: it failed, or it fell off.
        ("#9", None),
        ("#2", None),
        ("#77", None),
        ("#", None),
    ] {
        let found = named(&record, given).ok();
        let found = found.and_then(|id| id.strip_prefix("change-sha1-"));
        assert_eq!(found, expected, "{given}");
    }
    let refused = named(&record, "#9").unwrap_err().to_string();
    let expected = "deployment #9 (apply, failed) made no change that is in the history";
    assert_eq!(refused, expected);
}

#[test]
fn by_default_it_is_the_one_before_unless_the_last_deployment_failed() {
    use LogResult::{Failed, Interrupted, Lost, Started, Succeeded};
    let cases = [
        (vec![], Some("bb")),
        (vec![("apply", Succeeded)], Some("bb")),
        (vec![("apply", Failed)], Some("aa")),
        (vec![("apply", Interrupted)], Some("aa")),
        (vec![("apply", Lost)], Some("aa")),
        (vec![("apply", Started)], Some("aa")),
        (vec![("delete", Failed), ("apply", Succeeded)], Some("aa")),
        (vec![("rollback", Succeeded), ("apply", Failed)], Some("bb")),
        // What changes nothing that a release consists of is no deployment.
        (vec![("prune", Failed), ("apply", Succeeded)], Some("bb")),
    ];
    for (log, expected) in cases {
        let mut record = history(&["aa", "bb"]);
        record.log = log
            .iter()
            .map(|(command, result)| deployment(command, result.clone()))
            .collect();
        let target = default_target(&record).map(|(id, _)| id.rsplit('-').next().unwrap());
        assert_eq!(target, expected, "{log:?}");
    }
    assert_eq!(default_target(&history(&[])), None);
    assert_eq!(default_target(&history(&["aa"])), None);
    let mut record = history(&["aa"]);
    record.log = vec![deployment("apply", Failed)];
    let reason = TargetReason::LastFailed {
        command: "apply".to_owned(),
        result: Failed,
    };
    assert_eq!(default_target(&record), Some(("change-sha1-aa", reason)));
}
