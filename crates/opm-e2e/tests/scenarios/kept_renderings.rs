//! What a CUE module renders to is kept, and used as long as nothing that goes in changes.

use std::path::{Path, PathBuf};

use opm_e2e::{World, scenarios};
use sha2::{Digest as _, Sha256};

scenarios! {
    a_rendering_that_is_kept_needs_no_cue,
    what_is_damaged_or_switched_off_is_rendered_anew,
}

/// The module of the examples, in the scenario's own directory.
fn module(w: &World) -> String {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/minecraft-cue");
    let to = w.dir().join("minecraft");
    copy(&from, &to);
    to.display().to_string()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => _ = std::fs::copy(entry.path(), target).unwrap(),
        }
    }
}

fn kept(w: &World) -> Vec<PathBuf> {
    let found = std::fs::read_dir(w.dir().join(".cache/opm/renderings"));
    let found = found.into_iter().flatten().flatten();
    found.map(|entry| entry.path()).collect()
}

async fn built(w: &World, module: &str, more: &[&str]) -> String {
    let arguments = [&["mod", "build", module], more].concat();
    w.opm(&arguments).await.ok().stdout().to_owned()
}

/// Puts another word into what is kept, so that it shows where a rendering comes from.
fn mark(file: &Path) {
    let bytes = std::fs::read(file).unwrap();
    let text = String::from_utf8(bytes[32..].to_vec()).unwrap();
    let body = text.replace("itzg", "from-memory");
    assert_ne!(body, text);
    let mut marked = Sha256::digest(&body).to_vec();
    marked.extend(body.as_bytes());
    std::fs::write(file, marked).unwrap();
}

async fn a_rendering_that_is_kept_needs_no_cue(w: World) {
    let module = module(&w);
    let first = built(&w, &module, &[]).await;
    let [file] = kept(&w).try_into().expect("one rendering");
    assert_eq!(built(&w, &module, &[]).await, first);
    mark(&file);
    let again = built(&w, &module, &[]).await;
    assert!(again.contains("from-memory"), "{again}");
    // A byte more is another module.
    let source = Path::new(&module).join("module.cue");
    let text = std::fs::read_to_string(&source).unwrap();
    std::fs::write(&source, format!("{text}\n")).unwrap();
    assert_eq!(built(&w, &module, &[]).await, first);
    assert_eq!(kept(&w).len(), 2);
}

async fn what_is_damaged_or_switched_off_is_rendered_anew(w: World) {
    let module = module(&w);
    let first = built(&w, &module, &[]).await;
    let [file] = kept(&w).try_into().expect("one rendering");
    mark(&file);
    let off = built(&w, &module, &["--render-cache=false"]).await;
    assert_eq!(off, first);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.truncate(40);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(built(&w, &module, &[]).await, first);
}
