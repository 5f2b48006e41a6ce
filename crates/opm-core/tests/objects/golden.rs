//! The golden vectors, character by character: release ids, serialized manifests, digests and
//! change ids, as Go's own encoding/json makes them.

use opm_core::canonical;
use opm_core::digest::ManifestDigest;
use opm_core::ids::{ChangeId, ReleaseId};
use opm_core::manifest::Manifest;
use opm_core::name::{ModulePath, NamespaceName, ReleaseName};
use opm_core::weight::digest_order;
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/inventory.json")).unwrap()
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} is no text in {vector}"))
}

#[test]
fn release_ids() {
    let golden = golden();
    let vectors = golden["releaseIds"].as_array().unwrap();
    assert_eq!(vectors.len(), 5);
    for vector in vectors {
        let id = ReleaseId::of(
            &ModulePath::new(text(vector, "modulePath")).unwrap(),
            &ReleaseName::new(text(vector, "releaseName")).unwrap(),
            &NamespaceName::new(text(vector, "namespace")).unwrap(),
        );
        assert_eq!(id.to_string(), text(vector, "releaseId"), "{vector}");
    }
}

/// The examples of docs/release-ids.md are the vectors, all of them, in their order.
#[test]
fn the_documented_release_ids_are_the_vectors() {
    let page = include_str!("../../../../docs/release-ids.md");
    let rows = page.lines().filter_map(|line| {
        let cells = line.strip_prefix("| `")?.strip_suffix("` |")?;
        Some(cells.split("` | `").collect::<Vec<_>>())
    });
    let golden = golden();
    let vectors = golden["releaseIds"].as_array().unwrap().iter();
    let expected = vectors.map(|vector| {
        let [path, name, namespace, id] =
            ["modulePath", "releaseName", "namespace", "releaseId"].map(|f| text(vector, f));
        let hashed = format!("{}:{name}:{namespace}", path.split('@').next().unwrap());
        let computed = uuid::Uuid::new_v5(
            &text(&golden, "releaseIdNamespace").parse().unwrap(),
            hashed.as_bytes(),
        );
        assert_eq!(computed.to_string(), id, "the formula of the page");
        [path, name, namespace, &hashed, id].map(str::to_owned)
    });
    assert_eq!(rows.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert!(page.contains(text(&golden, "releaseIdNamespace")));
}

#[test]
fn the_namespace_of_release_ids_is_that_of_opmodel_dev() {
    let namespace = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_DNS, b"opmodel.dev");
    assert_eq!(namespace.to_string(), text(&golden(), "releaseIdNamespace"));
}

#[test]
fn changes() {
    let golden = golden();
    let vectors = golden["changes"].as_array().unwrap();
    assert_eq!(vectors.len(), 7);
    for vector in vectors {
        let name = text(vector, "name");
        let objects = vector["objects"].as_array().unwrap();
        let mut manifests: Vec<Manifest> = objects
            .iter()
            .map(|object| Manifest::parse(object.clone()).unwrap())
            .collect();
        let digest = ManifestDigest::of(&manifests);
        manifests.sort_by(|a, b| digest_order(a.identity(), b.identity()));
        let serialized: Vec<String> = manifests
            .iter()
            .map(|m| String::from_utf8(canonical::object_bytes(&m.object())).unwrap())
            .collect();
        assert_eq!(serialized.join("\n"), text(vector, "serialized"), "{name}");
        assert_eq!(digest.as_str(), text(vector, "manifestDigest"), "{name}");
        let change = ChangeId::of(
            text(vector, "path"),
            vector["version"].as_str(),
            text(vector, "values"),
            &digest,
        );
        assert_eq!(change.as_str(), text(vector, "changeId"), "{name}");
    }
}
