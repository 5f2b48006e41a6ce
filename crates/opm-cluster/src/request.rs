//! Requests, built by hand and sent nowhere: paths, queries, content types and bodies.
//!
//! By hand, because an apply carries a resourceVersion or uid in its body, reads ask for
//! metadata only, and a delete has everything in its body (query parameters are ignored as
//! soon as there is one).

use bytes::Bytes;
use http::Method;
use opm_engine::ports::{ApiError, ApiErrorKind, Detail, PodLog};
use serde_json::{Value, json};

use crate::errors::RequestedResource;

const ANYTHING: &str = "*/*";

/// The most that is read of a log.
const LOG_BYTES: u32 = 1 << 20;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
// The plain form behind is for servers of other groups that know no other.
const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                         application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                         application/json";

/// One request, ready to be sent any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) accept: &'static str,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) body: Bytes,
    /// The plural in the path: a missing namespace is told from a missing Namespace by it.
    pub(crate) plural: String,
    /// The object's name, if one is asked for by name.
    pub(crate) name: Option<String>,
    /// Whether answers may quote a Secret.
    pub(crate) secret: bool,
}

/// Where objects of one kind live: a collection, in a namespace or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) plural: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespace: Option<&'a str>,
}

/// Where records live.
pub(crate) fn secrets(namespace: Option<&str>) -> Place<'_> {
    Place {
        group: "",
        version: "v1",
        plural: "secrets",
        kind: "Secret",
        namespace,
    }
}

/// The pods of a namespace.
pub(crate) fn pods(namespace: &str) -> Place<'_> {
    Place {
        group: "",
        version: "v1",
        plural: "pods",
        kind: "Pod",
        namespace: Some(namespace),
    }
}

impl Place<'_> {
    fn is_secret(&self) -> bool {
        self.group.is_empty() && self.plural == "secrets"
    }

    fn collection(&self) -> Result<String, ApiError> {
        let mut path = match self.group {
            "" => format!("/api/{}", segment(self.version)?),
            group => format!("/apis/{}/{}", segment(group)?, segment(self.version)?),
        };
        if let Some(namespace) = self.namespace {
            path.push_str("/namespaces/");
            path.push_str(&segment(namespace)?);
        }
        path.push('/');
        path.push_str(&segment(self.plural)?);
        Ok(path)
    }

    fn call(&self, method: Method, target: String, accept: &'static str) -> Call {
        Call {
            method,
            target,
            accept,
            content_type: None,
            body: Bytes::new(),
            plural: self.plural.to_owned(),
            name: None,
            secret: self.is_secret(),
        }
    }

    fn call_about(
        &self,
        name: &str,
        (method, query, accept): (Method, Query, &'static str),
    ) -> Result<Call, ApiError> {
        let target = query.onto(format!("{}/{}", self.collection()?, segment(name)?));
        let mut call = self.call(method, target, accept);
        call.name = Some(name.to_owned());
        Ok(call)
    }

    /// Reads one object.
    pub(crate) fn get(&self, name: &str, detail: Detail) -> Result<Call, ApiError> {
        let accept = match detail {
            Detail::Metadata => METADATA,
            Detail::Whole => JSON,
        };
        self.call_about(name, (Method::GET, Query::default(), accept))
    }

    /// Reads the log of a container.
    pub(crate) fn log(&self, log: &PodLog<'_>) -> Result<Call, ApiError> {
        let mut query = Query::default();
        query.add("container", log.container);
        query.add("timestamps", "true");
        query.add("limitBytes", &LOG_BYTES.to_string());
        query.add_some(
            "tailLines",
            log.tail.map(|lines| lines.to_string()).as_deref(),
        );
        query.add_some("sinceTime", log.since);
        query.add_some("previous", log.previous.then_some("true"));
        let path = format!("{}/{}/log", self.collection()?, segment(log.pod)?);
        let mut call = self.call(Method::GET, query.onto(path), ANYTHING);
        call.name = Some(log.pod.to_owned());
        Ok(call)
    }

    /// Reads one page of a collection. The resourceVersion stays unset: a consistent read.
    pub(crate) fn list(&self, page: &ListPage<'_>) -> Result<Call, ApiError> {
        let accept = match page.detail {
            Detail::Metadata => METADATA_LIST,
            Detail::Whole => JSON,
        };
        let mut query = Query::default();
        query.add("limit", &page.limit.to_string());
        query.add_some("labelSelector", page.labels);
        query.add_some("fieldSelector", page.fields);
        query.add_some("continue", page.token);
        let target = query.onto(self.collection()?);
        Ok(self.call(Method::GET, target, accept))
    }

    /// Watches a collection from a resourceVersion on.
    pub(crate) fn watch(&self, watch: &WatchFrom<'_>) -> Result<Call, ApiError> {
        let accept = match watch.detail {
            Detail::Metadata => METADATA,
            Detail::Whole => JSON,
        };
        let mut query = Query::default();
        query.add("watch", "true");
        query.add("allowWatchBookmarks", "true");
        query.add("resourceVersion", watch.resource_version);
        query.add("timeoutSeconds", &watch.seconds.to_string());
        query.add_some("labelSelector", watch.labels);
        query.add_some("fieldSelector", watch.fields);
        let target = query.onto(self.collection()?);
        Ok(self.call(Method::GET, target, accept))
    }

    /// A server-side apply of `body`.
    pub(crate) fn apply(
        &self,
        name: &str,
        body: &Value,
        options: &ApplyOptions<'_>,
    ) -> Result<Call, ApiError> {
        let mut query = Query::default();
        query.add("fieldManager", options.field_manager);
        query.add("fieldValidation", "Warn");
        if options.force {
            query.add("force", "true");
        }
        if options.dry_run {
            query.add("dryRun", "All");
        }
        let call = self.call_about(name, (Method::PATCH, query, JSON))?;
        Ok(call.with_body(APPLY, body))
    }

    /// A merge patch.
    pub(crate) fn merge(&self, name: &str, body: &Value, dry_run: bool) -> Result<Call, ApiError> {
        let mut query = Query::default();
        query.add("fieldManager", "opm");
        if dry_run {
            query.add("dryRun", "All");
        }
        let call = self.call_about(name, (Method::PATCH, query, JSON))?;
        Ok(call.with_body(MERGE, body))
    }

    /// A full PUT of `body`.
    pub(crate) fn replace(
        &self,
        name: &str,
        body: &Value,
        field_manager: &str,
    ) -> Result<Call, ApiError> {
        let mut query = Query::default();
        query.add("fieldManager", field_manager);
        let call = self.call_about(name, (Method::PUT, query, JSON))?;
        Ok(call.with_body(JSON, body))
    }

    /// A delete. All options are in the body.
    pub(crate) fn delete(&self, name: &str, options: &Value) -> Result<Call, ApiError> {
        let call = self.call_about(name, (Method::DELETE, Query::default(), JSON))?;
        Ok(call.with_body(JSON, options))
    }
}

