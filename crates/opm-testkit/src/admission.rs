//! Rules of admission for one test: writes that are denied, writes that are changed on the way.
//!
//! They are the cluster's own policies, so no server of ours is in the way of its work. They bind
//! only to the test's namespace, or to cluster-scoped objects that carry its name. The server
//! takes up a policy some time after it is written (about a second): the kit waits for that.

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::admissionregistration::v1beta1::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde_json::{Value, json};

use crate::namespace::{TEST_LABEL, TestNamespace, unique};
use crate::reaper::Leftover;
use crate::wait::until;

/// The requests that a rule is about.
#[derive(Debug, Clone)]
pub struct Writes {
    group: String,
    resource: String,
    operations: Vec<String>,
    condition: String,
}

impl Writes {
    /// Operations (`CREATE`, `UPDATE`, `DELETE`) on a resource of an API group.
    #[must_use]
    pub fn of(group: &str, resource: &str, operations: &[&str]) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            operations: operations.iter().map(|one| (*one).to_owned()).collect(),
            condition: "true".to_owned(),
        }
    }

    /// Only on the object of this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.when(&format!("request.name == '{name}'"))
    }

    /// Only when this CEL expression holds.
    #[must_use]
    pub fn when(mut self, expression: &str) -> Self {
        self.condition = format!("({}) && ({expression})", self.condition);
        self
    }

    /// The rule's constraints and its condition. A ConfigMap of a certain name is added to both,
    /// by which the kit sees that the rule has taken effect.
    fn constraints(&self, namespace: &str) -> Value {
        let rule = |group: &str, resource: &str, operations: &[String]| {
            json!({
                "apiGroups": [group], "apiVersions": ["*"],
                "resources": [resource], "operations": operations,
            })
        };
        json!({
            "namespaceSelector": { "matchLabels": { TEST_LABEL: namespace } },
            "resourceRules": [
                rule(&self.group, &self.resource, &self.operations),
                rule("", "configmaps", &["CREATE".to_owned()]),
            ],
        })
    }

    fn match_conditions(&self, probe: &str) -> Value {
        let operations = json!(self.operations);
        let resource = self.resource.split('/').next().unwrap_or_default();
        json!([{
            "name": "this-test",
            "expression": format!(
                "(request.resource.resource == 'configmaps' && request.name == '{probe}') || \
                 (request.resource.group == '{}' && request.resource.resource == '{resource}' && \
                  request.operation in {operations} && ({}))",
                self.group, self.condition,
            ),
        }])
    }
}

/// A rule in force. It is gone with the test's namespace, or when it is lifted.
#[derive(Debug)]
#[must_use = "a rule can be lifted"]
pub struct Rule {
    name: String,
    mutates: bool,
}

impl TestNamespace {
    /// Denies writes in this namespace, with a message. Returns when the server does so.
    pub async fn deny(&self, writes: &Writes, message: &str) -> Rule {
        let name = unique("deny");
        let policy: ValidatingAdmissionPolicy = typed(json!({
            "metadata": { "name": name },
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": writes.constraints(self.name()),
                "matchConditions": writes.match_conditions(&name),
                "validations": [{ "expression": "false", "message": message }],
            },
        }));
        let binding: ValidatingAdmissionPolicyBinding = typed(json!({
            "metadata": { "name": name },
            "spec": { "policyName": name, "validationActions": ["Deny"] },
        }));
        self.install(&policy).await;
        self.install(&binding).await;
        self.until_probe(&name, |answer| answer.is_err()).await;
        Rule {
            name,
            mutates: false,
        }
    }

    /// Changes writes in this namespace by a CEL expression that makes an `Object{…}` to apply, as
    /// in `Object{metadata: Object.metadata{labels: {"a": "b"}}}`. Returns when the server does so.
    pub async fn mutate(&self, writes: &Writes, expression: &str) -> Rule {
        let name = unique("mutate");
        let probe_expression = "Object{metadata: Object.metadata{annotations: {\"testkit.opmodel.dev/seen\": \"yes\"}}}";
        let policy: MutatingAdmissionPolicy = typed(json!({
            "metadata": { "name": name },
            "spec": {
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "matchConstraints": writes.constraints(self.name()),
                "matchConditions": writes.match_conditions(&name),
                "mutations": [{
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": { "expression": format!(
                        "request.name == '{name}' ? {probe_expression} : {expression}"
                    ) },
                }],
            },
        }));
        let binding: MutatingAdmissionPolicyBinding = typed(json!({
            "metadata": { "name": name },
            "spec": { "policyName": name },
        }));
        self.install(&policy).await;
        self.install(&binding).await;
        self.until_probe(&name, |answer| {
            answer
                .as_ref()
                .is_ok_and(|map| map.annotations().contains_key("testkit.opmodel.dev/seen"))
        })
        .await;
        Rule {
            name,
            mutates: true,
        }
    }

    /// Lifts a rule and returns when it no longer holds.
    pub async fn lift(&self, rule: Rule) {
        let gone = DeleteParams::default();
        let client = self.client();
        if rule.mutates {
            let api: Api<MutatingAdmissionPolicyBinding> = Api::all(client);
            api.delete(&rule.name, &gone)
                .await
                .expect("the binding is there");
            self.until_probe(&rule.name, |answer| {
                answer
                    .as_ref()
                    .is_ok_and(|map| map.annotations().is_empty())
            })
            .await;
        } else {
            let api: Api<ValidatingAdmissionPolicyBinding> = Api::all(client);
            api.delete(&rule.name, &gone)
                .await
                .expect("the binding is there");
            self.until_probe(&rule.name, |answer| answer.is_ok()).await;
        }
    }

    async fn install<K>(&self, object: &K)
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::Serialize,
        K: serde::de::DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client());
        api.create(&PostParams::default(), object)
            .await
            .expect("the kit writes valid policies");
        self.remove_after(Leftover::object::<K>(None, &object.name_any()));
    }

    /// Sends a ConfigMap that the rule is about (as a dry run) until the answer is as expected.
    async fn until_probe(&self, name: &str, expected: impl Fn(&kube::Result<ConfigMap>) -> bool) {
        let probe: ConfigMap = typed(json!({ "metadata": { "name": name } }));
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let api: Api<ConfigMap> = self.api();
        until("the server follows the rule", async || {
            expected(&api.create(&dry_run, &probe).await)
        })
        .await;
    }
}

fn typed<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).expect("the kit writes valid objects")
}
