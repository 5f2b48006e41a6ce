//! What a request to the API server is about, read from its method and path the way the API
//! server itself reads them, so that counts here and in the audit log are comparable.

use std::fmt;

use http::Method;

/// A request, by its meaning.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the words of the API")]
pub struct RequestInfo {
    /// get, list, watch, create, update, patch, delete or deletecollection; for a path that is no
    /// object's, the method in small letters.
    pub verb: String,
    pub group: String,
    /// Empty for a path that is no object's, as in discovery.
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    /// Path and query.
    pub uri: String,
    pub user: String,
    pub user_agent: String,
    /// The status of the answer; 0 when there was none.
    pub code: u16,
}

impl RequestInfo {
    pub(crate) fn read(method: &Method, uri: &http::Uri) -> Self {
        let mut seen = Self {
            verb: method.as_str().to_ascii_lowercase(),
            group: String::new(),
            resource: String::new(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
            uri: uri
                .path_and_query()
                .map(ToString::to_string)
                .unwrap_or_default(),
            user: String::new(),
            user_agent: String::new(),
            code: 0,
        };
        let mut parts: Vec<&str> = uri
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        let after_version = match parts.first() {
            Some(&"api") if parts.len() > 2 => 2,
            Some(&"apis") if parts.len() > 3 => 3,
            _ => return seen,
        };
        if after_version == 3 {
            parts[1].clone_into(&mut seen.group);
        }
        let mut rest = parts.split_off(after_version);
        // `namespaces/x` alone is the Namespace x; with more behind it, a place.
        if rest[0] == "namespaces" && rest.len() > 2 && !["status", "finalize"].contains(&rest[2]) {
            rest[1].clone_into(&mut seen.namespace);
            rest.drain(..2);
        } else if rest[0] == "namespaces" && rest.len() > 1 {
            rest[1].clone_into(&mut seen.namespace);
        }
        let part = |n: usize| rest.get(n).copied().unwrap_or_default().to_owned();
        (seen.resource, seen.name, seen.subresource) = (part(0), part(1), part(2));
        seen.verb = verb(method, &seen.name, uri.query().unwrap_or_default()).to_owned();
        seen
    }

    /// The verb and the resource, as in `patch configmaps`.
    #[must_use]
    pub fn what(&self) -> String {
        match (self.resource.as_str(), self.subresource.as_str()) {
            ("", _) => format!("{} {}", self.verb, self.uri),
            (resource, "") => format!("{} {resource}", self.verb),
            (resource, subresource) => format!("{} {resource}/{subresource}", self.verb),
        }
    }
}

impl fmt::Display for RequestInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb, self.uri, self.code)
    }
}

fn verb(method: &Method, name: &str, query: &str) -> &'static str {
    let watches = query
        .split('&')
        .any(|part| part == "watch=true" || part == "watch=1");
    match (method.as_str(), name.is_empty()) {
        ("GET" | "HEAD", _) if watches => "watch",
        ("GET" | "HEAD", true) => "list",
        ("GET" | "HEAD", false) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::RequestInfo;

    #[test]
    fn requests_are_read_as_the_server_reads_them() {
        let cases = [
            ("GET", "/version", "get", "", "", ""),
            ("GET", "/api/v1", "get", "", "", ""),
            ("GET", "/apis/apps/v1", "get", "", "", ""),
            ("GET", "/api/v1/namespaces", "list", "namespaces", "", ""),
            ("GET", "/api/v1/namespaces/x", "get", "namespaces", "x", "x"),
            (
                "PUT",
                "/api/v1/namespaces/x/finalize",
                "update",
                "namespaces/finalize",
                "x",
                "x",
            ),
            ("GET", "/api/v1/namespaces/x/pods", "list", "pods", "x", ""),
            ("GET", "/api/v1/pods?watch=true", "watch", "pods", "", ""),
            (
                "PATCH",
                "/api/v1/namespaces/x/configmaps/a",
                "patch",
                "configmaps",
                "x",
                "a",
            ),
            (
                "DELETE",
                "/api/v1/namespaces/x/configmaps",
                "deletecollection",
                "configmaps",
                "x",
                "",
            ),
            (
                "PUT",
                "/apis/apps/v1/namespaces/x/deployments/d/scale",
                "update",
                "deployments/scale",
                "x",
                "d",
            ),
            (
                "POST",
                "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                "create",
                "clusterroles",
                "",
                "",
            ),
        ];
        for (method, uri, verb, resource, namespace, name) in cases {
            let seen = RequestInfo::read(&method.parse().unwrap(), &uri.parse().unwrap());
            let full = match seen.subresource.as_str() {
                "" => seen.resource.clone(),
                sub => format!("{}/{sub}", seen.resource),
            };
            let got = (
                seen.verb.as_str(),
                full.as_str(),
                seen.namespace.as_str(),
                seen.name.as_str(),
            );
            assert_eq!(got, (verb, resource, namespace, name), "{method} {uri}");
        }
    }
}