/// One page of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListPage<'a> {
    pub(crate) detail: Detail,
    pub(crate) limit: usize,
    pub(crate) labels: Option<&'a str>,
    pub(crate) fields: Option<&'a str>,
    pub(crate) token: Option<&'a str>,
}

/// Where a watch begins, and how long it lasts at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchFrom<'a> {
    pub(crate) detail: Detail,
    pub(crate) resource_version: &'a str,
    pub(crate) labels: Option<&'a str>,
    pub(crate) fields: Option<&'a str>,
    pub(crate) seconds: u64,
}

/// How an apply is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApplyOptions<'a> {
    pub(crate) field_manager: &'a str,
    pub(crate) force: bool,
    pub(crate) dry_run: bool,
}

impl Call {
    /// What is asked for, as far as the meaning of an answer depends on it.
    pub(crate) fn asked(&self) -> RequestedResource<'_> {
        RequestedResource {
            plural: &self.plural,
            name: self.name.as_deref(),
            secret: self.secret,
        }
    }

    fn with_body(mut self, content_type: &'static str, body: &Value) -> Self {
        self.content_type = Some(content_type);
        self.body = Bytes::from(serde_json::to_vec(body).unwrap_or_default());
        self
    }

    /// A request for one of the discovery documents, aggregated where the server can.
    pub(crate) fn discovery(path: &str) -> Self {
        Self {
            method: Method::GET,
            target: path.to_owned(),
            accept: DISCOVERY,
            content_type: None,
            body: Bytes::new(),
            plural: String::new(),
            name: None,
            secret: false,
        }
    }

    /// A question about one's own rights. A POST that creates nothing.
    pub(crate) fn access_review(kind: &str, spec: &Value) -> Self {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": kind,
            "spec": spec,
        });
        let plural = format!("{}s", kind.to_lowercase());
        Self {
            method: Method::POST,
            target: format!("/apis/authorization.k8s.io/v1/{plural}"),
            accept: JSON,
            content_type: None,
            body: Bytes::new(),
            plural,
            name: None,
            secret: false,
        }
        .with_body(JSON, &review)
    }

    /// Asks who the server takes us for. A POST that creates nothing.
    pub(crate) fn who_am_i() -> Self {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "SelfSubjectReview",
        });
        Self {
            method: Method::POST,
            target: "/apis/authentication.k8s.io/v1/selfsubjectreviews".to_owned(),
            accept: JSON,
            content_type: None,
            body: Bytes::new(),
            plural: "selfsubjectreviews".to_owned(),
            name: None,
            secret: false,
        }
        .with_body(JSON, &review)
    }
}

