//! The registry of settings: each has a flag, an environment variable, and (but for the one
//! that names the file) a key in the configuration file.

/// A setting that can be given to every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Kubeconfig,
    Context,
    Namespace,
    As,
    Sandbox,
    SandboxDir,
    Output,
    Config,
    Verbose,
    Quiet,
    Color,
    Events,
    LogEntries,
    RetiredManagers,
    Preflight,
    Review,
    RenderCache,
    DiscoveryCache,
    FeatureEnable,
    FeatureDisable,
}

impl Key {
    /// All settings, in the order in which they are shown.
    pub(crate) const ALL: [Self; 20] = [
        Self::Kubeconfig,
        Self::Context,
        Self::Namespace,
        Self::As,
        Self::Sandbox,
        Self::SandboxDir,
        Self::Output,
        Self::Config,
        Self::Verbose,
        Self::Quiet,
        Self::Color,
        Self::Events,
        Self::LogEntries,
        Self::RetiredManagers,
        Self::Preflight,
        Self::Review,
        Self::RenderCache,
        Self::DiscoveryCache,
        Self::FeatureEnable,
        Self::FeatureDisable,
    ];

    /// The flag, without its dashes.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Self::Kubeconfig => "kubeconfig",
            Self::Context => "context",
            Self::Namespace => "namespace",
            Self::As => "as",
            Self::Sandbox => "sandbox",
            Self::SandboxDir => "sandbox-dir",
            Self::Output => "output",
            Self::Config => "config",
            Self::Verbose => "verbose",
            Self::Quiet => "quiet",
            Self::Color => "color",
            Self::Events => "events",
            Self::LogEntries => "log-entries",
            Self::RetiredManagers => "retired-managers",
            Self::Preflight => "preflight",
            Self::Review => "review",
            Self::RenderCache => "render-cache",
            Self::DiscoveryCache => "discovery-cache",
            Self::FeatureEnable => "feature-enable",
            Self::FeatureDisable => "feature-disable",
        }
    }

    /// The environment variable.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::Kubeconfig => "OPM_KUBECONFIG",
            Self::Context => "OPM_CONTEXT",
            Self::Namespace => "OPM_NAMESPACE",
            Self::As => "OPM_AS",
            Self::Sandbox => "OPM_SANDBOX",
            Self::SandboxDir => "OPM_SANDBOX_DIR",
            Self::Output => "OPM_OUTPUT",
            Self::Config => "OPM_CONFIG",
            Self::Verbose => "OPM_VERBOSE",
            Self::Quiet => "OPM_QUIET",
            Self::Color => "OPM_COLOR",
            Self::Events => "OPM_EVENTS",
            Self::LogEntries => "OPM_LOG_ENTRIES",
            Self::RetiredManagers => "OPM_RETIRED_MANAGERS",
            Self::Preflight => "OPM_PREFLIGHT",
            Self::Review => "OPM_REVIEW",
            Self::RenderCache => "OPM_RENDER_CACHE",
            Self::DiscoveryCache => "OPM_DISCOVERY_CACHE",
            Self::FeatureEnable => "OPM_FEATURE_ENABLE",
            Self::FeatureDisable => "OPM_FEATURE_DISABLE",
        }
    }

    /// The key in the configuration file, with a dot where it is nested.
    pub(crate) fn config(self) -> Option<&'static str> {
        match self {
            Self::Config => None,
            Self::FeatureEnable => Some("features.enable"),
            Self::FeatureDisable => Some("features.disable"),
            plain => Some(plain.flag()),
        }
    }

    /// Whether a configuration file that came with a checkout may set it. What chooses clusters,
    /// credentials, programs or paths, or what a release forgets, is the user's own to say; and
    /// so is every setting that is not listed here.
    pub(crate) fn holds_from_checkout(self) -> bool {
        matches!(
            self,
            Self::Namespace
                | Self::Output
                | Self::Verbose
                | Self::Quiet
                | Self::Color
                | Self::Events
                | Self::FeatureEnable
                | Self::FeatureDisable
        )
    }

    /// The setting with this key in the configuration file.
    pub(crate) fn from_config(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.config() == Some(path))
    }
}
