//! What only the environment says: about programs that opm starts, and about reaching clusters.

use std::ffi::OsStr;

use opm_render::RenderSettings;

use crate::env::{Environment, System};
use crate::error::{CliError, ErrorKind};

/// How modules are rendered, from variables alone: it depends on the machine.
pub(super) fn render(env: &Environment) -> Result<RenderSettings, CliError> {
    RenderSettings::from_variables(|name| env.get(name).map(OsStr::to_owned))
        .map_err(|error| CliError::new(ErrorKind::Config, error.to_string()))
}

/// What the environment says about reaching a cluster, by the conventions of Kubernetes.
pub(super) fn cluster(env: &Environment) -> opm_cluster::Environment {
    let text = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| env.get(name));
        found.map(|value| value.to_string_lossy().into_owned())
    };
    opm_cluster::Environment {
        kubeconfig: env.get(super::KUBECONFIG).map(OsStr::to_owned),
        home: env.directory(System::Home),
        https_proxy: text(["HTTPS_PROXY", "https_proxy"]),
        no_proxy: text(["NO_PROXY", "no_proxy"]),
        in_cluster: env.get("KUBERNETES_SERVICE_HOST").is_some(),
    }
}
