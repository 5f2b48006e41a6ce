//! The entry point for objects: any bytes, read as JSON and taken through everything that looks
//! at a single object. Nothing may panic, and what is read must survive its own bytes.

use opm_core::candidate::{Candidate, Selection};
use opm_core::canonical;
use opm_core::diff::diff;
use opm_core::identity::ObjectSelector;
use opm_core::immutable::changed_immutable_fields;
use opm_core::labels::OwnerLabels;
use opm_core::manifest::Manifest;
use opm_core::name::{ComponentName, ModuleName, ModulePath, NamespaceName, ReleaseName};
use opm_core::rendered::{Component, Module, Rendered};
use opm_core::scope::Scopes;
use opm_core::values;
use serde_json::Value;

/// Takes any bytes.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    names(text);
    if let Ok(values) = values::Value::from_json(text) {
        let hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!values.to_cue().contains(hidden));
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    bytes_read_back(&value);
    if let Ok(manifest) = Manifest::parse(value) {
        object(&manifest);
        candidate(manifest);
    }
}

fn names(text: &str) {
    if let Ok(name) = ReleaseName::new(text) {
        assert!(name.as_str().len() <= 63);
    }
    if let Ok(path) = ModulePath::new(text) {
        assert!(
            !path
                .without_major()
                .split('/')
                .any(|part| part == ".." || part.is_empty())
        );
    }
    if let Ok(selector) = text.parse::<ObjectSelector>() {
        assert_eq!(selector.to_string(), text);
    }
}

fn bytes_read_back(value: &Value) {
    let bytes = canonical::value_bytes(value);
    let again: Value = serde_json::from_slice(&bytes).expect("canonical bytes are JSON");
    assert_eq!(canonical::value_bytes(&again), bytes);
}

fn object(manifest: &Manifest) {
    let identity = manifest.identity();
    assert!(!identity.name.contains(['/', '%']) && identity.name != "..");
    let object = &manifest.object();
    assert!(diff(&identity.group_kind, object, object).is_empty());
    assert!(changed_immutable_fields(&identity.group_kind, object, object).is_empty());
    let _ = OwnerLabels::read(object);
}

fn candidate(manifest: Manifest) {
    let before = manifest.clone();
    let Ok(first) = release_of(manifest) else {
        return;
    };
    let sent = &first.objects[0].manifest;
    assert_eq!(sent.identity().name, before.identity().name);
    assert!(
        sent.object().get("stringData").is_none() || !sent.identity().group_kind.is("", "Secret")
    );
    let _ = diff(
        &sent.identity().group_kind,
        &before.object(),
        &sent.object(),
    );
    let again = release_of(sent.clone()).expect("what is sent can be rendered again");
    assert_eq!((again.digest, again.change), (first.digest, first.change));
}

fn release_of(manifest: Manifest) -> Result<Candidate, opm_core::candidate::CandidateError> {
    let module = Module {
        path: ModulePath::new("example.com/fuzz@v0").expect("a path"),
        ..Module::local(ModuleName::new("fuzz").expect("a name"))
    };
    let component = Component::new(ComponentName::new("app").expect("a name"), vec![manifest]);
    Candidate::new(
        Rendered::new(module, vec![component]),
        ReleaseName::new("fuzz").expect("a name"),
        NamespaceName::new("default").expect("a name"),
        &Selection::default(),
        Scopes::default(),
    )
}
