//! A run whose lock is taken from it: it ends, and nothing more is sent.

use opm_core::identity::{GroupKind, Identity};
use opm_engine::FailureKind;
use opm_engine::ports::{Permit, SecretStore as _, StoredSecret, WriteOutcome};

use crate::kit::{Lab, Visitor, done};
use crate::locks::recreation;

/// The record of the only release there is.
async fn record(lab: &Lab) -> StoredSecret {
    let labels = [("opmodel.dev/component", "inventory")];
    let found = lab.cluster.list_secrets(Some("games"), &labels).await;
    let [stored] = <[_; 1]>::try_from(found.unwrap()).unwrap();
    stored
}

async fn remove_record(lab: &Lab) {
    let stored = record(lab).await;
    let (name, uid) = (&stored.content.name, &stored.uid);
    let removed = lab
        .cluster
        .remove_secret("games", name, uid, None, Permit::default());
    removed.await.unwrap();
}

/// Writes somebody else's lock over the one that is there, between two renewals.
async fn take_lock(lab: &Lab) {
    loop {
        let stored = record(lab).await;
        let mut lock: serde_json::Value =
            serde_json::from_slice(&stored.content.data["lock"]).unwrap();
        lock["id"] = "another".into();
        lock["holder"] = "somebody".into();
        let bytes = lock.to_string().into_bytes();
        let written = lab
            .cluster
            .write_lock(stored.version(), &bytes, Permit::default());
        if matches!(written.await.unwrap(), WriteOutcome::Written(_)) {
            return;
        }
    }
}

/// Holds a run up at a question, lets `meddle` take its lock, and looks at what the run does.
async fn loses(meddle: impl AsyncFn(&Lab)) -> Lab {
    let lab = Lab::with_eager_renewal();
    let (held, second) = recreation(&lab, "app", "games").await;
    let run = lab.apply(second, &Visitor::asked(held.clone()));
    held.asked(1).await;
    let before = lab.wire.sent().len();
    meddle(&lab).await;

    let failure = done(run).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::LockLost, "{failure}");
    held.let_go();
    let after = lab.wire.sent().split_off(before);
    let writes = after.iter().filter(|sent| sent.writes());
    let others: Vec<_> = writes
        .filter(|sent| !sent.query.contains("fieldManager=opm-lock"))
        .collect();
    assert!(others.is_empty(), "only the lock was renewed: {others:#?}");
    let deployment = GroupKind::new("apps", "Deployment");
    let deployment = Identity::new(deployment, Some("games"), "app-web");
    let live = lab.object(&deployment).await.unwrap();
    assert_eq!(live["spec"]["selector"]["matchLabels"]["app"], "old");
    lab
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_record_is_deleted_ends() {
    let lab = loses(remove_record).await;
    let labels = [("opmodel.dev/component", "inventory")];
    let found = lab.cluster.list_secrets(Some("games"), &labels).await;
    assert!(found.unwrap().is_empty(), "it is not created anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_lock_is_taken_ends() {
    let lab = loses(take_lock).await;
    let lock = lab.status_of("app", "games").await.lock.unwrap();
    assert_eq!(lock.lock.holder, "somebody", "it is left alone");
}
