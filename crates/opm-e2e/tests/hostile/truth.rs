//! What a hostile server says is believed of nothing but what was asked.

use opm_e2e::api::{Api, object};
use opm_testkit::hostile::{HostileServer, behaviours};
use opm_testkit::{CommandOutput, Opm, Target};
use tempfile::TempDir;

use crate::release::{NAMESPACE, PreparedRelease};

/// Runs a command against a behaviour that strikes at once, and returns what is there afterwards.
async fn after(
    release: &PreparedRelease,
    command: &[&str],
    name: &str,
) -> (CommandOutput, Api, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let honest = kube::Client::new(release.copy(dir.path()), "default");
    let behaviour = behaviours().into_iter().find(|b| b.name == name).unwrap();
    let server = HostileServer::start(honest.clone(), behaviour, 0).await;
    let kubeconfig = server.write_kubeconfig(dir.path(), NAMESPACE);
    let opm = Opm::new(Target::Kubeconfig(kubeconfig), dir.path())
        .env("OPM_PATIENCE", "1s")
        .env("OPM_LOCK_TTL", "3s");
    let ran = opm.run([&["mod"], command].concat()).await;
    (ran, Api::new(honest), dir)
}

#[tokio::test]
async fn a_secret_under_another_name_is_not_written_to_that_name() {
    let release = PreparedRelease::new().await;
    for command in [
        &["apply", "web", "--yes"][..],
        &["rollback", "web", "--yes"],
        &["delete", "web", "--yes"],
        &["repair", "web", "--yes"],
        &["unlock", "web", "--yes"],
    ] {
        let (ran, api, _dir) = after(&release, command, "a-secret-under-another-name").await;
        assert_ne!(ran.code(), Some(0), "{ran}");
        let victim = api.get(&object("Secret/victim", NAMESPACE)).await;
        assert_eq!(victim, None, "{ran}");
        let kept = api.get(&object("ConfigMap/a", NAMESPACE)).await.unwrap();
        assert_eq!(kept["data"]["k"], "2", "nothing was touched: {ran}");
    }
}

#[tokio::test]
async fn what_is_no_answer_does_not_say_that_something_is_gone() {
    let release = PreparedRelease::new().await;
    for name in [
        "a-redirect-elsewhere",
        "an-empty-table",
        "deletes-of-something-else",
        "empty-discovery",
        "not-found-about-something-else",
        "nothing-is-served",
    ] {
        let delete = ["delete", "web", "--yes"];
        let (ran, ..) = after(&release, &delete, name).await;
        assert_ne!(ran.code(), Some(0), "{name}: {ran}");
    }
}
