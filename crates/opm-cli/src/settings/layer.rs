//! One level of configuration: what the command line, the environment, or a file says on its
//! own, before they are put together.

use std::path::PathBuf;

use clap::ValueEnum;
use opm_core::name::NamespaceName;

use super::Key;
use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::error::{CliError, ErrorKind};
use crate::ui::{Color, Format, Review, Verbosity};

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line.
    Flag,
    /// The environment.
    Environment,
    /// The configuration file.
    File(PathBuf),
    /// Nobody said anything.
    Default,
}

impl Origin {
    /// What to call a setting of this origin in a message.
    pub(crate) fn name_of(&self, key: Key) -> String {
        match self {
            Self::Flag => format!("--{}", key.flag()),
            Self::Environment => format!("the environment variable {}", key.variable()),
            Self::File(path) => {
                format!(
                    "the key `{}` in {}",
                    key.config().unwrap_or_default(),
                    path.display()
                )
            }
            Self::Default => format!("the default of --{}", key.flag()),
        }
    }

    /// A setting that cannot be used, and why.
    pub(crate) fn invalid(&self, key: Key, why: &str) -> CliError {
        let kind = if *self == Self::Flag {
            ErrorKind::Usage
        } else {
            ErrorKind::Config
        };
        CliError::new(kind, format!("{} is not valid: {why}", self.name_of(key)))
    }
}

/// What one level says. `None` where it says nothing.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) context: Option<String>,
    pub(crate) namespace: Option<NamespaceName>,
    pub(crate) as_user: Option<String>,
    pub(crate) sandbox: Option<bool>,
    pub(crate) sandbox_dir: Option<PathBuf>,
    pub(crate) output: Option<Format>,
    pub(crate) verbosity: Option<Verbosity>,
    pub(crate) color: Option<Color>,
    pub(crate) events: Option<bool>,
    pub(crate) log_entries: Option<usize>,
    pub(crate) retired_managers: Option<Vec<String>>,
    pub(crate) preflight: Option<bool>,
    pub(crate) review: Option<Review>,
    pub(crate) render_cache: Option<bool>,
    pub(crate) discovery_cache: Option<bool>,
    pub(crate) feature_enable: Vec<String>,
    pub(crate) feature_disable: Vec<String>,
}

impl Layer {
    /// What was typed.
    pub(crate) fn of_flags(args: &GlobalArgs) -> Result<Self, CliError> {
        let namespace = args
            .namespace
            .as_deref()
            .map(|name| namespace(&Origin::Flag, name));
        Ok(Self {
            kubeconfig: args.kubeconfig.clone(),
            context: args.context.clone(),
            namespace: namespace.transpose()?,
            as_user: args.as_user.clone(),
            sandbox: args.sandbox,
            sandbox_dir: args.sandbox_dir.clone(),
            output: args.output,
            verbosity: verbosity(
                &Origin::Flag,
                (args.verbose > 0).then_some(args.verbose),
                args.quiet,
            )?,
            color: args.color,
            events: args.events,
            log_entries: args.log_entries,
            retired_managers: args.retired_managers.clone().map(named),
            preflight: args.preflight,
            review: args.review,
            render_cache: args.render_cache,
            discovery_cache: args.discovery_cache,
            feature_enable: args.feature_enable.clone(),
            feature_disable: args.feature_disable.clone(),
        })
    }

    /// What the environment says.
    pub(crate) fn of_environment(env: &Environment) -> Result<Self, CliError> {
        let path = |key: Key| env.get(key.variable()).map(PathBuf::from);
        let verbose = text(env, Key::Verbose)?
            .map(|given| count(Key::Verbose, given))
            .transpose()?;
        let quiet = switch(env, Key::Quiet)?;
        let name = text(env, Key::Namespace)?;
        Ok(Self {
            kubeconfig: path(Key::Kubeconfig),
            context: text(env, Key::Context)?.map(str::to_owned),
            namespace: name
                .map(|name| namespace(&Origin::Environment, name))
                .transpose()?,
            as_user: text(env, Key::As)?.map(str::to_owned),
            sandbox: switch(env, Key::Sandbox)?,
            sandbox_dir: path(Key::SandboxDir),
            output: word(env, Key::Output)?,
            verbosity: verbosity(&Origin::Environment, verbose, quiet)?,
            color: word(env, Key::Color)?,
            events: switch(env, Key::Events)?,
            log_entries: text(env, Key::LogEntries)?
                .map(|given| entries(&Origin::Environment, given.parse().ok()))
                .transpose()?,
            retired_managers: text(env, Key::RetiredManagers)?.map(|given| named(split(given))),
            preflight: switch(env, Key::Preflight)?,
            review: word(env, Key::Review)?,
            render_cache: switch(env, Key::RenderCache)?,
            discovery_cache: switch(env, Key::DiscoveryCache)?,
            feature_enable: list(env, Key::FeatureEnable)?,
            feature_disable: list(env, Key::FeatureDisable)?,
        })
    }
}

impl Layer {
    /// The settings that it says something about and that a checkout may not set.
    pub(crate) fn beyond_checkout(&self) -> Vec<Key> {
        let said = |key: &Key| self.says(*key) && !key.holds_from_checkout();
        Key::ALL.into_iter().filter(said).collect()
    }

