//! LIST: selectors, pages, and the forms of `view`.

use base64::Engine;
use serde_json::{Map, Value, json};

use super::Scope;
use super::select::Selector;
use super::view::{self, ResponseForm};
use crate::kinds::Resource;
use crate::status::ApiError;
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Target;

/// Where the next page goes on.
struct Continue {
    revision: i64,
    namespace: String,
    name: String,
}

impl Continue {
    fn encode(&self) -> String {
        let token = json!({"v": "meta.k8s.io/v1", "rv": self.revision, "start": [self.namespace, self.name]});
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn decode(text: &str) -> Option<Continue> {
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .decode(text)
            .ok()?;
        let token: Value = serde_json::from_slice(&bytes).ok()?;
        Some(Continue {
            revision: token["rv"].as_i64()?,
            namespace: token["start"][0].as_str()?.to_string(),
            name: token["start"][1].as_str()?.to_string(),
        })
    }
}

pub(crate) fn list(scope: &Scope<'_>, call: &Call, target: &Target) -> Result<Reply, ApiError> {
    let resource = &target.resource;
    let selector = Selector::read(call, resource)?;
    let limit: usize = call
        .query
        .get("limit")
        .and_then(|l| l.parse().ok())
        .unwrap_or(0);
    let from = match call.query.get("continue").filter(|c| !c.is_empty()) {
        Some(token) => Some(Continue::decode(token).ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: invalid character")
        })?),
        None => None,
    };
    let current = scope.tx.revision()?;
    // Pages come from the present, not from a snapshot: the first page's revision is repeated so
    // that a client sees one list.
    let revision = from.as_ref().map_or(current, |c| c.revision);
    let after = from
        .as_ref()
        .map_or(("", ""), |c| (c.namespace.as_str(), c.name.as_str()));
    let all = matching(scope, resource, &target.namespace, after, &selector)?;
    let total = all.len();
    let mut items = all;
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if limit > 0 && total > limit {
        items.truncate(limit);
        if let Some(last) = items.last() {
            let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
            let meta = &last["metadata"];
            let next = Continue {
                revision,
                namespace: text(&meta["namespace"]),
                name: text(&meta["name"]),
            };
            metadata["continue"] = json!(next.encode());
            if selector.is_empty() {
                metadata["remainingItemCount"] = json!(total - limit);
            }
        }
    }
    if resource.custom.is_some()
        && metadata.get("continue").is_none()
        && view::form(call) == ResponseForm::Whole
    {
        metadata["continue"] = json!("");
    }
    Ok(Reply::ok(envelope(
        resource,
        view::form(call),
        metadata,
        items,
    )))
}

/// All objects of the collection that the selector takes.
pub(crate) fn matching(
    scope: &Scope<'_>,
    resource: &Resource,
    namespace: &str,
    after: (&str, &str),
    selector: &Selector,
) -> Result<Vec<Value>, ApiError> {
    let within = if resource.namespaced && namespace.is_empty() {
        None
    } else {
        Some(namespace)
    };
    let all = scope
        .tx
        .list(&resource.group, &resource.plural, within, after, usize::MAX)?;
    Ok(all.into_iter().filter(|o| selector.matches(o)).collect())
}

fn envelope(resource: &Resource, form: ResponseForm, metadata: Value, items: Vec<Value>) -> Value {
    let (kind, version) = match form {
        ResponseForm::Whole => (format!("{}List", resource.kind), resource.api_version()),
        ResponseForm::Metadata => (
            "PartialObjectMetadataList".to_string(),
            "meta.k8s.io/v1".to_string(),
        ),
    };
    let items = items.into_iter().map(|item| {
        let mut item = view::project_as(form, resource, item);
        // Items of a list of built-in objects do not say again what they are.
        let bare = form == ResponseForm::Whole && resource.custom.is_none();
        if let (true, Value::Object(map)) = (bare, &mut item) {
            map.remove("apiVersion");
            map.remove("kind");
        }
        item
    });
    let mut out = Map::new();
    out.insert("kind".into(), json!(kind));
    out.insert("apiVersion".into(), json!(version));
    out.insert("metadata".into(), metadata);
    // The real server builds this list from nothing, and writes nothing as null.
    let items: Vec<_> = items.collect();
    let none = items.is_empty() && form == ResponseForm::Metadata;
    let items = if none {
        Value::Null
    } else {
        Value::Array(items)
    };
    out.insert("items".into(), items);
    Value::Object(out)
}
