//! Manifests as they are shown to users.

use serde_json::{Map, Value};

use crate::diff::{MASK, scrub};
use crate::identity::GroupKind;
use crate::manifest::Manifest;

/// The object, with what a Secret holds masked. Copies of whole objects, as `kubectl apply`
/// leaves them in an annotation, are masked in every kind.
pub fn masked(manifest: &Manifest) -> Map<String, Value> {
    masked_object(
        &manifest.identity().group_kind,
        manifest.object().into_owned(),
    )
}

/// The same of any object.
pub(crate) fn masked_object(
    kind: &GroupKind,
    mut object: Map<String, Value>,
) -> Map<String, Value> {
    if kind.is("", "Secret") {
        for field in ["data", "stringData"] {
            match object.get_mut(field) {
                Some(Value::Object(held)) => {
                    held.values_mut().for_each(|value| *value = MASK.into());
                }
                Some(value) if !value.is_null() => *value = MASK.into(),
                _ => {}
            }
        }
    }
    object.values_mut().for_each(scrub);
    object
}
