//! The cluster as charts look at it that may: by `helm`, which needs a kubeconfig.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use opm_engine::FailureKind;
use opm_render::{LookupCluster, LookupKubeconfig};
use opm_sandbox::Server;

use crate::commands::sandbox;
use crate::error::CliError;
use crate::settings::Settings;

/// The cluster that the settings name, for as long as charts are rendered.
pub(crate) struct LookedAt {
    pub(crate) cluster: LookupCluster,
    /// The sandbox has no address of its own.
    _server: Option<Server>,
}

impl LookedAt {
    /// Says where the cluster is, and serves the sandbox if it is that.
    pub(crate) async fn open(settings: &Settings) -> Result<Self, CliError> {
        if !settings.sandbox {
            return Ok(Self {
                cluster: LookupCluster {
                    kubeconfig: kubeconfig(settings),
                    context: settings.context.clone(),
                    as_user: settings.as_user.clone(),
                },
                _server: None,
            });
        }
        let sandbox = sandbox::open(&sandbox::directory(settings)?)?;
        let server = opm_sandbox::serve(sandbox, 0).await;
        let server =
            server.map_err(|error| CliError::new(FailureKind::Failed, error.to_string()))?;
        Ok(Self {
            cluster: LookupCluster {
                kubeconfig: LookupKubeconfig::Text(server.kubeconfig()),
                context: None,
                as_user: None,
            },
            _server: Some(server),
        })
    }
}

/// The kubeconfig by which `opm` itself connects. `helm` runs in another directory.
fn kubeconfig(settings: &Settings) -> LookupKubeconfig {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Some(path) = &settings.kubeconfig {
        return LookupKubeconfig::Files(absolute(path).into());
    }
    let Some(files) = &settings.cluster.kubeconfig else {
        return LookupKubeconfig::Default;
    };
    let paths = std::env::split_paths(files).filter(|path| !path.as_os_str().is_empty());
    let paths: Vec<PathBuf> = paths.map(|path| absolute(&path)).collect();
    match std::env::join_paths(paths) {
        Ok(joined) => LookupKubeconfig::Files(joined),
        Err(_) => LookupKubeconfig::Files(OsString::clone(files)),
    }
}
