//! Users with exactly given rights.
//!
//! On a control plane of ours a user is a client certificate, which costs no request and may carry
//! any name; on a given cluster it is a ServiceAccount of the test's namespace with a token.

use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::kubeconfig::{Access, Credentials};
use crate::namespace::TestNamespace;
use crate::plane::client_of;
use crate::reaper::Leftover;
use crate::wait::until;

/// Somebody who talks to the API server, with a kubeconfig file of their own.
#[derive(Debug, Clone)]
pub struct User {
    name: String,
    kubeconfig: PathBuf,
}

impl User {
    /// The name that the API server knows; requests are counted by it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A kubeconfig whose context names the test's namespace.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A client that acts as this user.
    pub async fn client(&self) -> Client {
        client_of(&self.kubeconfig)
            .await
            .expect("the kit wrote this kubeconfig")
    }
}

/// What a user may do, and nothing else.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    in_namespace: Vec<(Option<String>, PolicyRule)>,
    in_cluster: Vec<PolicyRule>,
}

impl Rights {
    /// No rights at all, beyond discovery.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Verbs on resources of one API group (`""` for the core group), in the test's namespace.
    #[must_use]
    pub fn allow(mut self, group: &str, resources: &[&str], verbs: &[&str]) -> Self {
        self.in_namespace
            .push((None, rule(group, resources, &[], verbs)));
        self
    }

    /// As [`Self::allow`], for objects of these names only.
    #[must_use]
    pub fn allow_named(
        mut self,
        group: &str,
        resources: &[&str],
        names: &[&str],
        verbs: &[&str],
    ) -> Self {
        self.in_namespace
            .push((None, rule(group, resources, names, verbs)));
        self
    }

    /// As [`Self::allow`], in another namespace.
    #[must_use]
    pub fn allow_in(
        mut self,
        namespace: &str,
        group: &str,
        resources: &[&str],
        verbs: &[&str],
    ) -> Self {
        self.in_namespace.push((
            Some(namespace.to_owned()),
            rule(group, resources, &[], verbs),
        ));
        self
    }

    /// As [`Self::allow`], in all namespaces and for cluster-scoped objects.
    #[must_use]
    pub fn allow_everywhere(mut self, group: &str, resources: &[&str], verbs: &[&str]) -> Self {
        self.in_cluster.push(rule(group, resources, &[], verbs));
        self
    }

    /// As [`Self::allow_everywhere`], for objects of these names only.
    #[must_use]
    pub fn allow_everywhere_named(
        mut self,
        group: &str,
        resources: &[&str],
        names: &[&str],
        verbs: &[&str],
    ) -> Self {
        self.in_cluster.push(rule(group, resources, names, verbs));
        self
    }
}

fn rule(group: &str, resources: &[&str], names: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        resource_names: (!names.is_empty()).then(|| owned(names)),
        verbs: owned(verbs),
        non_resource_urls: None,
    }
}

impl TestNamespace {
    /// A user of this test who may do everything, under a name of their own.
    pub async fn admin(&self) -> User {
        let Some(plane) = self.plane().ours() else {
            let name = "the user of OPM_TEST_KUBECONFIG".to_owned();
            return User {
                name,
                kubeconfig: self.plane().kubeconfig().to_owned(),
            };
        };
        let name = format!("{}:admin", self.name());
        let authority = plane.authority().expect("the control plane is up");
        let identity = authority.client(&name, Some("system:masters"));
        self.write_user(name, plane.access(identity, &authority))
    }

    /// A user of this test with exactly these rights. Returns when the API server grants them.
    pub async fn user(&self, name: &str, rights: &Rights) -> User {
        let (user, subject) = match self.plane().ours() {
            Some(plane) => {
                let full = format!("{}:{name}", self.name());
                let authority = plane.authority().expect("the control plane is up");
                let access = plane.access(authority.client(&full, None), &authority);
                let group = "rbac.authorization.k8s.io";
                let subject = json!({ "kind": "User", "apiGroup": group, "name": full });
                (self.write_user(full, access), subject)
            }
            None => self.service_account(name).await,
        };
        self.grant(&user, name, &subject, rights).await;
        user
    }

    fn write_user(&self, name: String, mut access: Access) -> User {
        access.namespace = Some(self.name().to_owned());
        let file = format!("{}.kubeconfig", name.replace([':', '/'], "_"));
        let kubeconfig = self.files().join(file);
        access
            .write(&kubeconfig)
            .expect("the test's directory takes a file");
        User { name, kubeconfig }
    }

