//! The `helm` program: what it is asked, and what it sees of the user's environment.

use std::ffi::OsString;
use std::path::Path;

use super::{ChartError, ChartReference, ChartRelease, LookupCluster, LookupKubeconfig, version};
use crate::context::RenderContext;
use crate::program::{self, CommandError, Environment, Invocation, PrivateDir, ProgramOutput};

/// `helm` with everything it needs to run.
pub(super) struct Helm<'a> {
    pub(super) context: &'a RenderContext<'a>,
    pub(super) private: &'a PrivateDir,
}

/// What a chart is rendered with, besides what the release says.
pub(super) struct TemplateFlags<'a> {
    pub(super) name: &'a str,
    pub(super) chart: &'a Path,
    pub(super) values: &'a [&'a Path],
    pub(super) skip_crds: bool,
    /// The cluster that the chart looks at.
    pub(super) lookup: Option<&'a LookupCluster>,
}

/// Where the kubeconfig is that is given as a text.
const KUBECONFIG_FILE: &str = "kubeconfig";

/// Variables by which `helm` would take another cluster, or act as somebody else.
const DIVERTING: [&str; 9] = [
    "HELM_KUBEAPISERVER",
    "HELM_KUBEASGROUPS",
    "HELM_KUBEASUSER",
    "HELM_KUBECAFILE",
    "HELM_KUBECONTEXT",
    "HELM_KUBEINSECURE_SKIP_TLS_VERIFY",
    "HELM_KUBETLS_SERVER_NAME",
    "HELM_KUBETOKEN",
    "HELM_NAMESPACE",
];

impl Helm<'_> {
    /// Checks that it is new enough, also for a look at the cluster if there is to be one.
    pub(super) fn check_version(&self, lookup: Option<&LookupCluster>) -> Result<(), ChartError> {
        let need = match lookup {
            Some(_) => version::LOOKUP,
            None => version::CHARTS,
        };
        let settings = self.context.settings;
        let found = program::find(&settings.helm, settings.search_path.as_deref());
        let found = found.map_err(CommandError::from)?;
        program::once(&found, &need.to_string(), || {
            let output = self.run(&["version", "--short"], self.nothing_of_the_users())?;
            let said = String::from_utf8_lossy(&output.stdout);
            Ok(version::check(&said, need)?)
        })
    }

    /// Puts the archive of a chart into a directory.
    pub(super) fn pull(
        &self,
        reference: &ChartReference,
        directory: &Path,
    ) -> Result<ProgramOutput, ChartError> {
        let directory = directory.to_string_lossy();
        let mut arguments = vec!["pull", &reference.reference];
        if let Some(repo) = &reference.repo {
            arguments.extend(["--repo", repo]);
        }
        if reference.plain_http {
            arguments.push("--plain-http");
        }
        arguments.extend(["--version", &reference.version]);
        arguments.extend(["--destination", &directory]);
        self.run(&arguments, self.fetching())
    }

    pub(super) fn template(
        &self,
        flags: &TemplateFlags<'_>,
        release: ChartRelease<'_>,
    ) -> Result<ProgramOutput, ChartError> {
        let chart = flags.chart.to_string_lossy();
        let values = flags.values.iter().map(|file| file.to_string_lossy());
        let values: Vec<_> = values.collect();
        let apis = release.capabilities.api_versions.join(",");
        let mut arguments = vec!["template", flags.name, &chart];
        arguments.extend(["--namespace", release.namespace.as_str()]);
        if !flags.skip_crds {
            arguments.push("--include-crds");
        }
        for file in &values {
            arguments.extend(["--values", file]);
        }
        let Some(cluster) = flags.lookup else {
            arguments.extend(["--kube-version", &release.capabilities.kube_version]);
            if !apis.is_empty() {
                arguments.extend(["--api-versions", &apis]);
            }
            return self.run(&arguments, self.nothing_of_the_users());
        };
        // Objects that are there already are this release's, and not Helm's.
        arguments.extend(["--dry-run=server", "--take-ownership"]);
        arguments.push("--disable-openapi-validation");
        if let Some(context) = &cluster.context {
            arguments.extend(["--kube-context", context]);
        }
        if let Some(user) = &cluster.as_user {
            arguments.extend(["--kube-as-user", user]);
        }
        self.run(&arguments, self.looking(cluster)?)
    }

    fn run(
        &self,
        arguments: &[&str],
        environment: Environment,
    ) -> Result<ProgramOutput, ChartError> {
        let settings = self.context.settings;
        let invocation = Invocation {
            program: &settings.helm,
            search_path: settings.search_path.as_deref(),
            arguments,
            directory: self.private.path(),
            environment,
            limits: settings.limits,
            input: None,
        };
        Ok(invocation.finish(self.context)?)
    }

    /// Neither plugins nor repositories, neither a cluster nor credentials.
    fn nothing_of_the_users(&self) -> Environment {
        let mut variables = self.own_directories();
        variables.push(("HOME", self.own("home")));
        variables.push(("HELM_CONFIG_HOME", self.own("config")));
        variables.push(("KUBECONFIG", self.own("no-kubeconfig")));
        Environment::Only(variables)
    }

    /// Fetching takes the way out and the credentials that the user has: proxies, authorities, and
    /// what `helm registry login` keeps.
    fn fetching(&self) -> Environment {
        Environment::Users(self.own_directories())
    }

    /// The way to the cluster takes what the user has: credential plugins, proxies.
    fn looking(&self, cluster: &LookupCluster) -> Result<Environment, ChartError> {
        let mut variables = self.own_directories();
        variables.push(("HELM_CONFIG_HOME", self.own("config")));
        variables.extend(DIVERTING.map(|name| (name, OsString::new())));
        match &cluster.kubeconfig {
            LookupKubeconfig::Default => {}
            LookupKubeconfig::Files(files) => variables.push(("KUBECONFIG", files.clone())),
            LookupKubeconfig::Text(text) => {
                let file = self.own(KUBECONFIG_FILE);
                // The chart is rendered more than once.
                if !Path::new(&file).exists() {
                    let written = self.private.write(KUBECONFIG_FILE, text);
                    written.map_err(ChartError::PrivateDirectory)?;
                }
                variables.push(("KUBECONFIG", file));
            }
        }
        Ok(Environment::Users(variables))
    }

    fn own_directories(&self) -> Vec<(&'static str, OsString)> {
        let soft = self.context.settings.limits.memory / 8 * 7;
        vec![
            ("HELM_CACHE_HOME", self.own("cache")),
            ("HELM_DATA_HOME", self.own("data")),
            ("HELM_PLUGINS", self.own("plugins")),
            ("GOMEMLIMIT", soft.to_string().into()),
            ("GOMAXPROCS", "4".into()),
        ]
    }

    fn own(&self, name: &str) -> OsString {
        self.private.path().join(name).into()
    }
}
