//! The file: several processes, killed processes, and files that cannot be used.
//!
//! The writing processes are this very test binary, started again with a variable that tells it
//! to write instead of to test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail loudly; the writing process reports on standard output"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use opm_sandbox::{FILE_NAME, Options, Sandbox, StoreError};
use serde_json::json;

const ROLE: &str = "OPM_SANDBOX_TEST_WRITER";

fn maps(sandbox: Sandbox) -> Api<ConfigMap> {
    Api::namespaced(Client::new(sandbox, "default"), "default")
}

/// Not a test of its own: what a second process does. Says every write that was acknowledged.
#[tokio::test]
#[ignore = "a part of the other tests"]
async fn writer_process() {
    let role = std::env::var(ROLE).unwrap();
    let (dir, who, count) = {
        let mut parts = role.split('|');
        let mut next = || parts.next().unwrap().to_string();
        (next(), next(), next().parse::<usize>().unwrap())
    };
    let api = maps(Sandbox::open(Path::new(&dir)).unwrap());
    let mut out = std::io::stdout();
    for number in 0..count {
        let name = format!("{who}-{number}");
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": number.to_string()}
        });
        api.patch(&name, &PatchParams::apply(&who), &Patch::Apply(object))
            .await
            .unwrap();
        writeln!(out, "acknowledged {name}").unwrap();
    }
}

fn writer(dir: &Path, who: &str, count: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["writer_process", "--exact", "--ignored", "--nocapture"])
        .env(ROLE, format!("{}|{who}|{count}", dir.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn acknowledged(line: &str) -> Option<String> {
    line.split("acknowledged ").nth(1).map(str::to_string)
}

#[tokio::test]
async fn two_processes_write_a_thousand_each() {
    let dir = tempfile::tempdir().unwrap();
    let children = [
        writer(dir.path(), "one", 1000),
        writer(dir.path(), "two", 1000),
    ];
    let mut said = 0;
    for mut child in children {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        said += lines
            .filter(|l| acknowledged(l.as_ref().unwrap()).is_some())
            .count();
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(said, 2000);
    let all = maps(Sandbox::open(dir.path()).unwrap())
        .list(&ListParams::default())
        .await
        .unwrap();
    let ours: Vec<_> = all
        .items
        .iter()
        .filter(|m| m.name_any() != "kube-root-ca.crt")
        .collect();
    assert_eq!(ours.len(), 2000);
    let mut versions: Vec<u64> = ours
        .iter()
        .map(|m| m.resource_version().unwrap().parse().unwrap())
        .collect();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(
        versions.len(),
        2000,
        "every write has a revision of its own"
    );
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let (mut killed, mut other) = (
            writer(dir.path(), &format!("killed{round}"), 100_000),
            writer(dir.path(), &format!("other{round}"), 200),
        );
        let mut lines = BufReader::new(killed.stdout.take().unwrap()).lines();
        let mut seen = Vec::new();
        while seen.len() < 150 + round * 37 {
            seen.extend(acknowledged(&lines.next().unwrap().unwrap()));
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        // What it had said before it died and nobody had read yet counts as well.
        seen.extend(lines.map_while(Result::ok).filter_map(|l| acknowledged(&l)));
        let rest = BufReader::new(other.stdout.take().unwrap()).lines();
        seen.extend(rest.map_while(Result::ok).filter_map(|l| acknowledged(&l)));
        assert!(other.wait().unwrap().success());
        let all = maps(Sandbox::open(dir.path()).unwrap())
            .list(&ListParams::default())
            .await
            .unwrap();
        let there: BTreeMap<_, _> = all
            .items
            .into_iter()
            .map(|m| (m.name_any(), m.data))
            .collect();
        for name in &seen {
            let number = name.rsplit('-').next().unwrap();
            let data = there
                .get(name)
                .unwrap_or_else(|| panic!("{name} was acknowledged and is gone"));
            assert_eq!(data.as_ref().unwrap()["n"], number);
        }
    }
    let integrity: String = rusqlite::Connection::open(dir.path().join(FILE_NAME))
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |r| r.get(0))
        .unwrap();
    assert_eq!(integrity, "ok");
}

#[tokio::test]
async fn a_full_file_says_so_and_keeps_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        max_bytes: Some(400 * 1024),
    };
    let api = maps(Sandbox::open_with(dir.path(), &options).unwrap());
    let object = |n: usize| -> ConfigMap {
        let data =
            json!({"metadata": {"name": format!("m{n}")}, "data": {"x": "y".repeat(20_000)}});
        serde_json::from_value(data).unwrap()
    };
    let mut kept = 0;
    let error = loop {
        match api.create(&PostParams::default(), &object(kept)).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 100);
    };
    let kube::Error::Api(status) = error else {
        panic!("{error}")
    };
    assert_eq!(
        (status.code, status.reason.as_str()),
        (507, "InsufficientStorage")
    );
    assert!(
        status
            .message
            .contains("the disk is full or its size limit is reached"),
        "{}",
        status.message
    );
    assert!(api.get_opt(&format!("m{kept}")).await.unwrap().is_none());
    let again = maps(Sandbox::open(dir.path()).unwrap());
    for n in 0..kept {
        again.get(&format!("m{n}")).await.unwrap();
    }
    again
        .create(&PostParams::default(), &object(kept))
        .await
        .unwrap();
}

