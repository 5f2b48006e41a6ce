//! What Kubernetes made of a release's objects.

use maud::{Markup, html};
use opm_core::below::TreeNode;
use opm_engine::status::ReleaseTree;

use super::{Text, heading, object, object_address, release_address, state, warnings};

pub(crate) fn view(tree: &ReleaseTree) -> Markup {
    let release = &tree.release;
    let address = release_address(release.namespace.as_str(), release.name.as_str());
    html! {
        (heading(release.namespace.as_str(), release.name.as_str(), "/tree"))
        (warnings(&tree.warnings))
        @for component in &tree.components {
            section {
                h2 { (Text(&component.name)) }
                div.wide { (nodes(&component.objects, &address)) }
            }
        }
    }
}

fn nodes(objects: &[TreeNode], address: &str) -> Markup {
    html! {
        ul.tree { @for node in objects { li {
            a href=(object_address(address, &node.identity)) { (object(&node.identity)) } " "
            @match (&node.health, &node.uid) {
                (Some(health), _) => {
                    (state(health.state.word()))
                    " " small { (Text(&health.message)) }
                }
                (None, None) => { "not there, or not to be seen" }
                (None, Some(_)) => {}
            }
            @if !node.owned.is_empty() { (nodes(&node.owned, address)) }
        } } }
    }
}
