//! What the command line, the environment and the configuration file mean together.
//!
//! Flag beats environment beats file, setting by setting; `KUBECONFIG` is environment too. Commands see only the result, as
//! plain values; where each came from is kept for `opm config view`.

mod features;
mod for_tests;
mod key;
mod layer;
mod outside;
mod pipeline;

use std::collections::BTreeMap;
use std::path::PathBuf;

use opm_core::feature::{Defaults, FeatureName, FeatureSet, SANDBOX};
use opm_core::name::NamespaceName;
use opm_core::record::DEFAULT_LOG_ENTRIES;
use opm_render::RenderSettings;

use crate::args::GlobalArgs;
use crate::config::{self, TrustStore};
use crate::directories;
use crate::env::Environment;
use crate::error::{CliError, ErrorKind};
use crate::ui::{Color, Format, Review, Verbosity};
use opm_engine::FailureKind;

pub(crate) use for_tests::ForTests;
pub(crate) use key::Key;
pub(crate) use layer::{Layer, Origin, choice, entries, named, namespace, verbosity};

/// The variable by which Kubernetes' tools find their kubeconfig.
pub(crate) const KUBECONFIG: &str = "KUBECONFIG";

/// What is there before anything is typed.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// The environment.
    pub(crate) env: Environment,
    /// The features of this version.
    pub(crate) declared: Defaults,
}

/// What every command may want to know.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The kubeconfig file; without it, the usual ones.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context; without it, the kubeconfig's current one.
    pub(crate) context: Option<String>,
    /// The namespace; without it, the context's, the module's, or `default`.
    pub(crate) namespace: Option<NamespaceName>,
    /// The user to act as.
    pub(crate) as_user: Option<String>,
    /// Whether to use the embedded cluster.
    pub(crate) sandbox: bool,
    /// Where the embedded cluster lives; nothing only if the user has no home.
    pub(crate) sandbox_dir: Option<PathBuf>,
    /// Who is logged in here.
    pub(crate) user: Option<String>,
    /// The pipeline that runs `opm`, in words.
    pub(crate) pipeline: Option<String>,
    /// Whether a terminal, if there is one, can be drawn on: not a dumb one, nor a pipeline's.
    pub(crate) drawable: bool,
    /// What only tests set.
    pub(crate) for_tests: ForTests,
    /// The format of data, if one was asked for.
    pub(crate) output: Option<Format>,
    /// How much to say beside the data.
    pub(crate) verbosity: Verbosity,
    /// Whether to colour.
    pub(crate) color: Color,
    /// Whether to write the event stream.
    pub(crate) events: bool,
    /// How many deployments a release's log remembers.
    pub(crate) log_entries: usize,
    /// The tools whose managed fields are taken over, if somebody says which.
    pub(crate) retired_managers: Option<Vec<String>>,
    /// Whether the server pretends to take everything before anything is sent.
    pub(crate) preflight: bool,
    /// When somebody has to agree to a plan.
    pub(crate) review: Review,
    /// Whether renderings of CUE modules are kept.
    pub(crate) render_cache: bool,
    /// Whether it is kept what clusters serve.
    pub(crate) discovery_cache: bool,
    /// The directory that keeps it, if any does.
    pub(crate) discovery_dir: Option<PathBuf>,
    /// Which features are on.
    pub(crate) features: FeatureSet,
    /// Who chose the features that somebody chose.
    pub(crate) feature_origins: BTreeMap<FeatureName, Origin>,
    /// The configuration file that was named with `--config` or its variable.
    pub(crate) config_named: Option<PathBuf>,
    /// The configuration file that was read.
    pub(crate) config_read: Option<PathBuf>,
    /// The user's configuration directory.
    pub(crate) config_dir: Option<PathBuf>,
    /// The configuration files of checkouts that the user trusts.
    pub(crate) trust: Option<TrustStore>,
    /// What the configuration file says and may not, as long as the user does not trust it.
    pub(crate) untrusted: Vec<Key>,
    /// Which programs render modules, within which bounds.
    pub(crate) render: RenderSettings,
    /// What the environment says about reaching a cluster.
    pub(crate) cluster: opm_cluster::Environment,
    /// Where each setting came from; those that are absent are defaults.
    pub(crate) origins: BTreeMap<Key, Origin>,
    /// What the user should know about the configuration itself.
    pub(crate) warnings: Vec<String>,
}

