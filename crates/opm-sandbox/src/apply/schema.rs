//! The types that objects are made of, as far as merging, ownership and encoding need them.
//!
//! Built-in kinds come from the generated table `data/schema.json`; custom resources bring theirs
//! in the CustomResourceDefinition (`crd_schema`). Defaults and validation rules are not here.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde_json::Value;

use crate::work;

pub(crate) type TypeId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    String,
    Byte,
    Integer,
    Number,
    Boolean,
    Time,
    IntOrString,
    Quantity,
    Untyped,
}

/// How a zero value is encoded: the Go struct tag behind the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zero {
    /// A pointer: dropped only when null.
    Pointer,
    /// Dropped when zero or empty.
    Dropped,
    /// Always written, null when absent.
    Null,
    /// Always written, as a zero value when absent.
    Written,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) ty: TypeId,
    pub(crate) zero: Zero,
    pub(crate) default: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Atomic,
    Set,
    Map(Vec<String>),
}

#[derive(Clone, Debug)]
pub(crate) struct ListType {
    pub(crate) element: TypeId,
    pub(crate) kind: ListKind,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MapType {
    pub(crate) fields: BTreeMap<String, Field>,
    /// The type of entries that are not declared; without one they are refused.
    pub(crate) element: Option<TypeId>,
    pub(crate) atomic: bool,
    /// The fields that nothing stands in for when they are left out.
    pub(crate) required: Vec<String>,
}

/// What a value of a type may be; the untyped ones may be several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atom {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<ListType>,
    pub(crate) map: Option<MapType>,
}

pub(crate) const ANY: TypeId = 0;
pub(crate) const ATOMIC: TypeId = 1;
const SCALARS: TypeId = 2;

#[derive(Clone, Debug)]
pub(crate) struct Schema {
    /// The types that this one adds to; their ids come first.
    base: Option<&'static Schema>,
    atoms: Vec<Atom>,
    names: HashMap<String, TypeId>,
    /// Go's short names of the named types.
    labels: HashMap<TypeId, String>,
}

impl Schema {
    pub(crate) fn new() -> Self {
        let untyped = |element, atomic| Atom {
            scalar: Some(Scalar::Untyped),
            list: Some(ListType {
                element: ATOMIC,
                kind: ListKind::Atomic,
            }),
            map: Some(MapType {
                element: Some(element),
                atomic,
                ..MapType::default()
            }),
        };
        let mut atoms = vec![untyped(ANY, false), untyped(ATOMIC, true)];
        atoms.extend(SCALAR_NAMES.iter().map(|(_, scalar)| match scalar {
            // The server's own converter sees no type here and accepts anything.
            Scalar::IntOrString => untyped(ANY, false),
            scalar => Atom {
                scalar: Some(*scalar),
                ..Atom::default()
            },
        }));
        for (index, (_, scalar)) in SCALAR_NAMES.iter().enumerate() {
            atoms[SCALARS + index].scalar = Some(*scalar);
        }
        Schema {
            base: None,
            atoms,
            names: HashMap::new(),
            labels: HashMap::new(),
        }
    }

    /// An empty schema in which the types of another can be named: nothing of it is copied.
    pub(crate) fn over(base: &'static Schema) -> Self {
        Schema {
            base: Some(base),
            atoms: Vec::new(),
            names: HashMap::new(),
            labels: HashMap::new(),
        }
    }

    fn offset(&self) -> usize {
        self.base.map_or(0, |base| base.offset() + base.atoms.len())
    }

    pub(crate) fn atom(&self, ty: TypeId) -> &Atom {
        match self.base {
            Some(base) if ty < self.offset() => base.atom(ty),
            _ => &self.atoms[ty - self.offset()],
        }
    }

    pub(crate) fn named(&self, name: &str) -> Option<TypeId> {
        let own = self.names.get(name).copied();
        own.or_else(|| self.base.and_then(|base| base.named(name)))
    }

    pub(crate) fn scalar(scalar: Scalar) -> TypeId {
        let position = SCALAR_NAMES.iter().position(|(_, s)| *s == scalar);
        SCALARS + position.unwrap_or(0)
    }

    pub(crate) fn add(&mut self, atom: Atom) -> TypeId {
        work::step(1);
        self.atoms.push(atom);
        self.offset() + self.atoms.len() - 1
    }

    fn declare(&mut self, name: &str) -> TypeId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.add(Atom::default());
        self.names.insert(name.to_string(), id);
        let short = name
            .trim_end_matches("!atomic")
            .rsplit('.')
            .next()
            .unwrap_or_default();
        self.labels.insert(id, short.to_string());
        id
    }

    /// Go's name of a struct type.
    pub(crate) fn label(&self, ty: TypeId) -> Option<&str> {
        let own = self.labels.get(&ty).map(String::as_str);
        own.or_else(|| self.base.and_then(|base| base.label(ty)))
    }

    /// A type as Go writes it.
    pub(crate) fn go_type(&self, ty: TypeId) -> String {
        let atom = self.atom(ty);
        match (&atom.map, &atom.list, atom.scalar) {
            (Some(map), None, _) if map.fields.is_empty() => {
                let element = map
                    .element
                    .map_or_else(|| "interface {}".into(), |e| self.go_type(e));
                format!("map[string]{element}")
            }
            (Some(_), None, _) => format!("v1.{}", self.label(ty).unwrap_or_default()),
            (None, Some(list), _) => format!("[]{}", self.go_type(list.element)),
            (_, _, Some(Scalar::Integer)) => "int32".into(),
            (_, _, Some(Scalar::Number)) => "float64".into(),
            (_, _, Some(Scalar::Boolean)) => "bool".into(),
            (_, _, Some(Scalar::Byte)) => "[]uint8".into(),
            _ => "string".into(),
        }
    }
}

