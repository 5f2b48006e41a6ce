//! Defaults and choices together: the value that is passed around.

use std::collections::BTreeMap;

use super::{Choice, Choices, Defaults, Feature, FeatureError, FeatureName, Mode};

/// Which features are on. Immutable: another choice is another set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureSet {
    defaults: Defaults,
    choices: Choices,
}

/// All that is known about one feature: what is declared, what was chosen, what holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureState {
    /// Which feature.
    pub name: FeatureName,
    /// Whether it is on.
    pub enabled: bool,
    /// What the user chose, if anything.
    pub user: Option<bool>,
    /// What is declared; nothing if only the user knows this feature.
    pub declared: Option<Feature>,
}

impl FeatureSet {
    /// A set from its two halves.
    pub fn new(defaults: Defaults, choices: Choices) -> Self {
        Self { defaults, choices }
    }

    /// What this version of `opm` declares, with nothing chosen.
    pub fn shipped() -> Self {
        Self::new(Defaults::shipped(), Choices::default())
    }

    /// The same declarations with these choices in place of any earlier ones.
    pub fn with_choices(
        self,
        choices: impl IntoIterator<Item = Choice>,
    ) -> Result<Self, FeatureError> {
        Ok(Self::new(self.defaults, Choices::new(choices)?))
    }

    /// Whether a feature is on. The user's choice beats the default; one that nobody knows is
    /// off. Allocates nothing.
    pub fn is_enabled(&self, name: impl AsRef<str>) -> bool {
        let name = name.as_ref();
        let default = || self.defaults.get(name).is_some_and(|f| f.enabled);
        self.choices.get(name).unwrap_or_else(default)
    }

    /// All that is known about a feature that is declared or chosen.
    pub fn get(&self, name: impl AsRef<str>) -> Result<FeatureState, FeatureError> {
        let name = name.as_ref();
        let (declared, user) = (self.defaults.get(name), self.choices.get(name));
        if declared.is_none() && user.is_none() {
            return Err(FeatureError::NotFound(name.to_owned()));
        }
        Ok(FeatureState {
            name: FeatureName::new(name)?,
            enabled: self.is_enabled(name),
            user,
            declared: declared.cloned(),
        })
    }

    /// What is declared about a feature, whatever the user chose.
    pub fn get_default(&self, name: impl AsRef<str>) -> Result<Feature, FeatureError> {
        let found = self.defaults.get(name.as_ref()).cloned();
        found.ok_or_else(|| not_found(name.as_ref(), Mode::Default))
    }

    /// What the user chose for a feature.
    pub fn get_user(&self, name: impl AsRef<str>) -> Result<bool, FeatureError> {
        let found = self.choices.get(name.as_ref());
        found.ok_or_else(|| not_found(name.as_ref(), Mode::User))
    }

    /// The states by who said so. Both modes are always there, also when nothing was said.
    pub fn all(&self) -> BTreeMap<Mode, BTreeMap<FeatureName, bool>> {
        let default = self.defaults.iter().map(|f| (f.name.clone(), f.enabled));
        BTreeMap::from([
            (Mode::Default, default.collect()),
            (Mode::User, self.all_user()),
        ])
    }

    /// All declarations.
    pub fn all_default(&self) -> BTreeMap<FeatureName, Feature> {
        self.defaults.to_map()
    }

    /// All choices.
    pub fn all_user(&self) -> BTreeMap<FeatureName, bool> {
        let choices = self.choices.iter();
        choices.map(|(name, on)| (name.clone(), on)).collect()
    }

    /// The declarations, in the order of their names.
    pub fn declared(&self) -> impl Iterator<Item = &Feature> {
        self.defaults.iter()
    }

    /// Every feature with whether it is on: what a change records, so that a later one can tell
    /// under which features it was made.
    pub fn states(&self) -> BTreeMap<String, bool> {
        let declared = self.defaults.iter().map(|f| &f.name);
        let chosen = self.choices.iter().map(|(name, _)| name);
        let names = declared.chain(chosen);
        names
            .map(|name| (name.to_string(), self.is_enabled(name)))
            .collect()
    }
}

fn not_found(name: &str, mode: Mode) -> FeatureError {
    FeatureError::NotFoundIn {
        name: name.to_owned(),
        mode,
    }
}
