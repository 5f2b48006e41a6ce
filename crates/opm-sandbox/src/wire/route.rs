//! From a path to what it names.

use std::sync::Arc;

use crate::kinds::{Resource, is_builtin_group};
use crate::sandbox::Served;
use crate::status::ApiError;

pub(crate) enum Route {
    Version,
    Health,
    Core,
    Groups,
    Group(String),
    Resources { group: String, version: String },
    OpenApiIndex,
    OpenApi(String),
    Objects(Target),
}

/// A collection, an object, or a subresource.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) resource: Arc<Resource>,
    /// Empty for cluster-scoped resources and for collections over all namespaces.
    pub(crate) namespace: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: String,
}

pub(crate) fn route(segments: &[String], served: &Served<'_>) -> Result<Route, ApiError> {
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["version"] => Ok(Route::Version),
        ["healthz" | "livez" | "readyz", ..] => Ok(Route::Health),
        ["api"] => Ok(Route::Core),
        ["apis"] => Ok(Route::Groups),
        ["openapi", "v3"] => Ok(Route::OpenApiIndex),
        ["openapi", "v3", rest @ ..] => Ok(Route::OpenApi(rest.join("/"))),
        ["api", "v1"] => resources(served, "", "v1"),
        ["api", "v1", rest @ ..] => objects(served, "", "v1", rest),
        ["apis", group] => match served.registry()?.group(group).is_some() {
            true => Ok(Route::Group((*group).to_string())),
            false => Err(ApiError::page_not_found()),
        },
        ["apis", group, version] => resources(served, group, version),
        ["apis", group, version, rest @ ..] => objects(served, group, version, rest),
        _ => Err(ApiError::page_not_found()),
    }
}

fn resources(served: &Served<'_>, group: &str, version: &str) -> Result<Route, ApiError> {
    match served.registry()?.version(group, version).is_some() {
        true => Ok(Route::Resources {
            group: group.to_string(),
            version: version.to_string(),
        }),
        false => Err(ApiError::page_not_found()),
    }
}

fn objects(
    served: &Served<'_>,
    group: &str,
    version: &str,
    rest: &[&str],
) -> Result<Route, ApiError> {
    let find = |plural: &str| -> Result<Arc<Resource>, ApiError> {
        match served.find(group, version, plural)? {
            Some(resource) => Ok(resource),
            None if is_builtin_group(group) => Err(ApiError::no_such_resource()),
            None => Err(ApiError::page_not_found()),
        }
    };
    let target = |resource: Arc<Resource>, namespace: &str, tail: &[&str]| {
        let name = tail.first().map(ToString::to_string);
        let subresource = tail.get(1).copied().unwrap_or_default();
        let unknown = !subresource.is_empty() && resource.subresource(subresource).is_none();
        if tail.len() > 2 || unknown {
            return Err(match resource.custom {
                Some(_) => ApiError::page_not_found(),
                None => ApiError::no_such_resource(),
            });
        }
        let (namespace, subresource) = (namespace.to_string(), subresource.to_string());
        Ok(Route::Objects(Target {
            resource,
            namespace,
            name,
            subresource,
        }))
    };
    match rest {
        ["namespaces", _, sub @ ("status" | "finalize")] if group.is_empty() => {
            target(find("namespaces")?, "", &[rest[1], sub])
        }
        ["namespaces", namespace, plural, tail @ ..] => {
            let resource = find(plural)?;
            if !resource.namespaced {
                return Err(ApiError::no_such_resource());
            }
            target(resource, namespace, tail)
        }
        [plural, tail @ ..] => {
            let resource = find(plural)?;
            if resource.namespaced && !tail.is_empty() {
                return Err(ApiError::no_such_resource());
            }
            target(resource, "", tail)
        }
        [] => Err(ApiError::page_not_found()),
    }
}
