//! What a resource asks for, as requests to the engine. Nothing here asks or writes anything.

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;
use opm_core::check::AdoptSelector;
use opm_core::ids::ReleaseId;
use opm_core::name::{ComponentName, ModulePath, NamespaceName, ReleaseName};
use opm_core::rendered::Rendered;
use opm_engine::request::{
    Adopt, ApplyOptions, ApplyRequest, DeleteRequest, GuardFlags, ReleaseRef,
};
use thiserror::Error;

use crate::resource::{LiftedGuards, ModuleRelease, ModuleReleaseSpec};

/// A field that cannot be what it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {why}")]
pub(crate) struct InvalidSpec {
    field: &'static str,
    why: String,
}

fn invalid(field: &'static str, why: &dyn fmt::Display) -> InvalidSpec {
    InvalidSpec {
        field,
        why: why.to_string(),
    }
}

/// The release that a resource stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ReleaseKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ReleaseKey {
    pub(crate) fn of(resource: &ModuleRelease) -> Self {
        Self {
            namespace: resource.metadata.namespace.clone().unwrap_or_default(),
            name: resource.metadata.name.clone().unwrap_or_default(),
        }
    }

    /// Both names, as the engine wants them.
    pub(crate) fn names(&self) -> Result<(ReleaseName, NamespaceName), InvalidSpec> {
        let name = ReleaseName::new(self.name.as_str());
        let namespace = NamespaceName::new(self.namespace.as_str());
        Ok((
            name.map_err(|error| invalid("metadata.name", &error))?,
            namespace.map_err(|error| invalid("metadata.namespace", &error))?,
        ))
    }
}

/// The times of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) interval: Duration,
    pub(crate) retry_interval: Duration,
    pub(crate) timeout: Duration,
}

impl Times {
    /// How often a release is looked at, at most.
    const SHORTEST: Duration = Duration::from_secs(1);
    /// How seldom, and how long an attempt waits at most. What is added to it stays a time.
    const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

    pub(crate) fn of(spec: &ModuleReleaseSpec) -> Result<Self, InvalidSpec> {
        let interval = duration("spec.interval", &spec.interval)?;
        let retry = duration("spec.retryInterval", &spec.retry_interval)?;
        Ok(Self {
            interval: interval.clamp(Self::SHORTEST, Self::LONGEST),
            retry_interval: retry.clamp(Self::SHORTEST, Self::LONGEST),
            timeout: duration("spec.timeout", &spec.timeout)?.min(Self::LONGEST),
        })
    }
}

fn duration(field: &'static str, text: &str) -> Result<Duration, InvalidSpec> {
    let wrong = || {
        let why = format!("write it with its unit, such as 90s, 5m or 1h30m, not {text:?}");
        invalid(field, &why)
    };
    let parsed: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(parsed).map_err(|_| wrong())
}

/// The user that everything is done as; none is the controller itself.
pub(crate) fn act_as(
    spec: &ModuleReleaseSpec,
    namespace: &str,
    default: Option<&str>,
) -> Option<String> {
    let account = spec.service_account_name.as_deref().or(default)?;
    Some(format!("system:serviceaccount:{namespace}:{account}"))
}

/// The apply that a resource asks for.
pub(crate) fn apply_request(
    resource: &ModuleRelease,
    rendered: Rendered,
) -> Result<ApplyRequest, InvalidSpec> {
    let spec = &resource.spec;
    let (name, namespace) = ReleaseKey::of(resource).names()?;
    let selection = match &spec.components {
        None => None,
        Some(names) => {
            let names = names.iter().map(|name| ComponentName::new(name.as_str()));
            let names = names.collect::<Result<Vec<_>, _>>();
            Some(names.map_err(|error| invalid("spec.components", &error))?)
        }
    };
    Ok(ApplyRequest {
        selection,
        atomic: spec.atomic,
        options: ApplyOptions {
            quiet: true,
            no_prune: !spec.prune,
            max_history: usize::try_from(spec.max_history)
                .unwrap_or(usize::MAX)
                .max(1),
            adopt: adopt(&spec.adopt)?,
            force_conflicts: spec.force_conflicts,
            preflight: spec.atomic,
            guards: guards(spec.guards),
            wait: spec.atomic,
            timeout: Times::of(spec)?.timeout,
            ..ApplyOptions::default()
        },
        ..ApplyRequest::new(rendered, name, namespace)
    })
}

