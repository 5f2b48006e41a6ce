//! What clusters serve, kept in the user's cache: one file for each cluster, found by its address
//! and its certificate authorities.
//!
//! Nothing is believed of it before the server has said that it still holds (`recall`), and
//! whatever goes wrong here costs two requests.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use opm_core::digest::ObjectHash;
use opm_core::identity::GroupKind;
use opm_core::scope::Scope;
use opm_engine::ports::{ServedKind, ServedKinds};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// Changes when what is kept means something else.
const FORMAT: &str = concat!("opm discovery 2 ", env!("CARGO_PKG_VERSION"));
/// How much is kept of one cluster, and of how many.
const MAX_BYTES: u64 = 4 << 20;
const MAX_FILES: usize = 32;
const SUFFIX: &str = "json";

/// The file of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptDiscovery {
    directory: PathBuf,
    /// Which cluster it is.
    cluster: String,
}

#[derive(Serialize, Deserialize)]
struct KeptDocument {
    format: String,
    cluster: String,
    schemas: BTreeMap<String, String>,
    kinds: Vec<KeptKind>,
}

#[derive(Serialize, Deserialize)]
struct KeptKind {
    group: String,
    kind: String,
    versions: Vec<String>,
    plural: String,
    short_names: Vec<String>,
    namespaced: bool,
    listable: bool,
    deletable: bool,
}

impl KeptDiscovery {
    /// Of the cluster at this address, with these authorities.
    pub(crate) fn of(directory: PathBuf, server: &str, authorities: &[Vec<u8>]) -> Self {
        let authorities = authorities.concat();
        Self {
            directory,
            cluster: format!("{server} {}", ObjectHash::of_bytes(&authorities)),
        }
    }

    fn path(&self) -> PathBuf {
        let name = ObjectHash::of_bytes(self.cluster.as_bytes());
        self.directory.join(format!("{name}.{SUFFIX}"))
    }

    /// What is kept, if it can be read and is of this very cluster.
    pub(crate) fn read(&self) -> Option<ServedKinds> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(flags)
            .open(self.path())
            .ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || !is_private(&meta) {
            return None;
        }
        let mut bytes = Vec::new();
        (&file).take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let document: KeptDocument = serde_json::from_slice(&bytes).ok()?;
        if document.format != FORMAT || document.cluster != self.cluster {
            return None;
        }
        // What is in use goes last.
        let _ = file.set_modified(SystemTime::now());
        Some(document.into_served())
    }

    /// Keeps what a cluster serves, if it has told everything.
    pub(crate) fn write(&self, served: &ServedKinds) {
        if served.schemas.is_empty() || !served.silent_groups.is_empty() {
            return;
        }
        let document = KeptDocument::of(served, &self.cluster);
        let bytes = serde_json::to_vec(&document).unwrap_or_default();
        let fits = !bytes.is_empty() && bytes.len() as u64 <= MAX_BYTES;
        if fits && self.try_write(&bytes).is_some() {
            self.drop_oldest();
        }
    }

    fn try_write(&self, bytes: &[u8]) -> Option<()> {
        private_directory(&self.directory)?;
        let path = self.path();
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let _ = fs::remove_file(&new);
        let mut options = OpenOptions::new();
        let mut file: File = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)
            .ok()?;
        let written = file.write_all(bytes).and_then(|()| fs::rename(&new, &path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written.ok()
    }

    fn drop_oldest(&self) {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let files = entries.filter_map(|entry| {
            let modified = entry.metadata().ok()?.modified().ok()?;
            Some((modified, entry.path()))
        });
        let mut files: Vec<(SystemTime, PathBuf)> = files.collect();
        files.sort_by(|a, b| b.cmp(a));
        for (_, path) in files.into_iter().skip(MAX_FILES) {
            let _ = fs::remove_file(path);
        }
    }
}

impl KeptDocument {
    fn of(served: &ServedKinds, cluster: &str) -> Self {
        let kinds = served.kinds.iter().map(|(kind, served)| KeptKind {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            versions: served.versions.clone(),
            plural: served.plural.clone(),
            short_names: served.short_names.clone(),
            namespaced: served.scope == Scope::Namespaced,
            listable: served.listable,
            deletable: served.deletable,
        });
        Self {
            format: FORMAT.to_owned(),
            cluster: cluster.to_owned(),
            schemas: served.schemas.clone(),
            kinds: kinds.collect(),
        }
    }