impl Settings {
    /// Refuses the embedded cluster where its feature is off: nobody shall believe to have
    /// deployed to a cluster that is not there.
    pub(crate) fn check_sandbox(&self) -> Result<(), CliError> {
        if !self.sandbox || self.features.is_enabled(&SANDBOX) {
            return Ok(());
        }
        let asked = self.origin(Key::Sandbox).name_of(Key::Sandbox);
        let switched_off = self.feature_origins.get(SANDBOX.as_str());
        let by = switched_off.map(|origin| origin.name_of(Key::FeatureDisable));
        let by = by.map(|place| format!(" by {place}")).unwrap_or_default();
        let hint = match switched_off {
            Some(Origin::Flag) => "leave out one of the two".to_owned(),
            _ => format!("enable it with --{} {SANDBOX}", Key::FeatureEnable.flag()),
        };
        let message = format!("{asked} needs the feature `{SANDBOX}`, which is disabled{by}");
        Err(CliError::new(FailureKind::Refused, message).hint(hint))
    }

    /// Refuses to go on with less than the configuration file says: it says what a file of a
    /// checkout may not, and whoever wrote it meant it.
    pub(crate) fn check_trust(&self) -> Result<(), CliError> {
        let Some(message) = self.untrusted_message() else {
            return Ok(());
        };
        let flags = self.untrusted.iter().map(|key| format!("--{}", key.flag()));
        let flags: Vec<String> = flags.collect();
        let error = CliError::new(ErrorKind::Config, message);
        let error = error.hint("read the file; `opm config trust` accepts it as it is now");
        Err(error.hint(format!(
            "or say it yourself: {}, or in your own configuration file (`opm config init --user`)",
            flags.join(", ")
        )))
    }

    /// What the configuration file says in vain, if it does.
    pub(crate) fn untrusted_message(&self) -> Option<String> {
        let path = self
            .config_read
            .as_ref()
            .filter(|_| !self.untrusted.is_empty())?;
        let keys = self.untrusted.iter().filter_map(|key| key.config());
        let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
        let which = if keys.len() == 1 {
            "the key"
        } else {
            "the keys"
        };
        Some(format!(
            "{which} {} in {} would choose a cluster, credentials, a path or what is kept, \
             and this file is not trusted: it may have come with a checkout",
            keys.join(", "),
            path.display()
        ))
    }

    /// Where a setting came from.
    pub(crate) fn origin(&self, key: Key) -> &Origin {
        // Verbose and quiet are two ends of one setting.
        let key = if key == Key::Quiet { Key::Verbose } else { key };
        self.origins.get(&key).unwrap_or(&Origin::Default)
    }
}

/// Whether a command looks at the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigFile {
    /// As most do.
    Read,
    /// Not needed, so that it works also beside a file that is missing or broken.
    Ignore,
}

/// Puts the three levels together.
pub(crate) fn resolve(
    args: &GlobalArgs,
    given: &Surroundings,
    file: ConfigFile,
) -> Result<Settings, CliError> {
    let named = config_named(args, &given.env);
    let config_dir = directories::config(&given.env);
    let trust = directories::trust(&given.env).map(TrustStore::new);
    let read = match file {
        ConfigFile::Read => {
            let named = named.as_ref().map(|(path, _)| path);
            config::read(named, config_dir.as_deref(), trust.as_ref())?
        }
        ConfigFile::Ignore => None,
    };
    let mut layers = vec![
        (Origin::Flag, Layer::of_flags(args)?),
        (Origin::Environment, Layer::of_environment(&given.env)?),
    ];
    let (mut config_read, mut untrusted) = (None, Vec::new());
    if let Some(mut read) = read {
        // What a flag or a variable says anyway need not be trusted.
        let overruled = |key: &Key| layers.iter().any(|(_, layer)| layer.says(*key));
        untrusted = read.untrusted;
        untrusted.retain(|key| !overruled(key));
        if given.env.get(KUBECONFIG).is_some() {
            // A variable beats the file, also the one that is not opm's own.
            read.layer.kubeconfig = None;
            untrusted.retain(|key| *key != Key::Kubeconfig);
        }
        config_read = Some(read.path.clone());
        layers.push((Origin::File(read.path), read.layer));
    }
    let mut settings = pick(&layers, given)?;
    settings.untrusted = untrusted;
    settings.trust = trust;
    settings.config_dir = config_dir;
    settings.config_read = config_read;
    if let Some((path, origin)) = named {
        settings.config_named = Some(path);
        settings.origins.insert(Key::Config, origin);
    }
    Ok(settings)
}