#[test]
fn files_that_are_not_ours_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(FILE_NAME);
    std::fs::write(&file, "my precious notes, not a database at all").unwrap();
    assert!(matches!(
        Sandbox::open(dir.path()),
        Err(StoreError::Foreign { .. })
    ));
    assert!(matches!(
        Sandbox::reset(dir.path()),
        Err(StoreError::Foreign { .. })
    ));
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .starts_with("my precious")
    );

    std::fs::remove_file(&file).unwrap();
    rusqlite::Connection::open(&file)
        .unwrap()
        .execute_batch("CREATE TABLE theirs(x)")
        .unwrap();
    assert!(matches!(
        Sandbox::open(dir.path()),
        Err(StoreError::Foreign { .. })
    ));
    assert!(matches!(
        Sandbox::reset(dir.path()),
        Err(StoreError::Foreign { .. })
    ));
    let tables: i64 = rusqlite::Connection::open(&file)
        .unwrap()
        .query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn a_damaged_file_is_named_and_can_be_reset() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(FILE_NAME);
    {
        let api = maps(Sandbox::open(dir.path()).unwrap());
        for n in 0..50 {
            let object = serde_json::from_value(
                json!({"metadata": {"name": format!("m{n}")}, "data": {"x": "y".repeat(3_000)}}),
            );
            api.create(&PostParams::default(), &object.unwrap())
                .await
                .unwrap();
        }
    }
    // Move everything out of the log, then overwrite all but the header.
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    drop(connection);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100..].fill(0x5a);
    std::fs::write(&file, &bytes).unwrap();
    let error = Sandbox::open(dir.path()).err().unwrap();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("is damaged"));
    assert!(error.hint().contains("reset"));
    assert!(Sandbox::reset(dir.path()).unwrap());
    maps(Sandbox::open(dir.path()).unwrap())
        .get("kube-root-ca.crt")
        .await
        .unwrap();
}

#[test]
fn a_file_of_a_later_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Sandbox::open(dir.path()).unwrap());
    let connection = rusqlite::Connection::open(dir.path().join(FILE_NAME)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = Sandbox::open(dir.path()).err().unwrap();
    assert!(
        matches!(error, StoreError::Newer { found: 99, .. }),
        "{error}"
    );
}

/// A directory that nobody can write to, the superuser included.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_written_says_so() {
    let error = Sandbox::open(Path::new("/proc/self/sandbox"))
        .err()
        .unwrap();
    let text = error.to_string();
    assert!(text.contains("/proc/self/sandbox/sandbox.db"), "{text}");
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Sandbox::open(&file.path().join("below")).err().unwrap();
    assert!(error.to_string().contains("cannot be used"), "{error}");
}

/// A file without write permission, for users whom permissions bind.
#[cfg(unix)]
#[test]
fn a_read_only_file_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    drop(Sandbox::open(dir.path()).unwrap());
    for (path, mode) in [
        (dir.path().join(FILE_NAME), 0o444),
        (dir.path().to_path_buf(), 0o555),
    ] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let bound = std::fs::write(dir.path().join("probe"), "x").is_err();
    let opened = Sandbox::open(dir.path());
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    if bound {
        assert!(matches!(opened, Err(StoreError::ReadOnly { .. })));
    } else {
        assert!(opened.is_ok(), "permissions do not bind this user");
    }
}

