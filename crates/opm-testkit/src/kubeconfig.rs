//! Kubeconfig files, written as JSON (which is YAML).

use std::path::Path;
use std::{fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::keys::Identity;

/// How a client of the API server says who it is.
#[derive(Debug, Clone)]
pub(crate) enum Credentials {
    Certificate(Identity),
    Token(String),
}

/// Where an API server is, and who one is there.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) server: String,
    pub(crate) authority: String,
    pub(crate) credentials: Credentials,
    pub(crate) namespace: Option<String>,
}

impl Access {
    /// The cluster of a kubeconfig's current context, with a token yet to be filled in.
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
        let authority = match (
            &cluster.certificate_authority_data,
            &cluster.certificate_authority,
        ) {
            (Some(data), _) => STANDARD.decode(data).expect("base64"),
            (None, Some(path)) => fs::read(path).expect("the authority's certificate"),
            (None, None) => Vec::new(),
        };
        Self {
            server: cluster.server.clone().expect("a server"),
            authority: String::from_utf8(authority).expect("PEM"),
            credentials: Credentials::Token(String::new()),
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
        };
        let mut context = json!({ "cluster": "test", "user": "test" });
        if let Some(namespace) = &self.namespace {
            context["namespace"] = json!(namespace);
        }
        let cluster = json!({
            "server": self.server,
            "certificate-authority-data": STANDARD.encode(&self.authority),
        });
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
