//! Which kubeconfig counts, and what its context says.
//!
//! The namespace is read here and not from `kube`, which says "default" also when the context
//! sets none. What the environment holds arrives as a value.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;
use thiserror::Error;

use crate::send::chain;

/// The largest file that can be a kubeconfig.
const MAX_FILE: u64 = 16 << 20;

/// What the process's environment says about reaching a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `KUBECONFIG`: files, merged in order.
    pub kubeconfig: Option<OsString>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// `HTTPS_PROXY` or `https_proxy`.
    pub https_proxy: Option<String>,
    /// `NO_PROXY` or `no_proxy`.
    pub no_proxy: Option<String>,
    /// Whether this process runs in a pod (`KUBERNETES_SERVICE_HOST`).
    pub in_cluster: bool,
}

impl Environment {
    /// The environment of this process.
    pub fn of_this_process() -> Self {
        let text = |names: [&str; 2]| {
            names
                .iter()
                .filter_map(|name| std::env::var(name).ok())
                .find(|value| !value.is_empty())
        };
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            home: std::env::home_dir().filter(|path| !path.as_os_str().is_empty()),
            https_proxy: text(["HTTPS_PROXY", "https_proxy"]),
            no_proxy: text(["NO_PROXY", "no_proxy"]),
            in_cluster: std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
        }
    }
}

/// Why a kubeconfig cannot be used.
#[derive(Debug, Error)]
pub enum KubeconfigError {
    /// A file cannot be read or understood.
    #[error("failed to read the kubeconfig {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// Several files do not fit together.
    #[error("failed to merge the kubeconfig files in KUBECONFIG: {0}")]
    Unmergeable(String),
    /// There is none, and this is not a pod either.
    #[error(
        "no cluster is configured: there is no kubeconfig at {looked}, and this is not running in a pod"
    )]
    Missing {
        /// Where it was looked for.
        looked: String,
    },
    /// It has no current context, and none was asked for.
    #[error("the kubeconfig has no current context; name one with --context ({known})")]
    NoContext {
        /// The contexts it has.
        known: String,
    },
    /// It does not have the context that was asked for.
    #[error("the kubeconfig has no context {context:?} ({known})")]
    UnknownContext {
        /// What was asked for.
        context: String,
        /// The contexts it has.
        known: String,
    },
}

/// One context of a kubeconfig.
#[derive(Debug)]
pub(crate) struct SelectedContext {
    pub(crate) kubeconfig: Kubeconfig,
    pub(crate) context: String,
    /// The context's namespace, if it sets one.
    pub(crate) namespace: Option<String>,
    /// The cluster's own proxy, which no environment overrides.
    pub(crate) proxy_url: Option<String>,
}

/// Reads the kubeconfig that counts: the one that was named, those in `KUBECONFIG`, the user's.
/// `None` in a pod without any.
pub(crate) fn choose(
    path: Option<&PathBuf>,
    context: Option<&str>,
    environment: &Environment,
) -> Result<Option<SelectedContext>, KubeconfigError> {
    let kubeconfig = match path {
        Some(path) => Some(read(path)?),
        None => from_environment(environment)?,
    };
    match kubeconfig {
        Some(kubeconfig) => pick(kubeconfig, context).map(Some),
        None if environment.in_cluster => Ok(None),
        None => Err(KubeconfigError::Missing {
            looked: looked_at(environment),
        }),
    }
}

/// The contexts that there are; none where no kubeconfig can be read.
pub fn contexts(path: Option<&PathBuf>, environment: &Environment) -> Vec<String> {
    let kubeconfig = match path {
        Some(path) => read(path).map(Some),
        None => from_environment(environment),
    };
    let contexts = kubeconfig.ok().flatten().map(|found| found.contexts);
    let contexts = contexts.unwrap_or_default().into_iter();
    contexts.map(|context| context.name).collect()
}

