//! Modules that scenarios write, in the YAML format: a directory each, made anew for each step.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A module to be written.
#[derive(Debug, Clone)]
pub struct Module {
    name: String,
    path: Option<String>,
    version: Option<String>,
    components: Vec<Component>,
}

#[derive(Debug, Clone)]
struct Component {
    name: String,
    after: Vec<String>,
    optional: bool,
    objects: Vec<Value>,
    /// Whether they are the templates of a chart.
    is_chart: bool,
}

impl Module {
    /// A module without path and version, and without components yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            path: None,
            version: None,
            components: Vec::new(),
        }
    }

    /// The module of RFC-0001.
    pub fn minecraft(version: &str) -> Self {
        let mut module = Self::new("minecraft");
        module.path = Some("opmodel.dev/modules/minecraft@v0".to_owned());
        module.version = Some(version.to_owned());
        module
    }

    /// With another version.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        self.version = Some(version.to_owned());
        self
    }

    /// With another path.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// With one more component.
    #[must_use]
    pub fn component(self, name: &str, objects: &[Value]) -> Self {
        self.add(name, &[], false, objects)
    }

    /// With one more component that is a chart, a template for each object. What a template may say
    /// stands in the objects' texts: `{{ .Release.Name }}`.
    #[must_use]
    pub fn chart(self, name: &str, templates: &[Value]) -> Self {
        let mut module = self.add(name, &[], false, templates);
        module.components.last_mut().unwrap().is_chart = true;
        module
    }

    /// With one more component that comes after others.
    #[must_use]
    pub fn component_after(self, name: &str, after: &[&str], objects: &[Value]) -> Self {
        self.add(name, after, false, objects)
    }

    /// With one more component that is applied only when selected.
    #[must_use]
    pub fn optional(self, name: &str, objects: &[Value]) -> Self {
        self.add(name, &[], true, objects)
    }

    fn add(mut self, name: &str, after: &[&str], optional: bool, objects: &[Value]) -> Self {
        self.components.push(Component {
            name: name.to_owned(),
            after: after.iter().map(|a| (*a).to_owned()).collect(),
            optional,
            objects: objects.to_vec(),
            is_chart: false,
        });
        self
    }

    /// All objects that it renders.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.components.iter().flat_map(|c| &c.objects)
    }

    /// Writes the module below `parent`, replacing what an earlier step wrote there.
    pub fn write(&self, parent: &Path) -> PathBuf {
        let dir = parent.join(&self.name);
        if dir.exists() {
            std::fs::remove_dir_all(&dir).unwrap();
        }
        std::fs::create_dir_all(&dir).unwrap();
        let mut metadata = json!({"name": self.name});
        if let Some(path) = &self.path {
            metadata["path"] = json!(path);
        }
        if let Some(version) = &self.version {
            metadata["version"] = json!(version);
        }
        let components: Vec<Value> = self.components.iter().map(|c| c.write(&dir)).collect();
        let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
            "metadata": metadata, "components": components});
        std::fs::write(dir.join("module.yaml"), module.to_string()).unwrap();
        dir
    }
}

impl Component {
    fn write_chart(&self, dir: &Path) -> Value {
        let path = format!("charts/{}", self.name);
        let templates = dir.join(&path).join("templates");
        std::fs::create_dir_all(&templates).unwrap();
        let chart = json!({"apiVersion": "v2", "name": self.name, "version": "1.0.0"});
        std::fs::write(dir.join(&path).join("Chart.yaml"), chart.to_string()).unwrap();
        for (number, object) in self.objects.iter().enumerate() {
            let file = templates.join(format!("{number:02}.yaml"));
            std::fs::write(file, object.to_string()).unwrap();
        }
        json!({"name": self.name, "chart": {"path": path}})
    }

    fn write_manifests(&self, dir: &Path) -> Value {
        let file = format!("{}.yaml", self.name);
        let documents: Vec<String> = self.objects.iter().map(Value::to_string).collect();
        std::fs::write(dir.join(&file), documents.join("\n---\n")).unwrap();
        json!({"name": self.name, "manifests": [file]})
    }

    fn write(&self, dir: &Path) -> Value {
        let mut component = match self.is_chart {
            true => self.write_chart(dir),
            false => self.write_manifests(dir),
        };
        if !self.after.is_empty() {
            component["after"] = json!(self.after);
        }
        if self.optional {
            component["optional"] = json!(true);
        }
        component
    }
}
