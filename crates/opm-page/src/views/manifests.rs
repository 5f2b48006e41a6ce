//! What is recorded of a change's objects.

use maud::{Markup, html};
use opm_core::identity::GroupKind;
use opm_core::owned::OwnedObject;
use opm_engine::ShownManifests;
use serde_json::Value;

use super::{Part, Text, change, heading, object, segment};

pub(crate) fn view(shown: &ShownManifests, address: &str, page: usize) -> Markup {
    let release = &shown.release;
    let part = Part::of(shown.objects.len(), page);
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), "/manifests"))
        h2 { "As applied in " (change(&shown.change)) }
        p { "What Secrets hold is not shown. " a href={ (address) "/history" } { "Other changes" } }
        @for one in part.lines(shown.objects.iter()) {
            details {
                summary { (Text(name(&one.object))) " " small { (Text(&one.component)) } }
                (object::lines(&name(&one.object), &as_lines(&one.object)))
            }
        }
        (part.ways(|page| format!("{address}/manifests?to={}&page={page}", segment(&shown.change))))
    }
}

/// What is masked already is so once more: nothing else of the kind matters here.
fn as_lines(object: &serde_json::Map<String, Value>) -> OwnedObject {
    let kind = object.get("kind").and_then(Value::as_str);
    OwnedObject::unowned(
        &GroupKind::new("", kind.unwrap_or_default()),
        object.clone(),
    )
}

fn name(object: &serde_json::Map<String, Value>) -> String {
    let kind = object.get("kind").and_then(Value::as_str);
    let metadata = object.get("metadata");
    let name = metadata.and_then(|metadata| metadata.get("name")?.as_str());
    format!("{}/{}", kind.unwrap_or("?"), name.unwrap_or("?"))
}
