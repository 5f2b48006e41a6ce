//! Kubeconfig files, written as JSON (which is YAML).

use std::path::Path;
use std::{fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Kubeconfig};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::keys::Identity;

/// How a client of the API server says who it is.
#[derive(Debug, Clone)]
pub(crate) enum Credentials {
    Certificate(Identity),
    Token(String),
    /// None that tests know of.
    None,
}

/// Where an API server is, and who one is there.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) server: String,
    pub(crate) tls_server_name: Option<String>,
    pub(crate) authority: String,
    pub(crate) credentials: Credentials,
    pub(crate) namespace: Option<String>,
}

impl Access {
    /// The cluster and the user of a kubeconfig's current context.
    pub(crate) fn of_file(path: &Path) -> Self {
        let file = Kubeconfig::read_from(path).expect("a kubeconfig");
        let current = file.current_context.as_deref();
        let context = file
            .contexts
            .iter()
            .find(|one| Some(one.name.as_str()) == current);
        let context = context
            .and_then(|one| one.context.as_ref())
            .expect("a current context");
        let cluster = file.clusters.iter().find(|one| one.name == context.cluster);
        let cluster = cluster
            .and_then(|one| one.cluster.as_ref())
            .expect("the context's cluster");
        let user = file
            .auth_infos
            .iter()
            .find(|one| Some(&one.name) == context.user.as_ref());
        let authority = pem(
            cluster.certificate_authority_data.as_deref(),
            &cluster.certificate_authority,
        );
        Self {
            server: cluster.server.clone().expect("a server"),
            tls_server_name: cluster.tls_server_name.clone(),
            authority: authority.unwrap_or_default(),
            credentials: user
                .and_then(|one| one.auth_info.as_ref())
                .map_or(Credentials::None, credentials_of),
            namespace: context.namespace.clone(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let user = match &self.credentials {
            Credentials::Certificate(identity) => json!({
                "client-certificate-data": STANDARD.encode(&identity.certificate),
                "client-key-data": STANDARD.encode(&identity.key),
            }),
            Credentials::Token(token) => json!({ "token": token }),
            Credentials::None => json!({}),
        };
        let mut context = json!({ "cluster": "test", "user": "test" });
        if let Some(namespace) = &self.namespace {
            context["namespace"] = json!(namespace);
        }
        let mut cluster = json!({
            "server": self.server,
            "certificate-authority-data": STANDARD.encode(&self.authority),
        });
        if let Some(name) = &self.tls_server_name {
            cluster["tls-server-name"] = json!(name);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "test", "cluster": cluster }],
            "users": [{ "name": "test", "user": user }],
            "contexts": [{ "name": "test", "context": context }],
            "current-context": "test",
        })
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        fs::write(path, format!("{:#}\n", self.to_json()))
    }
}

/// Tokens and certificates; whatever else a kubeconfig can hold is not for tests.
fn credentials_of(user: &AuthInfo) -> Credentials {
    if let Some(token) = &user.token {
        return Credentials::Token(token.expose_secret().to_owned());
    }
    let certificate = pem(
        user.client_certificate_data.as_deref(),
        &user.client_certificate,
    );
    let key = user
        .client_key_data
        .as_ref()
        .map(ExposeSecret::expose_secret);
    match (certificate, pem(key, &user.client_key)) {
        (Some(certificate), Some(key)) => Credentials::Certificate(Identity { certificate, key }),
        _ => Credentials::None,
    }
}

fn pem(data: Option<&str>, file: &Option<String>) -> Option<String> {
    let bytes = match (data, file) {
        (Some(data), _) => STANDARD.decode(data).expect("base64"),
        (None, Some(path)) => fs::read(path).expect("the file that the kubeconfig names"),
        (None, None) => return None,
    };
    Some(String::from_utf8(bytes).expect("PEM"))
}