/// The delete that a resource asks for when it goes. None if nothing was ever applied for it.
pub(crate) fn delete_request(
    resource: &ModuleRelease,
) -> Result<Option<DeleteRequest>, InvalidSpec> {
    let (name, namespace) = ReleaseKey::of(resource).names()?;
    let status = resource.status.clone().unwrap_or_default();
    let path = status.module.map(|module| ModulePath::new(module.path));
    let id = status.release_id.map(|id| id.parse::<ReleaseId>());
    let release = match (path, id) {
        (Some(Ok(path)), _) => ReleaseRef::Module {
            path,
            name,
            namespace: namespace.clone(),
        },
        // Not by the id: whoever may write the status could name any release of the namespace.
        (_, Some(Ok(_))) => ReleaseRef::Name(name),
        (_, Some(Err(_))) => return Err(invalid("status.releaseId", &"it is no release's id")),
        (Some(Err(error)), None) => return Err(invalid("status.module.path", &error)),
        (None, None) => return Ok(None),
    };
    Ok(Some(DeleteRequest {
        guards: guards(resource.spec.guards),
        ignore_not_found: true,
        timeout: Times::of(&resource.spec)?.timeout,
        ..DeleteRequest::new(release, namespace)
    }))
}

fn adopt(given: &[String]) -> Result<Adopt, InvalidSpec> {
    if given.is_empty() {
        return Ok(Adopt::None);
    }
    if given.iter().any(|one| one == "*") {
        return Ok(Adopt::All);
    }
    let named = given.iter().map(|one| one.parse::<AdoptSelector>());
    let named = named.collect::<Result<Vec<_>, _>>();
    Ok(Adopt::Named(
        named.map_err(|error| invalid("spec.adopt", &error))?,
    ))
}

fn guards(lifted: LiftedGuards) -> GuardFlags {
    GuardFlags {
        namespaces: lifted.namespaces,
        volume_claims: lifted.persistent_volume_claims,
        volumes: lifted.persistent_volumes,
        crds: lifted.custom_resource_definitions,
    }
}

/// Refuses a reference to another namespace, unless that is allowed.
pub(crate) fn reference_namespace<'a>(
    given: Option<&'a str>,
    own: &'a str,
    allowed: bool,
) -> Result<&'a str, String> {
    match given {
        None => Ok(own),
        Some(other) if other == own || allowed => Ok(other),
        Some(other) => Err(format!(
            "it refers to namespace {other}, and references to other namespaces are not allowed"
        )),
    }
}