    /// Whether it says something about a setting.
    pub(crate) fn says(&self, key: Key) -> bool {
        match key {
            Key::Kubeconfig => self.kubeconfig.is_some(),
            Key::Context => self.context.is_some(),
            Key::Namespace => self.namespace.is_some(),
            Key::As => self.as_user.is_some(),
            Key::Sandbox => self.sandbox.is_some(),
            Key::SandboxDir => self.sandbox_dir.is_some(),
            Key::Output => self.output.is_some(),
            Key::Config => false,
            Key::Verbose | Key::Quiet => self.verbosity.is_some(),
            Key::Color => self.color.is_some(),
            Key::Events => self.events.is_some(),
            Key::LogEntries => self.log_entries.is_some(),
            Key::RetiredManagers => self.retired_managers.is_some(),
            Key::Preflight => self.preflight.is_some(),
            Key::Review => self.review.is_some(),
            Key::RenderCache => self.render_cache.is_some(),
            Key::DiscoveryCache => self.discovery_cache.is_some(),
            Key::FeatureEnable => !self.feature_enable.is_empty(),
            Key::FeatureDisable => !self.feature_disable.is_empty(),
        }
    }

    /// The same, without what a checkout may not set.
    pub(crate) fn of_checkout(self) -> Self {
        Self {
            namespace: self.namespace,
            output: self.output,
            verbosity: self.verbosity,
            color: self.color,
            events: self.events,
            feature_enable: self.feature_enable,
            feature_disable: self.feature_disable,
            ..Self::default()
        }
    }
}

/// How many deployments to remember: at least one.
pub(crate) fn entries(origin: &Origin, given: Option<u64>) -> Result<usize, CliError> {
    let number = given.and_then(|number| usize::try_from(number).ok());
    let number = number.filter(|number| *number > 0);
    number.ok_or_else(|| origin.invalid(Key::LogEntries, "it has to be a number from 1 up"))
}

/// A namespace that follows the rules for names.
pub(crate) fn namespace(origin: &Origin, given: &str) -> Result<NamespaceName, CliError> {
    NamespaceName::new(given).map_err(|error| origin.invalid(Key::Namespace, &error.to_string()))
}

/// What `verbose` and `quiet` of one level mean together.
pub(crate) fn verbosity(
    origin: &Origin,
    verbose: Option<u8>,
    quiet: Option<bool>,
) -> Result<Option<Verbosity>, CliError> {
    Verbosity::of(verbose, quiet)
        .map_err(|_| origin.invalid(Key::Verbose, "it is set together with quiet"))
}

/// One of the words of a closed set.
pub(crate) fn choice<T: ValueEnum>(origin: &Origin, key: Key, given: &str) -> Result<T, CliError> {
    T::from_str(given, false).map_err(|_| {
        let words: Vec<String> = T::value_variants()
            .iter()
            .filter_map(|variant| variant.to_possible_value())
            .map(|value| value.get_name().to_owned())
            .collect();
        origin.invalid(key, &format!("{given:?} is none of {}", words.join(", ")))
    })
}

fn text(env: &Environment, key: Key) -> Result<Option<&str>, CliError> {
    env.get(key.variable())
        .map(|given| {
            given
                .to_str()
                .ok_or_else(|| invalid(key, "it is not UTF-8"))
        })
        .transpose()
}

fn word<T: ValueEnum>(env: &Environment, key: Key) -> Result<Option<T>, CliError> {
    text(env, key)?
        .map(|given| choice(&Origin::Environment, key, given))
        .transpose()
}

fn switch(env: &Environment, key: Key) -> Result<Option<bool>, CliError> {
    text(env, key)?
        .map(|given| match given {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(invalid(
                key,
                &format!("{other:?} is neither true nor false"),
            )),
        })
        .transpose()
}

/// How often: a small number, or true and false for once and never.
fn count(key: Key, given: &str) -> Result<u8, CliError> {
    match given {
        "true" => Ok(1),
        "false" => Ok(0),
        other => other
            .parse()
            .map_err(|_| invalid(key, &format!("{other:?} is no small number"))),
    }
}

fn list(env: &Environment, key: Key) -> Result<Vec<String>, CliError> {
    Ok(text(env, key)?.map(split).unwrap_or_default())
}

fn split(given: &str) -> Vec<String> {
    given.split(',').map(str::to_owned).collect()
}

/// Names without those that name nothing: an empty list is one, too.
pub(crate) fn named(names: Vec<String>) -> Vec<String> {
    let names = names.into_iter().map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

fn invalid(key: Key, why: &str) -> CliError {
    Origin::Environment.invalid(key, why)
}

#[cfg(test)]
mod tests {
    use super::{Key, Layer, Verbosity};
    use crate::ui::{Color, Format};

    /// A layer that says something about everything.
    fn full() -> Layer {
        Layer {
            kubeconfig: Some("k".into()),
            context: Some("c".to_owned()),
            namespace: opm_core::name::NamespaceName::new("n").ok(),
            as_user: Some("u".to_owned()),
            sandbox: Some(true),
            sandbox_dir: Some("s".into()),
            output: Some(Format::Json),
            verbosity: Some(Verbosity::Quiet),
            color: Some(Color::Never),
            events: Some(true),
            log_entries: Some(1),
            retired_managers: Some(vec!["m".to_owned()]),
            preflight: Some(true),
            review: Some(crate::ui::Review::Always),
            render_cache: Some(true),
            discovery_cache: Some(true),
            feature_enable: vec!["a".to_owned()],
            feature_disable: vec!["b".to_owned()],
        }
    }

    #[test]
    fn a_checkout_keeps_exactly_what_the_table_of_keys_allows() {
        for key in Key::ALL.into_iter().filter(|key| key.config().is_some()) {
            assert!(full().says(key), "{key:?}");
            let kept = full().of_checkout().says(key);
            assert_eq!(kept, key.holds_from_checkout(), "{key:?}");
        }
        let beyond = full().beyond_checkout();
        assert!(beyond.contains(&Key::Kubeconfig) && beyond.contains(&Key::LogEntries));
        assert!(full().of_checkout().beyond_checkout().is_empty());
    }
}
