//! The entry point for YAML: any text, read as documents, and as the file of a module. Nothing
//! may panic, what is written reads back equal, and no file outside of the module is read.

use std::path::PathBuf;
use std::sync::OnceLock;

use opm_render::{Inputs, ModuleRef, NoObserver, RenderSettings, load, yaml};

/// What stands beside the module, and is none of its business.
const OUTSIDE: &str = "hunter2";

/// Takes any bytes.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(documents) = yaml::documents(text) {
        let values: Vec<_> = documents.into_iter().map(|one| one.value).collect();
        let written = yaml::write(&values).expect("what was read can be written");
        let again = yaml::documents(&written).expect("what was written can be read");
        // Nulls are left out of a stream.
        let again = again.into_iter().map(|one| one.value);
        assert!(again.eq(values.into_iter().filter(|value| !value.is_null())));
    }
    let module = directory();
    std::fs::write(module.join("module.yaml"), data).expect("a writable directory");
    let settings = RenderSettings {
        cue: PathBuf::from("/nowhere/cue"),
        ..RenderSettings::default()
    };
    let loaded = load(
        &ModuleRef::Directory(module.clone()),
        &Inputs::default(),
        &settings,
        &NoObserver,
    );
    match loaded {
        Ok(loaded) => assert!(!format!("{:?}", loaded.rendered).contains(OUTSIDE)),
        Err(error) => assert!(!error.to_string().contains(OUTSIDE), "{error}"),
    }
}

/// A directory for the module, with a file inside and one outside, of this process alone.
fn directory() -> &'static PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let outside = std::env::temp_dir().join(format!("opm-yaml-{}", std::process::id()));
        let module = outside.join("module");
        std::fs::create_dir_all(&module).expect("a writable directory");
        let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        std::fs::write(module.join("app.yaml"), object).expect("a writable directory");
        let secret = object.replace("{name: a}", &format!("{{name: {OUTSIDE}}}"));
        std::fs::write(outside.join("outside.yaml"), secret).expect("a writable directory");
        module
    })
}