const SCALAR_NAMES: &[(&str, Scalar)] = &[
    ("string", Scalar::String),
    ("byte", Scalar::Byte),
    ("integer", Scalar::Integer),
    ("number", Scalar::Number),
    ("boolean", Scalar::Boolean),
    ("time", Scalar::Time),
    ("int-or-string", Scalar::IntOrString),
    ("quantity", Scalar::Quantity),
    ("untyped", Scalar::Untyped),
];

/// The built-in types, and which of them each `group/version/Kind` is.
pub(crate) struct Builtin {
    pub(crate) schema: Schema,
    kinds: HashMap<String, TypeId>,
}

impl Builtin {
    pub(crate) fn get() -> &'static Builtin {
        static TABLE: OnceLock<Builtin> = OnceLock::new();
        TABLE.get_or_init(|| Builtin::load(include_str!("../../data/schema.json")))
    }

    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        self.kinds.get(&format!("{api_version}/{kind}")).copied()
    }

    /// Every kind, behind its `apiVersion`.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kinds.keys().filter_map(|key| key.rsplit_once('/'))
    }

    fn load(text: &str) -> Builtin {
        let table: Value = serde_json::from_str(text).unwrap_or_default();
        let mut schema = Schema::new();
        let types = table["types"].as_object().cloned().unwrap_or_default();
        for (name, spec) in &types {
            let id = schema.declare(name);
            let built = schema.read(spec);
            schema.atoms[id] = schema.atoms[built].clone();
        }
        // Overrides of a named type's map relation can only be made once all types are known.
        let overrides: Vec<_> = schema
            .names
            .iter()
            .filter(|(n, _)| n.ends_with("!atomic"))
            .collect();
        let overrides: Vec<_> = overrides
            .into_iter()
            .map(|(n, id)| (n.clone(), *id))
            .collect();
        for (name, id) in overrides {
            if let Some(base) = schema.named(name.trim_end_matches("!atomic")) {
                let mut atom = schema.atoms[base].clone();
                if let Some(map) = &mut atom.map {
                    map.atomic = true;
                }
                schema.atoms[id] = atom;
            }
        }
        let kinds = table["kinds"].as_object().into_iter().flatten();
        let kinds = kinds.filter_map(|(k, name)| Some((k.clone(), schema.named(name.as_str()?)?)));
        let kinds = kinds.collect();
        Builtin { schema, kinds }
    }
}

impl Schema {
    /// Reads the compact form that `cargo xtask sandbox-schema` writes.
    fn read(&mut self, spec: &Value) -> TypeId {
        match spec {
            Value::String(name) => match name.strip_prefix('#') {
                Some(named) => self.declare(named),
                None if name == "any" => ANY,
                None if name == "atomic" => ATOMIC,
                None => {
                    let position = SCALAR_NAMES.iter().position(|(n, _)| n == name);
                    SCALARS + position.unwrap_or(SCALAR_NAMES.len() - 1)
                }
            },
            _ => self.read_composite(spec),
        }
    }

    fn read_composite(&mut self, spec: &Value) -> TypeId {
        if let Some(named) = spec["ref"].as_str() {
            let suffix = if spec["atomic"] == true {
                "!atomic"
            } else {
                ""
            };
            return self.declare(&format!("{}{suffix}", named.trim_start_matches('#')));
        }
        let mut atom = Atom::default();
        if let Some(element) = spec.get("list") {
            let element = self.read(element);
            let keys = spec["keys"].as_array().map(|keys| {
                keys.iter()
                    .filter_map(|k| k.as_str().map(str::to_string))
                    .collect::<Vec<_>>()
            });
            let kind = match keys {
                Some(keys) => ListKind::Map(keys),
                None if spec["set"] == true => ListKind::Set,
                None => ListKind::Atomic,
            };
            atom.list = Some(ListType { element, kind });
            return self.add(atom);
        }
        let required = spec["required"].as_array().into_iter().flatten();
        let required = required.filter_map(|name| name.as_str().map(str::to_string));
        let mut map = MapType {
            atomic: spec["atomic"] == true,
            required: required.collect(),
            ..MapType::default()
        };
        map.element = spec.get("map").map(|element| self.read(element));
        for (name, field) in spec["fields"].as_object().into_iter().flatten() {
            let zero = match field[1].as_str() {
                Some("z") => Zero::Dropped,
                Some("n") => Zero::Null,
                Some("r") => Zero::Written,
                _ => Zero::Pointer,
            };
            let field = Field {
                ty: self.read(&field[0]),
                zero,
                default: field.get(2).cloned(),
            };
            map.fields.insert(name.clone(), field);
        }
        atom.map = Some(map);
        self.add(atom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_merge_keys_and_atomic_overrides() {
        let table = Builtin::get();
        let atom = |id| table.schema.atom(id);
        let field = |id: TypeId, name: &str| atom(id).map.as_ref().unwrap().fields[name].ty;
        let deployment = table.kind("apps/v1", "Deployment").unwrap();
        let spec = field(deployment, "spec");
        let pod = field(field(spec, "template"), "spec");
        let containers = atom(field(pod, "containers")).list.as_ref().unwrap();
        assert_eq!(containers.kind, ListKind::Map(vec!["name".into()]));
        let ports = atom(field(containers.element, "ports"))
            .list
            .as_ref()
            .unwrap();
        assert_eq!(
            ports.kind,
            ListKind::Map(vec!["containerPort".into(), "protocol".into()])
        );
        assert!(atom(field(spec, "selector")).map.as_ref().unwrap().atomic);
    }
}
