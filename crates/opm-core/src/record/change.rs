//! One recorded state of a release.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::field::{FieldReader, FieldWriter, StoredObject, StoredValue, missing, stored_fields};
use super::{Finding, RecordPart, RecordRef};
use crate::entry::Entry;
use crate::identity::{GroupKind, Identity};
use crate::name::LOCAL;

/// JSON fields that this version does not know, carried along unread.
#[derive(Clone, PartialEq, Default)]
pub struct Extra(pub Map<String, Value>);

impl fmt::Debug for Extra {
    /// Names only: the values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The resolved values of a change, as CUE text.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Values(pub String);

impl fmt::Debug for Values {
    /// The length only: values may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Values({} bytes)", self.0.len())
    }
}

impl StoredValue for Values {
    fn read(value: Value) -> Result<Self, Finding> {
        String::read(value).map(Self)
    }

    fn write(&self) -> Value {
        self.0.write()
    }
}

/// A part of the record that may have moved into a record Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<T> {
    /// It is in the release's own Secret.
    Here(T),
    /// It is in the record Secrets that the same change (or `pending`) names.
    InRecord,
}

impl<T> Body<T> {
    /// The value, if it is here.
    pub fn here(&self) -> Option<&T> {
        match self {
            Self::Here(value) => Some(value),
            Self::InRecord => None,
        }
    }

    /// The value, to be changed, if it is here.
    pub(super) fn here_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Here(value) => Some(value),
            Self::InRecord => None,
        }
    }

    /// Whether it has moved into record Secrets.
    pub fn moved(&self) -> bool {
        matches!(self, Self::InRecord)
    }
}

impl<T: StoredValue> StoredValue for Body<T> {
    fn absent() -> Option<Self> {
        Some(Self::InRecord)
    }

    fn read(value: Value) -> Result<Self, Finding> {
        T::read(value).map(Self::Here)
    }

    fn write(&self) -> Value {
        self.here().map_or(Value::Null, T::write)
    }
}

/// The module that a change applied.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleRef {
    /// Its path.
    pub path: String,
    /// Its version; none is written as `"local": true`.
    pub version: Option<String>,
    /// Its declared name.
    pub name: String,
    /// Where a module without a path comes from; not part of the change id.
    pub origin: Option<String>,
    /// Which archives its charts are that were fetched, by component: reference, version and
    /// digest. Not part of the change id.
    pub charts: BTreeMap<String, String>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

/// As documents name a module: with a version, or as a local one.
impl Serialize for ModuleRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ModuleRef", 3)?;
        fields.serialize_field("path", &self.path)?;
        match &self.version {
            Some(version) => fields.serialize_field("version", version)?,
            None => fields.serialize_field("local", &true)?,
        }
        fields.serialize_field("name", &self.name)?;
        if !self.charts.is_empty() {
            fields.serialize_field("charts", &self.charts)?;
        }
        fields.end()
    }
}

impl ModuleRef {
    /// Whether its path is one that no registry has, because the module declares none.
    pub fn has_local_path(&self) -> bool {
        self.path.starts_with(LOCAL)
    }
}

impl StoredObject for ModuleRef {
    fn read_fields(fields: &mut FieldReader) -> Result<Self, Finding> {
        let local: bool = fields.or_default("local")?;
        let version: Option<String> = fields.field("version")?;
        Ok(Self {
            version: version.filter(|version| !local && !version.is_empty()),
            path: fields.field("path")?,
            name: fields.field("name")?,
            origin: fields.field("origin")?,
            charts: fields.or_default("charts")?,
            extra: fields.rest()?,
        })
    }

    fn write_fields(&self, fields: &mut FieldWriter) {
        fields.field("path", &self.path);
        fields.field("version", &self.version);
        fields.or_default("local", &self.version.is_none());
        fields.field("name", &self.name);
        fields.field("origin", &self.origin);
        fields.or_default("charts", &self.charts);
        fields.rest(&self.extra);
    }
}

/// An entry of a change. Those of the current change know uid and hash.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEntry {
    /// Which object, and what the apply learned about it.
    pub entry: Entry,
    /// Fields that this version does not know.
    pub extra: Extra,
}

stored_fields!(RecordedEntry {
    entry: flat(),
    extra: rest(),
});

