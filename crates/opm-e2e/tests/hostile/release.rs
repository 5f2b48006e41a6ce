//! A release that has seen something: two changes, a kept object, a Secret. Each case gets a copy.

use std::fs;
use std::path::{Path, PathBuf};

use opm_e2e::Module;
use opm_e2e::objects::{config_map, deployment, secret, volume_claim};
use opm_sandbox::Sandbox;
use opm_testkit::{Opm, Target};
use tempfile::TempDir;

/// The namespace of the release.
pub(crate) const NAMESPACE: &str = "hostile";

/// A cluster with a release, kept in files.
pub(crate) struct PreparedRelease {
    dir: TempDir,
}

impl PreparedRelease {
    /// Applies two changes to an embedded cluster.
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let opm = Opm::new(Target::Sandbox(dir.path().join("sandbox")), dir.path());
        let opm = opm.env("OPM_NAMESPACE", NAMESPACE);
        let first = [
            config_map("a", "1"),
            volume_claim("world"),
            secret("s", "hidden"),
        ];
        let second = [
            config_map("a", "2"),
            config_map("b", "1"),
            deployment("web"),
            secret("s", "hidden"),
        ];
        for objects in [&first[..], &second[..]] {
            Module::new("web")
                .component("app", objects)
                .write(dir.path());
            let apply = ["mod", "apply", "web", "--yes", "--create-namespace"];
            opm.run(apply).await.ok();
        }
        // What is applied in a case differs from what is there.
        let third = [
            config_map("a", "3"),
            config_map("c", "1"),
            deployment("web"),
        ];
        Module::new("web")
            .component("app", &third)
            .write(dir.path());
        Self { dir }
    }

    /// A copy of the cluster, and of the module, below `to`.
    pub(crate) fn copy(&self, to: &Path) -> Sandbox {
        copy(&self.dir.path().join("web"), &to.join("web"));
        let home = to.join("sandbox");
        copy(&self.dir.path().join("sandbox"), &home);
        Sandbox::open(&home).unwrap()
    }
}

fn copy(from: &Path, to: &PathBuf) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}
