//! LIST: selectors, pages, and the forms of `view`.

use base64::Engine;
use serde_json::{Map, Value, json};

use super::select::Selector;
use super::view::{self, ResponseForm};
use super::{Scope, options};
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
    options::check_list(call, false)?;
    let selector = Selector::read(call, resource)?;
    let limit = options::number(call, "limit")?.unwrap_or(0);
    let limit = usize::try_from(limit).ok().filter(|l| *l > 0);
    options::version(call)
        .map_err(|e| ApiError::bad_request(format!("invalid resource version: {e}")))?;
    let from = match call.query.get("continue").filter(|c| !c.is_empty()) {
        Some(token) => Some(Continue::decode(token).ok_or_else(|| {
            ApiError::bad_request(
                "invalid continue token: continue key is not valid: invalid character",
            )
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
    let listing = Listing {
        scope,
        resource,
        namespace: &target.namespace,
        selector: &selector,
    };
    let mut items = listing.read(after, limit.map_or(usize::MAX, |l| l + 1))?;
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if let Some(limit) = limit.filter(|l| items.len() > *l) {
        items.truncate(limit);
        if let Some(last) = items.last() {
            let (namespace, name) = place(last);
            if selector.is_empty() {
                let left = listing.count((&namespace, &name))?;
                metadata["remainingItemCount"] = json!(left);
            }
            let next = Continue {
                revision,
                namespace,
                name,
            };
            metadata["continue"] = json!(next.encode());
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
    selector: &Selector,
) -> Result<Vec<Value>, ApiError> {
    let listing = Listing {
        scope,
        resource,
        namespace,
        selector,
    };
    listing.read(("", ""), usize::MAX)
}

/// How many objects are read at a time, where not all of them are wanted.
const CHUNK: usize = 500;

/// A collection, and what is wanted of it.
struct Listing<'a> {
    scope: &'a Scope<'a>,
    resource: &'a Resource,
    namespace: &'a str,
    selector: &'a Selector,
}

impl Listing<'_> {
    fn within(&self) -> Option<&str> {
        let all = self.resource.namespaced && self.namespace.is_empty();
        (!all).then_some(self.namespace)
    }

    /// The first objects after a place: no more are read than it takes to find so many.
    fn read(&self, after: (&str, &str), most: usize) -> Result<Vec<Value>, ApiError> {
        let (group, plural) = (&self.resource.group, &self.resource.plural);
        let mut after = (after.0.to_string(), after.1.to_string());
        let mut found = Vec::new();
        while found.len() < most {
            let chunk = match most {
                usize::MAX => most,
                _ if self.selector.is_empty() => most - found.len(),
                _ => CHUNK,
            };
            let position = (after.0.as_str(), after.1.as_str());
            let tx = self.scope.tx;
            let read = tx.list(group, plural, self.within(), position, chunk)?;
            let ended = read.len() < chunk;
            if let Some(last) = read.last() {
                after = place(last);
            }
            found.extend(read.into_iter().filter(|o| self.selector.matches(o)));
            if ended {
                break;
            }
        }
        found.truncate(most);
        Ok(found)
    }

    fn count(&self, after: (&str, &str)) -> Result<i64, ApiError> {
        let (group, plural) = (&self.resource.group, &self.resource.plural);
        Ok(self.scope.tx.count(group, plural, self.within(), after)?)
    }
}

fn place(object: &Value) -> (String, String) {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    (text("namespace").to_string(), text("name").to_string())
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
