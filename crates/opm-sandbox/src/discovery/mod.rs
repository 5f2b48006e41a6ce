//! What the server says about itself: groups, resources, versions, and where its schemas are.

mod aggregated;
mod classic;
mod open_api;

use serde_json::json;

use crate::sandbox::Served;
use crate::status::ApiError;
use crate::wire::call::Call;
use crate::wire::reply::Reply;
use crate::wire::route::Route;

pub(crate) fn answer(served: &Served<'_>, route: &Route, call: &Call) -> Result<Reply, ApiError> {
    let registry = served.registry()?;
    let registry = registry.as_ref();
    match route {
        Route::Version => Ok(Reply::ok(version())),
        Route::Health => Ok(Reply::text("ok")),
        Route::Core if aggregated::wanted(call) => Ok(aggregated::core(registry)),
        Route::Groups if aggregated::wanted(call) => Ok(aggregated::groups(registry)),
        Route::Core => Ok(Reply::ok(classic::core())),
        Route::Groups => Ok(Reply::ok(classic::groups(registry))),
        Route::Group(group) => Ok(Reply::ok(classic::group(registry, group))),
        Route::Resources { group, version } => {
            Ok(Reply::ok(classic::resources(registry, group, version)))
        }
        Route::OpenApiIndex => Ok(Reply::ok(open_api::index(registry))),
        Route::OpenApi(path) => open_api::document(served, path),
        Route::Objects(_) => Err(ApiError::page_not_found()),
    }
}

fn version() -> serde_json::Value {
    json!({
        "major": "1", "minor": "34", "gitVersion": "v1.34.4+sandbox", "gitCommit": "",
        "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "",
        "compiler": "", "platform": "sandbox",
        "emulationMajor": "1", "emulationMinor": "34",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "33"
    })
}
