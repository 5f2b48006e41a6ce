//! What holds when nobody says otherwise.

use std::time::Duration;

use opm_core::review::ReviewMode;
use opm_engine::request::{Adopt, ApplyOptions, Concurrency, DeleteRequest, GuardFlags};

use crate::modules::{config, module, namespace, release};

#[test]
fn an_apply_is_what_the_command_line_documents() {
    let ApplyOptions {
        dry_run,
        no_prune,
        max_history,
        adopt,
        take_ownership,
        recreate,
        allow_empty,
        replace_all,
        force_conflicts,
        preflight,
        quiet,
        send_all,
        hooks,
        rotate,
        strict,
        guards,
        wait,
        prune_after_ready,
        timeout,
        wait_for_deletion,
        lock_timeout,
        concurrency,
        message,
        review,
        reviewed,
    } = ApplyOptions::default();
    let off = [
        dry_run,
        no_prune,
        take_ownership,
        recreate,
        allow_empty,
        replace_all,
        force_conflicts,
        preflight,
        quiet,
        send_all,
        rotate,
        strict,
        wait,
        prune_after_ready,
        wait_for_deletion,
    ];
    assert_eq!(off, [false; 15]);
    assert!(hooks, "hooks run");
    assert_eq!((adopt, guards), (Adopt::None, GuardFlags::default()));
    assert_eq!((max_history, concurrency), (10, Concurrency::Adaptive));
    assert_eq!(timeout, Duration::from_secs(5 * 60));
    assert_eq!((lock_timeout, message), (Duration::ZERO, None));
    assert_eq!((review, reviewed), (ReviewMode::Never, None));

    let rendered = module("app", &[("main", &config("a", "1"))]);
    let name = opm_core::name::ReleaseName::new("app").unwrap();
    let request = opm_engine::request::ApplyRequest::new(rendered, name, namespace("games"));
    assert!(request.record, "manifests are kept");
    assert!(!request.create_namespace && !request.atomic);
    assert_eq!(request.selection, None, "the recorded selection holds");
}

#[test]
fn a_delete_is_as_patient_as_an_apply_and_lifts_no_guard() {
    let (delete, apply) = (
        DeleteRequest::new(release("app"), namespace("games")),
        ApplyOptions::default(),
    );
    assert_eq!(delete.timeout, apply.timeout);
    assert_eq!(delete.lock_timeout, apply.lock_timeout);
    assert_eq!(delete.concurrency, apply.concurrency);
    assert_eq!(delete.max_history, apply.max_history);
    assert_eq!(delete.guards, GuardFlags::default());
    assert!(delete.hooks, "hooks run");
    assert!(!delete.ignore_not_found && !delete.dry_run && !delete.wait);
}
