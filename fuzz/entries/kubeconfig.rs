//! The entry point for kubeconfigs: any bytes, as the file that names a cluster. Nothing may
//! panic.

use std::path::PathBuf;

use opm_cluster::{Environment, context_namespace};

/// Takes any bytes.
pub(crate) fn run(data: &[u8]) {
    let file = format!("opm-kubeconfig-{}", std::process::id());
    let file: PathBuf = std::env::temp_dir().join(file);
    std::fs::write(&file, data).expect("a writable directory");
    for context in [None, Some("one"), Some("")] {
        let chosen = context_namespace(Some(&file), context, &Environment::default());
        // The message may name contexts, and these may be called anything by now.
        let _ = chosen.map_err(|error| error.to_string());
    }
    std::fs::remove_file(&file).expect("a writable directory");
}
