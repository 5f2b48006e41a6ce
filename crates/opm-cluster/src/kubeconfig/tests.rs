//! Which file counts, what its context says, and what is said of bad ones.

use std::path::Path;

use super::*;

const ONE: &str = "
apiVersion: v1
kind: Config
current-context: a
contexts:
- {name: a, context: {cluster: c, user: u, namespace: games}}
- {name: b, context: {cluster: c, user: u}}
- {name: e, context: {cluster: c, user: u, namespace: ''}}
clusters:
- {name: c, cluster: {server: 'https://127.0.0.1:6443'}}
users:
- {name: u, user: {token: c4n4ry}}
";

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_namespace_is_the_contexts_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "config", ONE);
    let environment = Environment::default();
    for (context, name, expected) in [
        (None, "a", Some("games")),
        (Some("a"), "a", Some("games")),
        (Some("b"), "b", None),
        (Some("e"), "e", None),
    ] {
        let chosen = choose(Some(&path), context, &environment).unwrap().unwrap();
        assert_eq!(chosen.context, name);
        assert_eq!(chosen.namespace.as_deref(), expected);
    }
}

#[test]
fn named_file_then_environment_then_home() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    std::fs::create_dir_all(home.join(".kube")).unwrap();
    write(
        &home,
        ".kube/config",
        &ONE.replace("current-context: a", "current-context: b"),
    );
    let first = write(dir.path(), "first", ONE);
    let absent = dir.path().join("absent");
    let mut environment = Environment {
        home: Some(home),
        ..Environment::default()
    };
    let context = |path: Option<&PathBuf>, environment: &Environment| {
        choose(path, None, environment).unwrap().unwrap().context
    };
    assert_eq!(context(None, &environment), "b");
    environment.kubeconfig = Some(std::env::join_paths([&absent, &first]).unwrap());
    assert_eq!(
        context(None, &environment),
        "a",
        "absent files are passed over"
    );
    assert_eq!(context(Some(&first), &Environment::default()), "a");
    environment.kubeconfig = Some(absent.clone().into_os_string());
    let error = choose(None, None, &environment).unwrap_err().to_string();
    assert!(error.contains(&absent.display().to_string()), "{error}");
    environment.in_cluster = true;
    assert!(choose(None, None, &environment).unwrap().is_none());
}

#[test]
fn bad_files_are_named_without_quoting_credentials() {
    let dir = tempfile::tempdir().unwrap();
    let environment = Environment::default();
    let error = |text: &str, context: Option<&str>| {
        let path = write(dir.path(), "bad", text);
        let error = choose(Some(&path), context, &environment).unwrap_err();
        assert!(!error.to_string().contains("c4n4ry"), "{error}");
        error
    };
    let failed = format!("{ONE}\n  - nonsense: [c4n4ry");
    let failed = error(&failed, None);
    assert!(matches!(failed, KubeconfigError::Unreadable { .. }));
    assert!(failed.to_string().contains("/bad: "), "{failed}");
    assert!(matches!(error("", None), KubeconfigError::NoContext { .. }));
    let typed = error("users: [{name: u, user: {token: [c4n4ry]}}]", None);
    assert!(
        matches!(typed, KubeconfigError::Unreadable { .. }),
        "{typed}"
    );
    let unknown = error(ONE, Some("z"));
    assert_eq!(
        unknown.to_string(),
        r#"the kubeconfig has no context "z" (it has a, b, e)"#
    );
    let missing = choose(Some(&dir.path().join("none")), None, &environment).unwrap_err();
    assert!(missing.to_string().contains("No such file"), "{missing}");
}
