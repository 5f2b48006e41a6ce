//! YAML modules that render: files, directories, patterns, documents, lists, order.

use crate::support::{TestModule, config_map, objects, one_component};
use opm_core::name::{NamespaceName, ReleaseName};
use opm_render::Inputs;

#[test]
fn metadata_and_components_arrive_as_written() {
    let module = TestModule::new(&[
        (
            "module.yaml",
            "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata:\n  name: minecraft\n  \
             path: opmodel.dev/modules/minecraft@v0\n  version: 0.1.0\n  defaultNamespace: games\n  \
             description: A server.\ncomponents:\n  - name: db\n    manifests: [db.yaml]\n  - name: app\n    \
             after: [db]\n    optional: true\n    manifests: []\n",
        ),
        ("db.yaml", &config_map("db")),
    ]);
    let loaded = module.load().unwrap();
    assert_eq!(
        (loaded.name.as_str(), loaded.namespace.as_str()),
        ("minecraft", "games")
    );
    let rendered = &loaded.rendered;
    assert_eq!(
        rendered.module.path.as_str(),
        "opmodel.dev/modules/minecraft@v0"
    );
    assert_eq!(rendered.module.version.as_deref(), Some("0.1.0"));
    assert_eq!(rendered.module.description.as_deref(), Some("A server."));
    assert_eq!(rendered.values, "{}");
    let app = &rendered.components[1];
    assert_eq!(app.after[0].as_str(), "db");
    assert!(app.optional && app.manifests.is_empty());
    assert!(!rendered.components[0].optional);
}

#[test]
fn names_and_namespaces_that_are_given_win() {
    let module = TestModule::yaml(&config_map("a"));
    let inputs = Inputs {
        name: Some(ReleaseName::new("blue").unwrap()),
        namespace: Some(NamespaceName::new("prod").unwrap()),
        ..Inputs::default()
    };
    let loaded = module.load_with(&inputs).unwrap();
    assert_eq!(
        (loaded.name.as_str(), loaded.namespace.as_str()),
        ("blue", "prod")
    );
    let loaded = module.load().unwrap();
    assert_eq!(
        (loaded.name.as_str(), loaded.namespace.as_str()),
        ("web", "default")
    );
    assert_eq!(loaded.rendered.module.path.as_str(), "local/web");
    assert_eq!(loaded.rendered.module.version, None);
}

#[test]
fn files_come_in_the_order_of_the_list_and_then_of_their_paths() {
    let files = [
        "z.yaml",
        "dir/b.yml",
        "dir/a.json",
        "dir/sub/no.yaml",
        "dir/.hidden.yaml",
    ];
    for (manifests, expected) in [
        ("[z.yaml, dir]", "z dir-a dir-b"),
        ("[dir, z.yaml]", "dir-a dir-b z"),
        ("['dir/**/*.yaml']", "dir-sub-no"),
        ("['**/*.y*ml']", "dir-b dir-sub-no z"),
        (
            "['dir/*.{json,yml}', './z.yaml', z.yaml, 'dir/b.yml']",
            "dir-a dir-b z",
        ),
        ("[.]", "z"),
        ("['*.yaml']", "z"),
        ("['none/*.yaml']", ""),
        ("['*.nothing']", ""),
        ("[]", ""),
    ] {
        let module = TestModule::new(&[("module.yaml", &one_component(manifests))]);
        for file in files {
            let stem = file
                .rsplit_once('.')
                .unwrap()
                .0
                .replace('/', "-")
                .replace("-.", "-");
            let text = match file.ends_with("json") {
                true => format!(
                    "{{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {{\"name\": \"{stem}\"}}\n}}"
                ),
                false => config_map(&stem),
            };
            module.write(file, &text);
        }
        let loaded = module.load().unwrap();
        let expected: Vec<String> = expected
            .split_whitespace()
            .map(|n| format!("app: ConfigMap/{n}"))
            .collect();
        assert_eq!(objects(&loaded), expected, "{manifests}");
    }
}

#[test]
fn documents_lists_and_nulls() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n\
                - apiVersion: v1\n  kind: ConfigMapList\n  items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]\n";
    let empty_list = "apiVersion: v1\nkind: List\nitems: []\n";
    // A kind that only sounds like a list is an object like any other.
    let allow_list =
        "apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: d}\nspec: [x]\n";
    let text = format!(
        "# only a comment\n---\n{}---\nnull\n---\n{list}---\n{empty_list}---\n{allow_list}---\n...\n---\n",
        config_map("a")
    );
    let loaded = TestModule::yaml(&text).load().unwrap();
    let expected = [
        "app: ConfigMap/a",
        "app: ConfigMap/b",
        "app: ConfigMap/c",
        "app: AllowList/d",
    ];
    assert_eq!(objects(&loaded), expected);
    assert!(objects(&TestModule::yaml("").load().unwrap()).is_empty());
    assert!(objects(&TestModule::yaml("# nothing\n").load().unwrap()).is_empty());
}

#[test]
fn scalars_mean_what_manifests_mean_by_them() {
    let text = format!(
        "{}data: {{a: 0644, b: yes, c: on, d: 2024-01-01, e: 1.10, f: 0o17, g: 9223372036854775807, \
         h: 18446744073709551616, i: '1', j: ~, k: 1e3, l: 12:30:45, m: 0x1F}}\n",
        config_map("a")
    );
    let loaded = TestModule::yaml(&text).load().unwrap();
    let data = loaded.rendered.components[0].manifests[0].object()["data"].clone();
    let expected = serde_json::json!({"a": 420, "b": true, "c": true, "d": "2024-01-01",
        "e": 1.1, "f": 15, "g": i64::MAX, "h": 18446744073709551616.0, "i": "1", "j": null,
        "k": 1000.0, "l": "12:30:45", "m": 31});
    assert_eq!(data, expected);
}

#[test]
fn rendering_twice_gives_the_same() {
    let module = TestModule::new(&[("module.yaml", &one_component("[a]"))]);
    for name in ["x", "c", "m", "a"] {
        module.write(&format!("a/{name}.yaml"), &config_map(name));
    }
    assert_eq!(module.load().unwrap(), module.load().unwrap());
}

#[test]
fn the_checked_in_schema_is_the_one_of_the_types() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/schema/module.schema.json"
    );
    let made = opm_render::module_schema();
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(kept, made, "out of date: run `cargo xtask docs`");
}
