//! From a kubeconfig to a server that answers.

use std::time::Duration;

use opm_cluster::{
    ClientSettings, ConnectError, ConnectOptions, Environment, RetryPolicy, connect,
};
use opm_engine::ports::{ApiErrorKind, Cluster as _, SecretStore as _};
use opm_testkit::{HANG, unless_it_hangs};

use crate::on_a_server;

fn options(path: &std::path::Path) -> ConnectOptions {
    ConnectOptions {
        kubeconfig: Some(path.to_owned()),
        ..ConnectOptions::default()
    }
}

#[tokio::test]
async fn as_oneself_and_as_another() {
    let test = on_a_server!("connect");
    let user = test.namespace.admin().await;
    let connected = connect(options(user.kubeconfig())).await.unwrap();
    assert_eq!(connected.client.user().await.as_deref(), Some(user.name()));
    assert_eq!(connected.namespace.as_deref(), Some(test.ns()));
    assert!(connected.context.is_some());
    assert!(connected.server.starts_with("https://127.0.0.1:"));
    let mut other = options(user.kubeconfig());
    other.impersonate = Some("eve".to_owned());
    let eve = connect(other.clone()).await.unwrap().client;
    assert_eq!(eve.user().await.as_deref(), Some("eve"));
    let error = eve.get_secret(test.ns(), "x").await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Forbidden);
    other.impersonate = Some("e\nve".to_owned());
    let error = connect(other).await.unwrap_err();
    assert!(matches!(error, ConnectError::Impersonate(_)));
}

/// A proxy of the environment is for other machines than this.
#[tokio::test]
async fn a_proxy_is_not_asked_for_the_way_home() {
    let test = on_a_server!("proxy");
    let user = test.namespace.admin().await;
    let mut options = options(user.kubeconfig());
    options.environment.https_proxy = Some("http://127.0.0.1:1".to_owned());
    let client = connect(options).await.unwrap().client;
    assert!(client.user().await.is_some());
}

fn kubeconfig(user: &str, server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         contexts: [{{name: a, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n\
         users: [{{name: u, user: {user}}}]\n"
    )
}

#[tokio::test]
async fn a_plugins_credentials_are_used() {
    let test = on_a_server!("plugin");
    // The kit's users have certificates; a plugin may hand out those as well.
    let user = test.namespace.admin().await;
    let text = std::fs::read_to_string(user.kubeconfig()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| {
        serde_json::to_value(kube::config::Kubeconfig::from_yaml(&text).unwrap()).unwrap()
    });
    let credentials = config["users"][0]["user"].clone();
    let pem = |field: &str| {
        let data = credentials[format!("{field}-data")].as_str().unwrap();
        let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data);
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    let answer = serde_json::json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"clientCertificateData": pem("client-certificate"), "clientKeyData": pem("client-key")},
    });
    let file = dir.path().join("credential.json");
    std::fs::write(&file, answer.to_string()).unwrap();
    config["users"][0]["user"] = serde_json::json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "cat",
        "args": [file], "interactiveMode": "Never"}});
    let path = dir.path().join("config");
    std::fs::write(&path, config.to_string()).unwrap();
    let client = connect(options(&path)).await.unwrap().client;
    assert_eq!(client.user().await.as_deref(), Some(user.name()));
}

#[tokio::test]
async fn what_cannot_be_reached_is_said_plainly_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    let write = |user: &str, server: &str| std::fs::write(&path, kubeconfig(user, server)).unwrap();
    write("{token: c4n4ry}", "https://127.0.0.1:1");
    let connected = connect(options(&path)).await.unwrap();
    assert_eq!(connected.namespace, None, "the context sets none");
    // Would it be waited for as a server that has answered before, the test would hang.
    let client = connected.client.with_settings(ClientSettings {
        retry: RetryPolicy {
            first_contact: Duration::from_millis(300),
            budget: 2 * HANG,
            ..RetryPolicy::default()
        },
        ..ClientSettings::default()
    });
    let asked = unless_it_hangs(
        "a server that was never reached",
        client.get_secret("n", "x"),
    );
    let error = asked.await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Unreachable);
    assert!(error.message.contains("Connection refused"), "{error}");

    let failing = "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, \
                   command: sh, args: [-c, 'echo c4n4ry; echo no session >&2; exit 3']}}";
    write(failing, "https://127.0.0.1:1");
    let error = connect(options(&path)).await.unwrap_err().to_string();
    assert!(
        error.contains("no session") && !error.contains("c4n4ry"),
        "{error}"
    );
    let missing = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /no/such/plugin}}";
    write(missing, "https://127.0.0.1:1");
    let error = connect(options(&path)).await.unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
    write(
        "{client-certificate: /no/such/file, client-key: /no/such/file}",
        "https://127.0.0.1:1",
    );
    let error = connect(options(&path)).await.unwrap_err().to_string();
    assert!(error.contains("/no/such/file"), "{error}");
    write("{}", "not a url");
    let error = connect(options(&path)).await.unwrap_err().to_string();
    assert!(error.contains("context \"a\""), "{error}");
    let none = ConnectOptions {
        environment: Environment::default(),
        ..ConnectOptions::default()
    };
    let error = connect(none).await.unwrap_err().to_string();
    assert!(error.starts_with("no cluster is configured"), "{error}");
}
