//! One open sandbox: its file, what it serves, and its state for `opm sandbox status`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::chance::{Chance, TimeSource};
use crate::kinds::custom::{self, DefinitionSummary};
use crate::kinds::{self, Registry, Resource, ResourceInfo};
use crate::life;
use crate::status::{ApiError, qualified};
use crate::store::{Key, Options, Store, StoreError, Tx};

/// An embedded Kubernetes API server. Cheap to clone; a tower service for HTTP requests.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) inner: Arc<SandboxState>,
}

pub(crate) struct SandboxState {
    pub(crate) store: Store,
    registry: Mutex<(i64, Arc<Registry>)>,
    /// Custom resources by definition and version, as of the content of their definition.
    loaded: Mutex<HashMap<(String, String), Arc<Resource>>>,
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
        let registry = Mutex::new((-1, Arc::new(Registry::with(Vec::new()))));
        let loaded = Mutex::default();
        Ok(Sandbox {
            inner: Arc::new(SandboxState {
                store,
                registry,
                loaded,
            }),
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
            .map(|(group, resource, count)| (qualified(&group, &resource), count));
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
    /// What is served as of this transaction.
    pub(crate) fn served<'a>(&'a self, tx: &'a Tx<'a>) -> Served<'a> {
        Served { state: self, tx }
    }
}

/// What is served as of one transaction. Looking up a resource reads its own definition at most:
/// how many others there are makes no difference.
pub(crate) struct Served<'a> {
    state: &'a SandboxState,
    tx: &'a Tx<'a>,
}

impl Served<'_> {
    pub(crate) fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Result<Option<Arc<Resource>>, ApiError> {
        self.look_up(group, Some(version), plural)
    }

    /// The resource behind stored objects, in whichever version comes first.
    pub(crate) fn of_key(&self, key: &Key) -> Result<Option<Arc<Resource>>, ApiError> {
        self.look_up(&key.group, None, &key.resource)
    }

    fn look_up(
        &self,
        group: &str,
        version: Option<&str>,
        plural: &str,
    ) -> Result<Option<Arc<Resource>>, ApiError> {
        if let Some(builtin) = kinds::find_builtin(group, version, plural) {
            return Ok(Some(builtin.clone()));
        }
        let name = qualified(group, plural);
        let Some(summary) = self.tx.definition::<DefinitionSummary>(&name)? else {
            return Ok(None);
        };
        let fits = |r: &ResourceInfo| version.is_none_or(|v| r.version == v);
        match summary.resources().find(fits) {
            Some(info) => self.load(name, info).map(Some),
            None => Ok(None),
        }
    }

    fn load(&self, name: String, info: ResourceInfo) -> Result<Arc<Resource>, ApiError> {
        let place = (name, info.version.clone());
        let loaded = &self.state.loaded;
        let known = lock(loaded).get(&place).cloned();
        if let Some(known) = known.filter(|k| k.definition == info.definition) {
            return Ok(known);
        }
        let definition = self.tx.get(&life::definition_key(&place.0))?;
        let resource = custom::resource(Arc::new(info), &definition.unwrap_or_default());
        let resource = Arc::new(resource);
        lock(loaded).insert(place, resource.clone());
        Ok(resource)
    }

    /// Everything that is served, for discovery; made anew when a definition changed.
    pub(crate) fn registry(&self) -> Result<Arc<Registry>, ApiError> {
        let version = self.tx.meta("definitions")?;
        let mut cached = lock(&self.state.registry);
        if cached.0 != version {
            let summaries = self.tx.definitions()?.into_iter();
            let custom = summaries.flat_map(DefinitionSummary::resources);
            *cached = (
                version,
                Arc::new(Registry::with(custom.map(Arc::new).collect())),
            );
        }
        Ok(cached.1.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
