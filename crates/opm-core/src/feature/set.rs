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
    /// Who says whether it is on.
    pub mode: Mode,
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
        let declared = || self.defaults.get(name).map(default_state);
        let found = self.get_user(name).ok().or_else(declared);
        found.ok_or_else(|| FeatureError::NotFound(name.to_owned()))
    }

    /// A feature as the user set it: on or off by the choice, with what is declared about it.
    fn chosen(&self, name: &FeatureName) -> Option<FeatureState> {
        let enabled = self.choices.get(name.as_str())?;
        Some(FeatureState {
            name: name.clone(),
            mode: Mode::User,
            enabled,
            user: Some(enabled),
            declared: self.defaults.get(name.as_str()).cloned(),
        })
    }

    /// What is declared about a feature, whatever the user chose.
    pub fn get_default(&self, name: impl AsRef<str>) -> Result<Feature, FeatureError> {
        let found = self.defaults.get(name.as_ref()).cloned();
        found.ok_or_else(|| not_found(name.as_ref(), Mode::Default))
    }

    /// A feature as the user set it, if the user set it.
    pub fn get_user(&self, name: impl AsRef<str>) -> Result<FeatureState, FeatureError> {
        let name = name.as_ref();
        let found = FeatureName::new(name).ok().and_then(|n| self.chosen(&n));
        found.ok_or_else(|| not_found(name, Mode::User))
    }

    /// All features by who said so. Both modes are always there, also when nothing was said.
    pub fn all(&self) -> BTreeMap<Mode, BTreeMap<FeatureName, FeatureState>> {
        let default = self.defaults.iter();
        let default = default.map(|f| (f.name.clone(), default_state(f)));
        BTreeMap::from([
            (Mode::Default, default.collect()),
            (Mode::User, self.all_user()),
        ])
    }

    /// All declarations.
    pub fn all_default(&self) -> BTreeMap<FeatureName, Feature> {
        self.defaults.to_map()
    }

    /// All features that the user set, as the user set them.
    pub fn all_user(&self) -> BTreeMap<FeatureName, FeatureState> {
        let names = self.choices.iter().map(|(name, _)| name);
        names
            .filter_map(|name| Some((name.clone(), self.chosen(name)?)))
            .collect()
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

/// A feature as it is declared, whatever the user chose.
fn default_state(declared: &Feature) -> FeatureState {
    FeatureState {
        name: declared.name.clone(),
        mode: Mode::Default,
        enabled: declared.enabled,
        user: None,
        declared: Some(declared.clone()),
    }
}

fn not_found(name: &str, mode: Mode) -> FeatureError {
    FeatureError::NotFoundIn {
        name: name.to_owned(),
        mode,
    }
}
