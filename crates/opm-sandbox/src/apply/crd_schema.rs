//! Types of custom resources, from the `openAPIV3Schema` of one version of their definition.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::schema::{
    ANY, ATOMIC, Atom, Builtin, Field, ListKind, ListType, MapType, Scalar, Schema, TypeId, Zero,
};

/// The schema of a custom resource and the type of its root.
pub(crate) fn from_definition(open_api: Option<&Value>) -> (Schema, TypeId) {
    let mut schema = Schema::over(&Builtin::get().schema);
    let Some(root) = open_api.filter(|v| v.is_object()) else {
        return (schema, ANY);
    };
    let mut root = root.clone();
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let meta = schema.named(meta).unwrap_or(ANY);
    if let Value::Object(map) = &mut root {
        map.entry("type").or_insert(json!("object"));
        map.entry("properties").or_insert(json!({}));
    }
    let id = convert(&mut schema, &root, false);
    let mut atom = schema.atom(id).clone();
    let map = atom.map.get_or_insert_with(MapType::default);
    let field = |ty| Field {
        ty,
        zero: Zero::Pointer,
        default: None,
    };
    map.fields.insert("metadata".into(), field(meta));
    for name in ["apiVersion", "kind"] {
        map.fields
            .insert(name.into(), field(Schema::scalar(Scalar::String)));
    }
    let id = schema.add(atom);
    (schema, id)
}

fn convert(schema: &mut Schema, spec: &Value, preserve: bool) -> TypeId {
    let preserve = preserve || spec["x-kubernetes-preserve-unknown-fields"] == true;
    let scalar = |s| Schema::scalar(s);
    if spec["x-kubernetes-int-or-string"] == true {
        return scalar(Scalar::IntOrString);
    }
    match spec["type"].as_str() {
        Some("object") => {
            let map = Some(convert_object(schema, spec, preserve));
            schema.add(Atom {
                map,
                ..Atom::default()
            })
        }
        Some("array") => {
            let list = Some(convert_list(schema, spec, preserve));
            schema.add(Atom {
                list,
                ..Atom::default()
            })
        }
        Some("integer") => scalar(Scalar::Integer),
        Some("number") => scalar(Scalar::Number),
        Some("boolean") => scalar(Scalar::Boolean),
        Some("string") => match spec["format"].as_str() {
            None | Some("" | "byte") => scalar(Scalar::String),
            Some(_) => scalar(Scalar::Untyped),
        },
        _ => {
            let atom = Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(convert_list(schema, spec, preserve)),
                map: Some(convert_object(schema, spec, preserve)),
            };
            schema.add(atom)
        }
    }
}

fn convert_object(schema: &mut Schema, spec: &Value, preserve: bool) -> MapType {
    let properties = spec["properties"].as_object();
    let mut fields = BTreeMap::new();
    for (name, property) in properties.into_iter().flatten() {
        let ty = convert(schema, property, preserve);
        let default = property.get("default").cloned();
        fields.insert(
            name.clone(),
            Field {
                ty,
                zero: Zero::Pointer,
                default,
            },
        );
    }
    if spec["x-kubernetes-embedded-resource"] == true {
        let ty = schema
            .named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
            .unwrap_or(ANY);
        let text = Schema::scalar(Scalar::String);
        for (name, ty) in [("metadata", ty), ("apiVersion", text), ("kind", text)] {
            let field = Field {
                ty,
                zero: Zero::Pointer,
                default: None,
            };
            fields.entry(name.into()).or_insert(field);
        }
    }
    let element = match spec.get("additionalProperties") {
        Some(Value::Bool(allowed)) => allowed.then_some(ANY),
        Some(element) => Some(convert(schema, element, preserve)),
        None if preserve || properties.is_none_or(|p| p.is_empty()) => Some(ANY),
        None => None,
    };
    MapType {
        fields,
        element,
        atomic: spec["x-kubernetes-map-type"] == "atomic",
        // `custom_validate` looks at these, once defaults are filled in.
        required: Vec::new(),
    }
}

fn convert_list(schema: &mut Schema, spec: &Value, preserve: bool) -> ListType {
    let element = match spec.get("items").filter(|i| i.is_object()) {
        Some(items) => convert(schema, items, preserve),
        None => ATOMIC,
    };
    let kind = match spec["x-kubernetes-list-type"].as_str() {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys = spec["x-kubernetes-list-map-keys"]
                .as_array()
                .into_iter()
                .flatten();
            ListKind::Map(
                keys.filter_map(|k| k.as_str().map(str::to_string))
                    .collect(),
            )
        }
        _ => ListKind::Atomic,
    };
    ListType { element, kind }
}