    fn into_served(self) -> ServedKinds {
        let kinds = self.kinds.into_iter().filter_map(|kept| {
            let served = ServedKind {
                preferred: kept.versions.first()?.clone(),
                versions: kept.versions,
                plural: kept.plural,
                short_names: kept.short_names,
                scope: match kept.namespaced {
                    true => Scope::Namespaced,
                    false => Scope::Cluster,
                },
                listable: kept.listable,
                deletable: kept.deletable,
            };
            Some((GroupKind::new(kept.group, kept.kind), served))
        });
        ServedKinds {
            kinds: kinds.collect(),
            schemas: self.schemas,
            remembered: true,
            ..ServedKinds::default()
        }
    }
}

/// The directory, made if need be; nothing if others could read it, or put something into it.
fn private_directory(path: &Path) -> Option<()> {
    if !path.is_dir() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(path).ok()?;
    }
    let meta = path.symlink_metadata().ok()?;
    (meta.is_dir() && is_private(&meta)).then_some(())
}

fn is_private(meta: &fs::Metadata) -> bool {
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o77 == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn served() -> ServedKinds {
        let kind = |plural: &str, scope| ServedKind {
            preferred: "v1".to_owned(),
            versions: vec!["v1".to_owned(), "v1beta1".to_owned()],
            plural: plural.to_owned(),
            short_names: vec!["s".to_owned()],
            scope,
            listable: true,
            deletable: false,
        };
        ServedKinds {
            kinds: BTreeMap::from([
                (
                    GroupKind::new("", "Secret"),
                    kind("secrets", Scope::Namespaced),
                ),
                (
                    GroupKind::new("x.dev", "Widget"),
                    kind("widgets", Scope::Cluster),
                ),
            ]),
            schemas: BTreeMap::from([("v1".to_owned(), "AB".to_owned())]),
            ..ServedKinds::default()
        }
    }

    fn kept(dir: &Path, server: &str) -> KeptDiscovery {
        KeptDiscovery::of(dir.join("discovery"), server, &[b"ca".to_vec()])
    }

    #[test]
    fn what_is_kept_comes_back_for_the_same_cluster_alone() {
        let dir = tempfile::tempdir().unwrap();
        let here = kept(dir.path(), "https://a");
        assert!(here.read().is_none());
        here.write(&served());
        let back = here.read().unwrap();
        assert_eq!(back.kinds, served().kinds);
        assert_eq!(back.schemas, served().schemas);
        assert!(back.remembered);
        assert!(kept(dir.path(), "https://b").read().is_none());
        let other = KeptDiscovery::of(dir.path().join("discovery"), "https://a", &[]);
        assert!(other.read().is_none(), "of other authorities");
        let meta = here.path().metadata().unwrap();
        assert_eq!(meta.mode() & 0o777, 0o600);
        let meta = here.directory.metadata().unwrap();
        assert_eq!(meta.mode() & 0o777, 0o700);
    }

    #[test]
    fn only_what_a_server_told_in_full_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let here = kept(dir.path(), "https://a");
        here.write(&ServedKinds {
            schemas: BTreeMap::new(),
            ..served()
        });
        here.write(&ServedKinds {
            silent_groups: BTreeMap::from([("metrics.k8s.io".to_owned(), "down".to_owned())]),
            ..served()
        });
        assert!(here.read().is_none());
    }

    #[test]
    fn files_and_directories_that_others_can_write_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let here = kept(dir.path(), "https://a");
        here.write(&served());
        fs::set_permissions(here.path(), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(here.read().is_none());
        fs::remove_file(here.path()).unwrap();
        fs::set_permissions(&here.directory, fs::Permissions::from_mode(0o777)).unwrap();
        here.write(&served());
        assert!(!here.path().exists());
    }

    #[test]
    fn damage_is_as_if_there_was_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let here = kept(dir.path(), "https://a");
        here.write(&served());
        let whole = fs::read(here.path()).unwrap();
        for part in [&whole[..0], &whole[..40], b"null", b"{}"] {
            fs::write(here.path(), part).unwrap();
            assert!(here.read().is_none());
        }
    }

    #[test]
    fn the_oldest_clusters_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..MAX_FILES + 3 {
            kept(dir.path(), &format!("https://{n}")).write(&served());
        }
        let left = fs::read_dir(dir.path().join("discovery")).unwrap();
        assert_eq!(left.count(), MAX_FILES);
    }
}
