//! Lies about what is served.

use serde_json::{Value, json};

use super::Behaviour;
use super::script::{HonestAnswer, Script, Step, Struck, answer};

fn documents(struck: &Struck) -> bool {
    struck.is_discovery()
}

/// Changes every resource of an aggregated document.
fn resources(said: HonestAnswer, edit: impl Fn(&mut Value)) -> Script {
    said.edited(|document| {
        let groups = document["items"].as_array_mut().into_iter().flatten();
        for group in groups {
            let versions = group["versions"].as_array_mut().into_iter().flatten();
            for version in versions {
                let resources = version["resources"].as_array_mut().into_iter().flatten();
                resources.for_each(&edit);
            }
        }
    })
    .said()
}

fn classic(struck: &Struck, groups: usize) -> Value {
    match struck.path.as_str() {
        "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
        _ => {
            let group = |n: usize| json!({"name": format!("g{n}.example.com"), "versions": [{"version": "v1"}]});
            json!({"kind": "APIGroupList", "groups": (0..groups).map(group).collect::<Vec<_>>()})
        }
    }
}

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "empty-discovery",
        strikes: documents,
        act: |_, _| answer(200, "", "{}"),
    },
    Behaviour {
        name: "nothing-is-served",
        strikes: documents,
        act: |_, said| said.edited(|document| document["items"] = json!([])).said(),
    },
    Behaviour {
        name: "only-the-core-is-served",
        strikes: |struck| struck.path == "/apis",
        act: |_, said| said.edited(|document| document["items"] = json!([])).said(),
    },
    Behaviour {
        name: "no-groups-at-all",
        strikes: |struck| struck.path.starts_with("/apis") && struck.is_discovery(),
        act: |_, _| answer(404, "", "404 page not found"),
    },
    Behaviour {
        name: "a-hundred-thousand-groups",
        strikes: |struck| documents(struck) && matches!(struck.path.as_str(), "/api" | "/apis"),
        act: |struck, _| answer(200, "", classic(struck, 100_000).to_string()),
    },
    Behaviour {
        name: "hundreds-of-silent-groups",
        strikes: documents,
        act: |struck, _| match struck.path.as_str() {
            "/api" | "/apis" => answer(200, "", classic(struck, 500).to_string()),
            _ => vec![Step::Hold],
        },
    },
    Behaviour {
        name: "groups-that-are-paths",
        strikes: |struck| struck.path == "/apis",
        act: |_, _| {
            let groups = json!({"kind": "APIGroupList", "groups": [
                {"name": "../../api/v1/secrets?x=", "versions": [{"version": "#"}]}]});
            answer(200, "", groups.to_string())
        },
    },
    Behaviour {
        name: "plurals-that-are-paths",
        strikes: documents,
        act: |_, said| {
            resources(said, |resource| {
                resource["resource"] = json!("../../../api/v1/namespaces");
            })
        },
    },
    Behaviour {
        name: "secrets-are-said-to-be-config-maps",
        strikes: documents,
        act: |_, said| {
            resources(said, |resource| {
                let plural = resource["resource"].as_str().unwrap_or_default();
                resource["resource"] = match plural {
                    "secrets" => json!("configmaps"),
                    "configmaps" => json!("secrets"),
                    other => json!(other),
                };
            })
        },
    },
    Behaviour {
        name: "everything-lives-outside-of-namespaces",
        strikes: documents,
        act: |_, said| resources(said, |resource| resource["scope"] = json!("Cluster")),
    },
    Behaviour {
        name: "kinds-without-names",
        strikes: documents,
        act: |_, said| resources(said, |resource| resource["responseKind"] = json!({})),
    },
    Behaviour {
        name: "other-versions",
        strikes: documents,
        act: |_, said| {
            said.edited(|document| {
                let groups = document["items"].as_array_mut().into_iter().flatten();
                for group in groups {
                    let versions = group["versions"].as_array_mut().into_iter().flatten();
                    versions.for_each(|version| version["version"] = json!("v99"));
                }
            })
            .said()
        },
    },
    Behaviour {
        name: "every-group-is-stale",
        strikes: documents,
        act: |_, said| {
            said.edited(|document| {
                let groups = document["items"].as_array_mut().into_iter().flatten();
                for group in groups {
                    let versions = group["versions"].as_array_mut().into_iter().flatten();
                    versions.for_each(|version| {
                        version["freshness"] = json!("Stale");
                        version["resources"] = json!([]);
                    });
                }
            })
            .said()
        },
    },
];