    async fn service_account(&self, name: &str) -> (User, Value) {
        let api: Api<ServiceAccount> = self.api();
        let account = typed(json!({ "metadata": { "name": name } }));
        api.create(&PostParams::default(), &account)
            .await
            .expect("a ServiceAccount");
        let request: TokenRequest = typed(
            json!({ "metadata": {}, "spec": { "audiences": [], "expirationSeconds": 7200 } }),
        );
        let granted = api
            .create_token_request(name, &PostParams::default(), &request)
            .await;
        let token = granted.expect("a token").status.expect("a token").token;
        let mut access = Access::of_file(self.plane().kubeconfig());
        access.credentials = Credentials::Token(token);
        let subject = json!({
            "kind": "ServiceAccount", "namespace": self.name(), "name": name,
        });
        let full = format!("system:serviceaccount:{}:{name}", self.name());
        (self.write_user(full, access), subject)
    }

    async fn grant(&self, user: &User, name: &str, subject: &Value, rights: &Rights) {
        let mut namespaces: Vec<_> = rights.in_namespace.iter().map(|(place, _)| place).collect();
        namespaces.sort();
        namespaces.dedup();
        for place in namespaces {
            let rules = rights
                .in_namespace
                .iter()
                .filter(|(other, _)| other == place);
            let rules: Vec<_> = rules.map(|(_, rule)| rule.clone()).collect();
            self.grant_in(place.as_deref(), name, subject, &rules).await;
            let namespace = place.as_deref().unwrap_or(self.name());
            self.until_granted(user, Some(namespace), &rules[0]).await;
        }
        if let Some(first) = rights.in_cluster.first() {
            self.grant_everywhere(name, subject, &rights.in_cluster)
                .await;
            self.until_granted(user, None, first).await;
        }
    }

    async fn grant_in(
        &self,
        place: Option<&str>,
        name: &str,
        subject: &Value,
        rules: &[PolicyRule],
    ) {
        let namespace = place.unwrap_or(self.name());
        let full = format!("{}-{name}", self.name());
        let role: Role = typed(json!({ "metadata": { "name": full }, "rules": rules }));
        let api = Api::namespaced(self.client(), namespace);
        api.create(&PostParams::default(), &role)
            .await
            .expect("a Role");
        let binding: RoleBinding = typed(binding(&full, "Role", subject));
        let api = Api::namespaced(self.client(), namespace);
        api.create(&PostParams::default(), &binding)
            .await
            .expect("a RoleBinding");
        if place.is_some() {
            self.remove_after(Leftover::object::<Role>(place, &full));
            self.remove_after(Leftover::object::<RoleBinding>(place, &full));
        }
    }

    async fn grant_everywhere(&self, name: &str, subject: &Value, rules: &[PolicyRule]) {
        let full = format!("{}-{name}", self.name());
        let role: ClusterRole = typed(json!({ "metadata": { "name": full }, "rules": rules }));
        let api = Api::all(self.client());
        api.create(&PostParams::default(), &role)
            .await
            .expect("a ClusterRole");
        self.remove_after(Leftover::object::<ClusterRole>(None, &full));
        let binding: ClusterRoleBinding = typed(binding(&full, "ClusterRole", subject));
        let api = Api::all(self.client());
        api.create(&PostParams::default(), &binding)
            .await
            .expect("a ClusterRoleBinding");
        self.remove_after(Leftover::object::<ClusterRoleBinding>(None, &full));
    }

    /// The authorizer learns of a new role by watching, a moment after it is written.
    async fn until_granted(&self, user: &User, namespace: Option<&str>, rule: &PolicyRule) {
        let first =
            |list: &Option<Vec<String>>| list.as_ref().and_then(|list| list.first().cloned());
        let resource = first(&rule.resources).unwrap_or_default();
        let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
        let review: SubjectAccessReview = typed(json!({
            "metadata": {},
            "spec": { "user": user.name, "resourceAttributes": {
                "namespace": namespace.unwrap_or_default(),
                "group": first(&rule.api_groups).unwrap_or_default(),
                "resource": resource,
                "subresource": subresource,
                "name": first(&rule.resource_names).unwrap_or_default(),
                "verb": rule.verbs.first().cloned().unwrap_or_default(),
            } },
        }));
        let api: Api<SubjectAccessReview> = Api::all(self.client());
        until("the rights are granted", async || {
            let answer = api
                .create(&PostParams::default(), &review)
                .await
                .expect("a review");
            answer.status.is_some_and(|status| status.allowed)
        })
        .await;
    }
}

fn binding(name: &str, kind: &str, subject: &Value) -> Value {
    json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name },
        "subjects": [subject],
    })
}

fn typed<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).expect("the kit writes valid objects")
}
