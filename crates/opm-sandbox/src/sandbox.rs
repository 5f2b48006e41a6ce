//! One open sandbox: its file, what it serves, and its state for `opm sandbox status`.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::chance::{Chance, TimeSource};
use crate::kinds::Registry;
use crate::kinds::custom::Definition;
use crate::life;
use crate::status::ApiError;
use crate::store::{Options, Store, StoreError, Tx};

/// An embedded Kubernetes API server. Cheap to clone; a tower service for HTTP requests.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) inner: Arc<SandboxState>,
}

pub(crate) struct SandboxState {
    pub(crate) store: Store,
    registry: Mutex<(i64, Arc<Registry>)>,
}

/// What a sandbox holds.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The file.
    pub file: std::path::PathBuf,
    /// Its size in bytes, with what SQLite keeps beside it.
    pub bytes: u64,
    /// The newest resource version.
    pub revision: i64,
    /// Objects by resource, as `deployments.apps`.
    pub objects: Vec<(String, i64)>,
}

impl Sandbox {
    /// Opens the sandbox in a directory, and makes it if it is not there.
    ///
    /// # Errors
    /// When the file cannot be used; the error says why and what to do.
    pub fn open(dir: &Path) -> Result<Sandbox, StoreError> {
        Sandbox::open_with(dir, &Options::default())
    }

    /// Like [`Sandbox::open`], with options.
    ///
    /// # Errors
    /// As [`Sandbox::open`].
    pub fn open_with(dir: &Path, options: &Options) -> Result<Sandbox, StoreError> {
        Sandbox::over(Store::open(dir, options)?)
    }

    fn over(store: Store) -> Result<Sandbox, StoreError> {
        life::bootstrap(&store)?;
        let registry = Mutex::new((-1, Arc::new(Registry::with(&[]))));
        Ok(Sandbox {
            inner: Arc::new(SandboxState { store, registry }),
        })
    }

    /// A sandbox in memory, that nobody else sees and that ends with the last of its clones. It
    /// takes the time from `time` and all that is random from `seed`, and answers on the thread
    /// that asks: the same requests have the same answers.
    ///
    /// # Errors
    /// When SQLite cannot be used.
    pub fn simulated(time: TimeSource, seed: u64) -> Result<Sandbox, StoreError> {
        Sandbox::over(Store::in_memory(Chance::given(time, seed))?)
    }

    /// Does work that storage may hold up. Where others write the same file, the caller's other
    /// tasks must not wait for them. None if the work did not come to its end.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        match self.inner.store.is_shared() {
            true => tokio::task::spawn_blocking(work).await.ok(),
            false => Some(work()),
        }
    }

    /// What the sandbox holds at the moment.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn summary(&self) -> Result<Summary, StoreError> {
        let store = &self.inner.store;
        let (revision, counts) =
            store.read(|tx| Ok::<_, StoreError>((tx.revision()?, tx.counts()?)))?;
        let size = |suffix: &str| {
            let mut file = store.path().as_os_str().to_owned();
            file.push(suffix);
            std::fs::metadata(file).map_or(0, |m| m.len())
        };
        let objects = counts
            .into_iter()
            .map(|(group, resource, count)| (crate::status::qualified(&group, &resource), count));
        Ok(Summary {
            file: store.path().to_path_buf(),
            bytes: size("") + size("-wal"),
            revision,
            objects: objects.collect(),
        })
    }

    /// Deletes the sandbox in a directory: only files that are a sandbox's.
    ///
    /// # Errors
    /// When the file is not a sandbox's, or cannot be removed.
    pub fn reset(dir: &Path) -> Result<bool, StoreError> {
        crate::store::remove(dir)
    }
}

impl SandboxState {
    /// What is served as of this transaction; rebuilt when a definition changed.
    pub(crate) fn registry(&self, tx: &Tx<'_>) -> Result<Arc<Registry>, ApiError> {
        let version = tx.meta("definitions")?;
        let mut cached = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.0 != version {
            let all = tx.list(
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                Some(""),
                ("", ""),
                usize::MAX,
            )?;
            let definitions: Vec<_> = all.iter().filter_map(Definition::read).collect();
            *cached = (version, Arc::new(Registry::with(&definitions)));
        }
        Ok(cached.1.clone())
    }
}
