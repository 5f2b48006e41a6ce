//! The one way from the features of the process to an engine. Only a program that embeds `opm`
//! goes it: everything here is handed its features as a value.

use opm_core::feature::global;

use crate::actor::Actor;
use crate::engine::Settings;

impl Settings {
    /// The settings of an actor, with the features of this process as they stand now
    /// ([`opm_core::feature::global`], ZEP-0035). What is set later does not change them: one
    /// engine goes by one set of features.
    ///
    /// ```
    /// use opm_cluster::{ClusterClient, KubeClient};
    /// use opm_core::feature::{CHANGE_RECORDS, Choice, global};
    /// use opm_engine::{Actor, Engine, Settings};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Somewhere at the start of the program:
    /// global::set([Choice::disable(CHANGE_RECORDS.clone())])?;
    ///
    /// // And wherever it needs an engine:
    /// # let directory = tempfile::tempdir()?;
    /// # let sandbox = opm_sandbox::Sandbox::open(directory.path())?;
    /// let settings = Settings::from_global_features(Actor::named("me"));
    /// assert!(!settings.features["change-records"]);
    /// assert!(Settings::of(Actor::named("me")).features["change-records"]);
    /// let cluster = ClusterClient::from_client(KubeClient::new(sandbox, "default"));
    /// let engine = Engine::new(cluster, settings);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_global_features(actor: Actor) -> Self {
        Self::with_features(actor, &global::snapshot())
    }
}