#[tokio::test]
async fn what_is_in_use_is_not_reset() {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::open(dir.path()).unwrap();
    let api = maps(sandbox.clone());
    let object = |name: &str| serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    api.create(&PostParams::default(), &object("before"))
        .await
        .unwrap();
    let refused = Sandbox::reset(dir.path()).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    api.create(&PostParams::default(), &object("after"))
        .await
        .unwrap();
    drop((api, sandbox));
    let kept = maps(Sandbox::open(dir.path()).unwrap());
    for name in ["before", "after"] {
        kept.get(name).await.unwrap();
    }
    drop(kept);
    opm_testkit::until("nobody uses it any more", async || {
        Sandbox::reset(dir.path()).is_ok_and(|there_was_one| there_was_one)
    })
    .await;
    let empty = maps(Sandbox::open(dir.path()).unwrap());
    assert!(empty.get_opt("before").await.unwrap().is_none());
}

/// By hand, past everything that guards it.
#[cfg(unix)]
#[tokio::test]
async fn nothing_is_acknowledged_for_a_file_that_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let api = maps(Sandbox::open(dir.path()).unwrap());
    for file in [FILE_NAME, "sandbox.db-wal", "sandbox.db-shm"] {
        std::fs::remove_file(dir.path().join(file)).unwrap();
    }
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "lost"}})).unwrap();
    for error in [
        api.create(&PostParams::default(), &object).await.err(),
        api.get("kube-root-ca.crt").await.err(),
    ] {
        let text = error.unwrap().to_string();
        assert!(text.contains("was deleted or replaced"), "{text}");
    }
    // A new one in its place is not the old one either.
    drop(Sandbox::open(dir.path()).unwrap());
    let error = api.create(&PostParams::default(), &object).await;
    assert!(error.is_err());
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let open_up = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    let around = tempfile::tempdir().unwrap();
    let dir = around.path().join("box");
    let sandbox = Sandbox::open(&dir).unwrap();
    let files = ["", "-wal", "-shm"].map(|s| dir.join(format!("{FILE_NAME}{s}")));
    assert_eq!(mode(&dir), 0o700);
    files.iter().for_each(|file| assert_eq!(mode(file), 0o600));
    // As an earlier version left them.
    files.iter().for_each(|file| open_up(file, 0o644));
    open_up(&dir, 0o755);
    drop(Sandbox::open(&dir).unwrap());
    files.iter().for_each(|file| assert_eq!(mode(file), 0o600));
    assert_eq!(mode(&dir), 0o700);
    // A directory with anything else in it is somebody's choice.
    open_up(&dir, 0o755);
    std::fs::write(dir.join("notes"), "mine").unwrap();
    drop(Sandbox::open(&dir).unwrap());
    assert_eq!(mode(&dir), 0o755);
    drop(sandbox);
}

/// Format 1 had no index of definitions.
#[tokio::test]
async fn a_file_of_the_earlier_format_is_used_on() {
    let dir = tempfile::tempdir().unwrap();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]}
    });
    let kind = |group: &str, version: &str, kind: &str| {
        kube::api::ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk(group, version, kind))
    };
    let client = Client::new(Sandbox::open(dir.path()).unwrap(), "default");
    let crd = kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<kube::api::DynamicObject> = Api::all_with(client.clone(), &crd);
    let params = PatchParams::apply("test");
    let patch = Patch::Apply(definition);
    definitions
        .patch("things.example.com", &params, &patch)
        .await
        .unwrap();
    let thing = kind("example.com", "v1", "Thing");
    let things: Api<kube::api::DynamicObject> = Api::default_namespaced_with(client, &thing);
    opm_testkit::until("the definition is established", async || {
        things.list(&ListParams::default()).await.is_ok()
    })
    .await;
    drop((things, definitions));
    let connection = rusqlite::Connection::open(dir.path().join(FILE_NAME)).unwrap();
    connection
        .execute_batch(
            "DROP TABLE definitions; UPDATE meta SET value=1 WHERE key='started'; \
             DELETE FROM objects WHERE resource='apiservices'; PRAGMA user_version=1;",
        )
        .unwrap();
    drop(connection);
    let client = Client::new(Sandbox::open(dir.path()).unwrap(), "default");
    let things: Api<kube::api::DynamicObject> =
        Api::default_namespaced_with(client.clone(), &thing);
    assert!(things.list(&ListParams::default()).await.is_ok());
    let own = kind("apiregistration.k8s.io", "v1", "APIService");
    let own: Api<kube::api::DynamicObject> = Api::all_with(client, &own);
    assert!(own.get("v1.apps").await.is_ok());
}
