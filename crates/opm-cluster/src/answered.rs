//! Whether an answer is about what was asked: every object that a server sends is held against
//! the request, whatever the verb, before anybody believes or writes it.

use opm_engine::ports::{ApiError, ApiErrorKind};
use serde_json::Value;

use crate::errors::shorten;
use crate::json::{self, Object};
use crate::request::Place;

/// The group of answers that hold metadata only.
const METADATA_GROUP: &str = "meta.k8s.io/";

impl Place<'_> {
    fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Holds one object against its name and, where it is known, its uid.
    pub(crate) fn expect(
        &self,
        object: &Object,
        name: &str,
        uid: Option<&str>,
    ) -> Result<(), ApiError> {
        let other_uid = uid.is_some_and(|uid| json::metadata(object, "uid") != Some(uid));
        let kind = (text(object, "apiVersion"), text(object, "kind"));
        if json::metadata(object, "name") != Some(name)
            || !self.is_kind(kind)
            || !self.is_namespace(object)
        {
            return Err(self.another(Some(name), &described(object)));
        }
        match other_uid {
            true => Err(self.another(Some(name), "another object of that name")),
            false => Ok(()),
        }
    }

    /// Holds one object of a list or a watch against what was listed. Most lists leave out what
    /// their objects are.
    pub(crate) fn expect_listed(&self, object: &Object) -> Result<(), ApiError> {
        let kind = (text(object, "apiVersion"), text(object, "kind"));
        let unnamed = json::metadata(object, "name").is_none_or(str::is_empty);
        if unnamed || !(kind == ("", "") || self.is_kind(kind)) || !self.is_namespace(object) {
            return Err(self.another(None, &described(object)));
        }
        Ok(())
    }

    /// Holds a list against what was listed: anything else would look like an empty one.
    pub(crate) fn expect_list(&self, api_version: &str, kind: &str) -> Result<(), ApiError> {
        let said = api_version == self.api_version() || api_version.starts_with(METADATA_GROUP);
        match said && !matches!(kind, "" | "Status") && kind != self.kind {
            true => Ok(()),
            false => Err(self.another(None, &format!("{api_version} {kind}"))),
        }
    }

    fn is_kind(&self, (api_version, kind): (&str, &str)) -> bool {
        (api_version == self.api_version() && kind == self.kind)
            || (api_version.starts_with(METADATA_GROUP) && kind == "PartialObjectMetadata")
    }

    fn is_namespace(&self, object: &Object) -> bool {
        let namespace = json::metadata(object, "namespace");
        self.namespace.is_none() || self.namespace == namespace
    }

    fn another(&self, name: Option<&str>, answered: &str) -> ApiError {
        let asked = match name {
            Some(name) => format!("{}/{name}", self.kind),
            None => format!("a list of {}", self.plural),
        };
        let within = match self.namespace {
            Some(namespace) => format!(" in namespace {namespace}"),
            None => String::new(),
        };
        ApiError::local(
            ApiErrorKind::Rejected,
            format!(
                "the server was asked about {asked}{within} and answered with {}",
                shorten(answered)
            ),
        )
    }
}

fn text<'a>(object: &'a Object, field: &str) -> &'a str {
    object
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn described(object: &Object) -> String {
    let name = json::metadata(object, "name").unwrap_or("?");
    let kind = match text(object, "kind") {
        "" => "an object",
        kind => kind,
    };
    let within = match json::metadata(object, "namespace") {
        Some(namespace) => format!(" in namespace {namespace}"),
        None => String::new(),
    };
    let version = text(object, "apiVersion");
    format!("{kind}/{name}{within} ({version})")
}

/// Holds one object of a list against the labels that were asked for, as far as these are
/// simple equalities.
pub(crate) fn expect_labels(object: &Object, selector: &str) -> Result<(), ApiError> {
    if selector.contains(['(', '!']) {
        return Ok(());
    }
    let terms = selector.split(',').filter_map(|term| term.split_once('='));
    for (key, value) in terms {
        if json::label(object, key) != Some(value) {
            return Err(ApiError::local(
                ApiErrorKind::Rejected,
                format!(
                    "the server was asked for objects with the label {key}={value} and \
                     answered with {}, which does not have it",
                    shorten(&described(object))
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::secrets;

    fn object(value: &Value) -> &Object {
        value.as_object().unwrap()
    }

    #[test]
    fn an_object_is_the_one_that_was_asked_for() {
        let asked = secrets(Some("n"));
        let secret = |name: &str, namespace: &str| {
            json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": name, "namespace": namespace, "uid": "u"}})
        };
        let with = |field: &str, value: &str| {
            let mut other = secret("a", "n");
            other[field] = json!(value);
            other
        };
        let mut partial = with("kind", "PartialObjectMetadata");
        partial["apiVersion"] = json!("meta.k8s.io/v1");
        for (answered, uid, expected) in [
            (secret("a", "n"), None, true),
            (secret("a", "n"), Some("u"), true),
            (partial, Some("u"), true),
            (secret("a", "n"), Some("v"), false),
            (secret("b", "n"), None, false),
            (secret("a", "m"), None, false),
            (with("kind", "ConfigMap"), None, false),
            (with("kind", ""), None, false),
            (with("apiVersion", "v2"), None, false),
            (with("apiVersion", "x/v1"), None, false),
            (json!({"kind": "Status", "apiVersion": "v1"}), None, false),
            (json!({}), None, false),
            (json!({"metadata": 7}), None, false),
        ] {
            let found = asked.expect(object(&answered), "a", uid);
            assert_eq!(found.is_ok(), expected, "{answered}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_list_is_not_an_empty_one() {
        let asked = secrets(None);
        for (version, kind, expected) in [
            ("v1", "SecretList", true),
            ("v1", "List", true),
            ("meta.k8s.io/v1", "PartialObjectMetadataList", true),
            ("v1", "Secret", false),
            ("v1", "Status", false),
            ("", "", false),
            ("apps/v1", "DeploymentList", false),
        ] {
            let found = asked.expect_list(version, kind);
            assert_eq!(found.is_ok(), expected, "{version} {kind}");
        }
        let bare = json!({"metadata": {"name": "a", "namespace": "n"}});
        assert!(asked.expect_listed(object(&bare)).is_ok());
        assert!(secrets(Some("m")).expect_listed(object(&bare)).is_err());
        let unnamed = json!({"metadata": {"namespace": "n"}});
        assert!(asked.expect_listed(object(&unnamed)).is_err());
        let other = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
        assert!(asked.expect_listed(object(&other)).is_err());
    }

    #[test]
    fn what_is_listed_has_the_labels_that_were_asked_for() {
        let labelled = json!({"metadata": {"name": "a", "labels": {"x/y": "z", "b": "c"}}});
        for (selector, expected) in [
            ("x/y=z", true),
            ("x/y=z,b=c", true),
            ("x/y=z,b=d", false),
            ("q=1", false),
            ("b in (d,e)", true),
        ] {
            let found = expect_labels(object(&labelled), selector);
            assert_eq!(found.is_ok(), expected, "{selector}");
        }
    }
}
