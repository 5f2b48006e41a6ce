//! Asking the server what whoever asks may do. An answer is not worth waiting long for: the server
//! decides anyway when something is sent.

use std::time::Duration;

use opm_core::rights::{AccessRule, ResourceRight};
use opm_engine::ports::{ApiError, ApiErrorKind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::ClusterClient;
use crate::request::Call;
use crate::send::SendOptions;

const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
}

impl ClusterClient {
    pub(crate) async fn rules_in(&self, namespace: &str) -> Result<Vec<AccessRule>, ApiError> {
        let spec = json!({ "namespace": namespace });
        let answer = self.review("SelfSubjectRulesReview", &spec).await?;
        let rules: Vec<ResourceRule> =
            serde_json::from_value(answer["status"]["resourceRules"].clone())
                .map_err(|_| unreadable())?;
        let rules = rules.into_iter().map(|rule| AccessRule {
            verbs: rule.verbs,
            groups: rule.api_groups,
            resources: rule.resources,
            names: rule.resource_names,
        });
        Ok(rules.collect())
    }

    pub(crate) async fn may(
        &self,
        right: &ResourceRight,
        name: Option<&str>,
    ) -> Result<bool, ApiError> {
        let mut attributes = json!({
            "verb": right.verb,
            "group": right.group,
            "resource": right.resource,
        });
        for (key, value) in [("namespace", right.namespace.as_deref()), ("name", name)] {
            if let Some(value) = value {
                attributes[key] = json!(value);
            }
        }
        let spec = json!({ "resourceAttributes": attributes });
        let answer = self.review("SelfSubjectAccessReview", &spec).await?;
        Ok(answer["status"]["allowed"] == json!(true))
    }

    async fn review(&self, kind: &str, spec: &Value) -> Result<Value, ApiError> {
        let call = Call::access_review(kind, spec);
        let options = SendOptions::reading(self).within(LIMIT);
        let answer = self.exchange(&call, options).await.result?;
        serde_json::from_slice(&answer.body).map_err(|_| unreadable())
    }
}

fn unreadable() -> ApiError {
    let message = "failed to read the server's answer about one's rights";
    ApiError::local(ApiErrorKind::Rejected, message)
}