/// Takes each setting from the strongest level that has it.
fn pick(layers: &[(Origin, Layer)], given: &Surroundings) -> Result<Settings, CliError> {
    let chosen = features::resolve(given.declared.clone(), layers)?;
    let mut from = Picker {
        layers,
        origins: BTreeMap::new(),
    };
    let sandbox = from.first(Key::Sandbox, |layer| layer.sandbox);
    let sandbox_dir = from.first(Key::SandboxDir, |layer| layer.sandbox_dir.clone());
    let verbosity = from.first(Key::Verbose, |layer| layer.verbosity);
    let color = from.first(Key::Color, |layer| layer.color);
    let events = from.first(Key::Events, |layer| layer.events);
    let retired_managers = from.first(Key::RetiredManagers, |layer| layer.retired_managers.clone());
    let log_entries = from.first(Key::LogEntries, |layer| layer.log_entries);
    let preflight = from.first(Key::Preflight, |layer| layer.preflight);
    let review = from.first(Key::Review, |layer| layer.review);
    let render_cache = from.first(Key::RenderCache, |layer| layer.render_cache);
    let render_cache = render_cache.unwrap_or(true);
    let discovery_cache = from.first(Key::DiscoveryCache, |layer| layer.discovery_cache);
    let discovery_cache = discovery_cache.unwrap_or(true);
    let mut render = outside::render(&given.env)?;
    render.charts = directories::charts(&given.env);
    if render_cache {
        render.renderings = directories::renderings(&given.env);
    }
    Ok(Settings {
        kubeconfig: from.first(Key::Kubeconfig, |layer| layer.kubeconfig.clone()),
        context: from.first(Key::Context, |layer| layer.context.clone()),
        namespace: from.first(Key::Namespace, |layer| layer.namespace.clone()),
        as_user: from.first(Key::As, |layer| layer.as_user.clone()),
        sandbox: sandbox.unwrap_or_default(),
        sandbox_dir: sandbox_dir.or_else(|| directories::sandbox(&given.env)),
        user: given.env.user(),
        drawable: given.env.has_capable_terminal() && pipeline::recognise(&given.env).is_none(),
        pipeline: pipeline::recognise(&given.env),
        for_tests: ForTests::from_variables(&given.env)?,
        output: from.first(Key::Output, |layer| layer.output),
        verbosity: verbosity.unwrap_or_default(),
        color: color.unwrap_or_default(),
        events: events.unwrap_or_default(),
        log_entries: log_entries.unwrap_or(DEFAULT_LOG_ENTRIES),
        retired_managers,
        preflight: preflight.unwrap_or_default(),
        review: review.unwrap_or_default(),
        render_cache,
        discovery_cache,
        discovery_dir: directories::discovery(&given.env).filter(|_| discovery_cache),
        features: chosen.features,
        feature_origins: chosen.origins,
        config_named: None,
        config_read: None,
        config_dir: None,
        trust: None,
        untrusted: Vec::new(),
        render,
        cluster: outside::cluster(&given.env),
        origins: from.origins,
        warnings: chosen.warnings,
    })
}

/// The file that `--config` or its variable names.
fn config_named(args: &GlobalArgs, env: &Environment) -> Option<(PathBuf, Origin)> {
    let flag = args.config.clone().map(|path| (path, Origin::Flag));
    flag.or_else(|| {
        env.get(Key::Config.variable())
            .map(|path| (PathBuf::from(path), Origin::Environment))
    })
}

/// Takes each setting from the first level that has it, and remembers which one that was.
struct Picker<'a> {
    layers: &'a [(Origin, Layer)],
    origins: BTreeMap<Key, Origin>,
}

impl Picker<'_> {
    fn first<T>(&mut self, key: Key, of: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        let (origin, value) = self
            .layers
            .iter()
            .find_map(|(origin, layer)| Some((origin, of(layer)?)))?;
        self.origins.insert(key, origin.clone());
        Some(value)
    }
}