/// The namespace that the context sets, for who needs no cluster: where there is no kubeconfig,
/// or no current context in it, there is no such namespace.
pub fn context_namespace(
    path: Option<&PathBuf>,
    context: Option<&str>,
    environment: &Environment,
) -> Result<Option<String>, KubeconfigError> {
    match choose(path, context, environment) {
        Ok(chosen) => Ok(chosen.and_then(|chosen| chosen.namespace)),
        Err(KubeconfigError::Missing { .. } | KubeconfigError::NoContext { .. })
            if context.is_none() =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn from_environment(environment: &Environment) -> Result<Option<Kubeconfig>, KubeconfigError> {
    // As kubectl does: files that do not exist are passed over, all others must be good.
    let files = candidates(environment);
    let mut merged: Option<Kubeconfig> = None;
    for path in files.iter().filter(|path| path.exists()) {
        let next = read(path)?;
        merged = Some(match merged {
            None => next,
            Some(before) => before
                .merge(next)
                .map_err(|error| KubeconfigError::Unmergeable(chain(&error)))?,
        });
    }
    Ok(merged)
}

fn candidates(environment: &Environment) -> Vec<PathBuf> {
    let default = || {
        environment
            .home
            .iter()
            .map(|home| home.join(".kube/config"))
    };
    match &environment.kubeconfig {
        Some(list) => std::env::split_paths(list)
            .filter(|path| !path.as_os_str().is_empty())
            .collect(),
        None => default().collect(),
    }
}

fn looked_at(environment: &Environment) -> String {
    let paths: Vec<String> = candidates(environment)
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    match paths.is_empty() {
        true => "~/.kube/config (there is no home directory)".to_owned(),
        false => paths.join(", "),
    }
}

fn read(path: &PathBuf) -> Result<Kubeconfig, KubeconfigError> {
    let unreadable = |cause: String| KubeconfigError::Unreadable {
        path: path.clone(),
        cause,
    };
    check_file(path).map_err(|why| unreadable(why.to_owned()))?;
    Kubeconfig::read_from(path).map_err(|error| match error {
        kube::config::KubeconfigError::ReadConfig(source, _) => unreadable(source.to_string()),
        // The parser's message shows the lines around; those may hold credentials.
        kube::config::KubeconfigError::Parse(error) => unreadable(first_line(&error.to_string())),
        other => unreadable(chain(&other)),
    })
}

/// Reading a pipe waits for its other end, and a device may never end.
fn check_file(path: &Path) -> Result<(), &'static str> {
    match path.metadata() {
        // That there is nothing is for the reader to say.
        Err(_) => Ok(()),
        Ok(found) if found.is_file() && found.len() > MAX_FILE => Err("it is larger than 16 MiB"),
        Ok(found) if found.is_file() => Ok(()),
        // How a user says that there is none.
        Ok(_) if path == Path::new("/dev/null") => Ok(()),
        Ok(_) => Err("it is not a regular file"),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn pick(kubeconfig: Kubeconfig, context: Option<&str>) -> Result<SelectedContext, KubeconfigError> {
    let known = || {
        let names: Vec<&str> = kubeconfig
            .contexts
            .iter()
            .map(|c| c.name.as_str())
            .collect();
        match names.is_empty() {
            true => "it has none".to_owned(),
            false => format!("it has {}", names.join(", ")),
        }
    };
    let current = kubeconfig.current_context.as_deref();
    let name = context
        .or(current)
        .filter(|name| !name.is_empty())
        .ok_or_else(|| KubeconfigError::NoContext { known: known() })?
        .to_owned();
    let found = kubeconfig
        .contexts
        .iter()
        .find(|named| named.name == name)
        .and_then(|named| named.context.as_ref())
        .ok_or_else(|| KubeconfigError::UnknownContext {
            context: name.clone(),
            known: known(),
        })?;
    let namespace = found.namespace.clone().filter(|name| !name.is_empty());
    let proxy_url = kubeconfig
        .clusters
        .iter()
        .find(|named| named.name == found.cluster)
        .and_then(|named| named.cluster.as_ref()?.proxy_url.clone())
        .filter(|url| !url.is_empty());
    Ok(SelectedContext {
        context: name,
        namespace,
        proxy_url,
        kubeconfig,
    })
}

#[cfg(test)]
mod tests;