/// Why a release would be another one from now on; none if it stays what it is.
pub(crate) fn other_release(recorded: Option<&str>, now: &ReleaseId) -> Option<String> {
    let recorded = recorded?;
    (recorded != now.to_string()).then(|| {
        format!(
            "the module's path makes this another release: it is {recorded}, and would be {now}; \
             delete the resource with deletionPolicy orphan, or use another name"
        )
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use opm_core::name::ModuleName;
    use opm_core::rendered::Module;
    use serde_json::{Value, json};

    use super::*;

    fn resource(spec: &Value) -> ModuleRelease {
        let mut all = json!({"module": {"configMap": {"name": "m"}}});
        for (key, value) in spec.as_object().unwrap() {
            all[key] = value.clone();
        }
        serde_json::from_value(json!({
            "apiVersion": "core.opmodel.dev/v1alpha1", "kind": "ModuleRelease",
            "metadata": {"name": "web", "namespace": "games"}, "spec": all
        }))
        .unwrap()
    }

    pub(crate) fn rendered() -> Rendered {
        let name = ModuleName::new("web").unwrap();
        Rendered::new(Module::local(name), Vec::new())
    }

    #[test]
    fn defaults_are_those_of_the_command_line_where_both_have_one() {
        let request = apply_request(&resource(&json!({})), rendered()).unwrap();
        assert_eq!(
            (request.name.as_str(), request.namespace.as_str()),
            ("web", "games")
        );
        let (options, defaults) = (request.options, ApplyOptions::default());
        assert!(options.quiet && !options.wait && !options.no_prune);
        assert_eq!(options.max_history, defaults.max_history);
        assert_eq!(options.timeout, defaults.timeout);
        assert_eq!((options.adopt, request.selection), (Adopt::None, None));
        assert!(!request.atomic && request.record);
    }

    #[test]
    fn fields_become_options() {
        let request = apply_request(
            &resource(&json!({"prune": false, "atomic": true, "forceConflicts": true,
                "components": ["metrics"], "maxHistory": 3, "timeout": "90s", "adopt": ["Service/web"],
                "guards": {"persistentVolumeClaims": true}})),
            rendered(),
        )
        .unwrap();
        assert!(request.atomic && request.options.wait && request.options.preflight);
        assert!(request.options.no_prune && request.options.force_conflicts);
        assert_eq!(request.options.timeout, Duration::from_secs(90));
        assert_eq!(request.options.max_history, 3);
        assert_eq!(request.selection.map(|all| all.len()), Some(1));
        assert!(request.options.guards.volume_claims && !request.options.guards.crds);
        assert!(matches!(request.options.adopt, Adopt::Named(named) if named.len() == 1));
        let all = apply_request(&resource(&json!({"adopt": ["*"]})), rendered()).unwrap();
        assert_eq!(all.options.adopt, Adopt::All);
    }

    #[test]
    fn fields_that_make_no_sense_are_named() {
        for (spec, field) in [
            (json!({"interval": "often"}), "spec.interval"),
            (json!({"timeout": "-5s"}), "spec.timeout"),
            (json!({"retryInterval": "5"}), "spec.retryInterval"),
        ] {
            let error = Times::of(&resource(&spec).spec).unwrap_err();
            assert!(error.to_string().starts_with(field), "{error}");
        }
        for (spec, field) in [
            (json!({"adopt": ["everything"]}), "spec.adopt"),
            (json!({"components": ["A B"]}), "spec.components"),
        ] {
            let error = apply_request(&resource(&spec), rendered()).unwrap_err();
            assert!(error.to_string().starts_with(field), "{error}");
        }
    }

    #[test]
    fn times_stay_within_bounds() {
        let longest = "2562047788015215h";
        for (text, expected) in [("0s", 1), ("90s", 90), (longest, 365 * 24 * 3600)] {
            let all = json!({"interval": text, "retryInterval": text, "timeout": text});
            let times = Times::of(&resource(&all).spec).unwrap();
            let expected = Duration::from_secs(expected);
            assert_eq!((times.interval, times.retry_interval), (expected, expected));
            assert!(times.timeout <= Times::LONGEST);
            let waited = crate::backoff::regular(times.interval, u64::MAX);
            assert!(waited <= times.interval, "{text}");
        }
    }

    #[test]
    fn a_release_acts_as_its_service_account() {
        let named = resource(&json!({"serviceAccountName": "deployer"})).spec;
        let user = "system:serviceaccount:games:deployer";
        assert_eq!(
            act_as(&named, "games", Some("other")).as_deref(),
            Some(user)
        );
        let plain = resource(&json!({})).spec;
        assert_eq!(
            act_as(&plain, "games", Some("deployer")).as_deref(),
            Some(user)
        );
        assert_eq!(act_as(&plain, "games", None), None);
    }

    #[test]
    fn what_is_deleted_follows_from_the_status() {
        let with = |status: Value| {
            let mut resource = resource(&json!({}));
            resource.status = serde_json::from_value(status).unwrap();
            delete_request(&resource)
        };
        assert_eq!(
            with(json!({})).unwrap().map(|_| ()),
            None,
            "nothing was applied"
        );
        let id = "ba7ef080-f6d7-5049-9ee5-a5e34cd652de";
        let by_path = with(json!({"releaseId": id, "module": {"path": "local/web"}}));
        let by_path = by_path.unwrap().unwrap();
        assert!(matches!(by_path.release, ReleaseRef::Module { .. }));
        assert!(by_path.ignore_not_found);
        let by_id = with(json!({"releaseId": id})).unwrap().unwrap();
        let own = ReleaseName::new("web").unwrap();
        assert_eq!(by_id.release, ReleaseRef::Name(own), "none of another name");
        assert!(with(json!({"releaseId": "nonsense"})).is_err());
    }

    #[test]
    fn references_stay_in_their_namespace_unless_that_is_allowed() {
        for (given, allowed, expected) in [
            (None, false, Some("games")),
            (Some("games"), false, Some("games")),
            (Some("kube-system"), false, None),
            (Some("shared"), true, Some("shared")),
        ] {
            let found = reference_namespace(given, "games", allowed);
            assert_eq!(found.ok(), expected, "{given:?}");
        }
    }

    #[test]
    fn another_release_is_told_with_both_ids() {
        let id: ReleaseId = "ba7ef080-f6d7-5049-9ee5-a5e34cd652de".parse().unwrap();
        assert_eq!(other_release(None, &id), None);
        assert_eq!(other_release(Some(&id.to_string()), &id), None);
        let told = other_release(Some("another"), &id).unwrap();
        assert!(told.contains("another") && told.contains(&id.to_string()));
    }
}