/// As RFC-0001 spells it: group, namespace and component may be left out when they are empty.
impl StoredObject for Entry {
    fn read_fields(fields: &mut FieldReader) -> Result<Self, Finding> {
        let group: String = fields.field("group")?;
        let group_kind = GroupKind::new(group, fields.nonempty("kind")?);
        let namespace: Option<String> = fields.field("namespace")?;
        let identity = Identity {
            group_kind,
            namespace: namespace.filter(|namespace| !namespace.is_empty()),
            name: fields.nonempty("name")?,
        };
        Ok(Self {
            identity,
            version: fields.nonempty("v")?,
            component: fields.field("component")?,
            uid: fields.field("uid")?,
            hash: fields.hash("hash")?,
            template: fields.field("template")?,
        })
    }

    fn write_fields(&self, fields: &mut FieldWriter) {
        let Identity {
            group_kind,
            namespace,
            name,
        } = &self.identity;
        fields.field("group", &group_kind.group);
        fields.field("kind", &group_kind.kind);
        fields.field("namespace", &namespace.clone().unwrap_or_default());
        fields.field("name", name);
        fields.field("v", &self.version);
        fields.field("component", &self.component);
        fields.field("uid", &self.uid);
        fields.hash("hash", &self.hash);
        fields.field("template", &self.template);
    }
}

impl From<Entry> for RecordedEntry {
    fn from(entry: Entry) -> Self {
        Self {
            entry,
            extra: Extra::default(),
        }
    }
}

/// The objects that a change applied, in apply order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inventory {
    /// The entries.
    pub entries: Vec<RecordedEntry>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

stored_fields!(Inventory {
    entries: field("entries"),
    extra: rest(),
});

/// One recorded state of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its id, which is also its data key.
    pub id: String,
    /// The module it applied.
    pub module: ModuleRef,
    /// The resolved values.
    pub values: Body<Values>,
    /// The digest of the rendered manifests.
    pub manifest_digest: String,
    /// When it was recorded last.
    pub timestamp: String,
    /// The objects it applied.
    pub inventory: Body<Inventory>,
    /// The selected optional components; none in a record that knows only RFC-0001.
    pub components: Option<Vec<String>>,
    /// The feature flags it was rendered with.
    pub features: Option<BTreeMap<String, bool>>,
    /// Which components come after which others, where any do: applying the change again keeps
    /// to it.
    pub order: BTreeMap<String, Vec<String>>,
    /// The moments at which it has hooks, where it has any: they are among its manifests.
    pub hooks: Vec<String>,
    /// The paths of the values that were given, and not the module's own.
    pub set: Vec<String>,
    /// The change that was current before it.
    pub parent: Option<String>,
    /// Where the rest of it is.
    pub record: Option<RecordRef>,
    /// Fields that this version does not know.
    pub extra: Extra,
}

stored_fields!(Change {
    id: data_key(),
    module: field("module"),
    record: field("record"),
    values: field("values"),
    inventory: field("inventory"),
    manifest_digest: field("manifestDigest"),
    timestamp: field("timestamp"),
    components: field("components"),
    features: field("features"),
    order: or_default("order"),
    hooks: or_default("hooks"),
    set: or_default("set"),
    parent: field("parent"),
    extra: rest(),
} then Self::with_values_and_inventory);

impl Change {
    /// Values that are nowhere are empty; an inventory that is nowhere is damage.
    fn with_values_and_inventory(mut self) -> Result<Self, Finding> {
        let record = self.record.as_ref();
        let elsewhere = |part| record.is_some_and(|record| record.mentions(part));
        if self.inventory.moved() && !elsewhere(RecordPart::Inventory) {
            return Err(missing("inventory"));
        }
        if self.values.moved() && !elsewhere(RecordPart::Values) {
            self.values = Body::Here(Values::default());
        }
        Ok(self)
    }

    /// Whether the record Secrets have this part.
    pub fn holds(&self, part: RecordPart) -> bool {
        let record = self.record.as_ref();
        record.is_some_and(|record| record.parts.contains_key(&part))
    }

    /// The entries, if they are here.
    pub fn entries(&self) -> &[RecordedEntry] {
        self.inventory
            .here()
            .map_or(&[], |inventory| &inventory.entries)
    }
}
