//! A feature set that is filled while others read it.
//!
//! Write once, read many: the defaults are set once, each choice is set once, and nothing that
//! was set ever changes or goes. So a reader needs no lock: every set of choices is published
//! with one atomic store at the end of a list that only grows, and a reader sees it whole or
//! not at all.

use std::sync::{LazyLock, OnceLock};

use super::{Choice, Choices, Defaults, Feature, FeatureError, FeatureSet, Mode};

/// Features that several threads set and ask for.
#[derive(Debug)]
pub struct FeatureStore {
    defaults: OnceLock<Defaults>,
    /// What holds until defaults are set. Apart from them, so that asking never takes away the
    /// one chance to set them.
    fallback: LazyLock<Defaults>,
    choices: NextChoices,
}

/// The end of the list, or the way to what was set there.
type NextChoices = OnceLock<Box<ChoicesNode>>;

#[derive(Debug)]
struct ChoicesNode {
    choices: Choices,
    next: NextChoices,
}

impl FeatureStore {
    /// A store without declarations and choices.
    pub const fn empty() -> Self {
        Self::falling_back_to(Defaults::empty)
    }

    /// A store whose defaults are those of `opm` until others are set.
    pub const fn shipped() -> Self {
        Self::falling_back_to(Defaults::shipped)
    }

    const fn falling_back_to(fallback: fn() -> Defaults) -> Self {
        Self {
            defaults: OnceLock::new(),
            fallback: LazyLock::new(fallback),
            choices: OnceLock::new(),
        }
    }

    /// Sets the defaults: all of them, and once. An error sets nothing.
    pub fn set_default(
        &self,
        features: impl IntoIterator<Item = Feature>,
    ) -> Result<(), FeatureError> {
        let defaults = Defaults::new(features)?;
        self.defaults
            .set(defaults)
            .map_err(|_| FeatureError::DefaultsSet)
    }

    /// Adds choices of the user. It can be called again with other names; a name that has been
    /// chosen stays as it is, and choosing it again is an error. An error sets nothing; setting
    /// nothing is none.
    pub fn set(&self, choices: impl IntoIterator<Item = Choice>) -> Result<(), FeatureError> {
        let choices = Choices::new(choices)?;
        if choices.is_empty() {
            return Ok(());
        }
        let mut offered = Box::new(ChoicesNode {
            choices,
            next: OnceLock::new(),
        });
        let mut link = &self.choices;
        loop {
            while let Some(published) = link.get() {
                if let Some(name) = offered.choices.shared_with(&published.choices) {
                    return Err(FeatureError::Duplicate {
                        name: name.clone(),
                        mode: Mode::User,
                    });
                }
                link = &published.next;
            }
            // Lost to another writer: what that one published has to be looked at first.
            match link.set(offered) {
                Ok(()) => return Ok(()),
                Err(back) => offered = back,
            }
        }
    }

    /// Whether a feature is on. Takes no lock and allocates nothing, but for the very first
    /// call, which may have to make the fallback.
    pub fn is_enabled(&self, name: impl AsRef<str>) -> bool {
        let name = name.as_ref();
        let chosen = self.published().find_map(|choices| choices.get(name));
        chosen.unwrap_or_else(|| self.defaults().get(name).is_some_and(|f| f.enabled))
    }

    /// What holds now, as a value to pass on.
    pub fn snapshot(&self) -> FeatureSet {
        FeatureSet::new(self.defaults().clone(), Choices::joined(self.published()))
    }

    fn defaults(&self) -> &Defaults {
        self.defaults.get().unwrap_or_else(|| &self.fallback)
    }

    /// What has been published, oldest first.
    fn published(&self) -> impl Iterator<Item = &Choices> {
        let first = self.choices.get();
        std::iter::successors(first, |p| p.next.get()).map(|p| &p.choices)
    }
}