#[derive(Default)]
struct Query(String);

impl Query {
    fn add(&mut self, key: &str, value: &str) {
        self.0.push(if self.0.is_empty() { '?' } else { '&' });
        self.0.push_str(key);
        self.0.push('=');
        self.0.push_str(&encode(value));
    }

    fn add_some(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    fn onto(self, path: String) -> String {
        path + &self.0
    }
}

/// One segment of a path. An empty one would turn a GET into a LIST and a DELETE into the
/// deletion of a whole collection, so it is an error, as is what Kubernetes takes for no name.
pub(crate) fn segment(text: &str) -> Result<String, ApiError> {
    if text.is_empty() || text == "." || text == ".." || text.contains(['/', '%']) {
        return Err(ApiError {
            kind: ApiErrorKind::Rejected,
            status: None,
            reason: String::new(),
            message: format!("{text:?} cannot be part of a request's path"),
            causes: Vec::new(),
        });
    }
    Ok(encode(text))
}

fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPLOYMENTS: Place<'_> = Place {
        group: "apps",
        version: "v1",
        plural: "deployments",
        kind: "Deployment",
        namespace: Some("games"),
    };

    #[test]
    fn paths_are_encoded() {
        let roles = Place {
            group: "rbac.authorization.k8s.io",
            version: "v1",
            plural: "clusterroles",
            kind: "ClusterRole",
            namespace: None,
        };
        let call = roles.get("system:node é?#", Detail::Metadata).unwrap();
        assert_eq!(
            call.target,
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%20%C3%A9%3F%23"
        );
        assert_eq!(call.accept, METADATA);
        assert!(!call.secret);
        let call = secrets(Some("a")).get("b", Detail::Whole).unwrap();
        assert_eq!(call.target, "/api/v1/namespaces/a/secrets/b");
        assert!(call.secret);
    }

    #[test]
    fn a_name_that_would_change_the_meaning_of_a_path_is_refused() {
        for name in ["", ".", "..", "a/b", "a%2fb"] {
            assert!(DEPLOYMENTS.delete(name, &json!({})).is_err(), "{name:?}");
            assert!(DEPLOYMENTS.get(name, Detail::Whole).is_err(), "{name:?}");
            assert!(secrets(Some(name)).get("x", Detail::Whole).is_err());
        }
    }

    #[test]
    fn queries_say_what_is_asked_for_and_no_more() {
        let page = ListPage {
            detail: Detail::Metadata,
            limit: 500,
            labels: Some("a=b,c in (d)"),
            fields: None,
            token: Some("t="),
        };
        assert_eq!(
            DEPLOYMENTS.list(&page).unwrap().target,
            "/apis/apps/v1/namespaces/games/deployments\
             ?limit=500&labelSelector=a%3Db%2Cc%20in%20%28d%29&continue=t%3D"
        );
        let options = ApplyOptions {
            field_manager: "opm",
            force: true,
            dry_run: true,
        };
        let call = DEPLOYMENTS
            .apply("web", &json!({"a": 1}), &options)
            .unwrap();
        assert_eq!(
            call.target,
            "/apis/apps/v1/namespaces/games/deployments/web\
             ?fieldManager=opm&fieldValidation=Warn&force=true&dryRun=All"
        );
        assert_eq!(call.content_type, Some(APPLY));
        let call = DEPLOYMENTS
            .delete("web", &json!({"dryRun": ["All"]}))
            .unwrap();
        assert!(!call.target.contains('?'), "{}", call.target);
        assert_eq!(call.body.as_ref(), br#"{"dryRun":["All"]}"#);
    }
}
