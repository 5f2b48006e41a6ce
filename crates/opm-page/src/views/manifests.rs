//! What is recorded of a change's objects.

use maud::{Markup, html};
use opm_engine::ShownManifests;
use serde_json::Value;

use super::{Text, change, heading};

pub(crate) fn view(shown: &ShownManifests, address: &str) -> Markup {
    let release = &shown.release;
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), "/manifests"))
        h2 { "As applied in " (change(&shown.change)) }
        p { "What Secrets hold is not shown. " a href={ (address) "/history" } { "Other changes" } }
        @for one in &shown.objects {
            details {
                summary { (Text(name(&one.object))) " " small { (Text(&one.component)) } }
                pre tabindex="0" {
                    (Text(serde_json::to_string_pretty(&one.object).unwrap_or_default()))
                }
            }
        }
    }
}

fn name(object: &serde_json::Map<String, Value>) -> String {
    let kind = object.get("kind").and_then(Value::as_str);
    let metadata = object.get("metadata");
    let name = metadata.and_then(|metadata| metadata.get("name")?.as_str());
    format!("{}/{}", kind.unwrap_or("?"), name.unwrap_or("?"))
}
