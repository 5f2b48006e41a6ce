//! Manifests mean what they mean to `kubectl`, and `vet` says where that may surprise.

use insta::assert_snapshot;

use crate::runner::World;

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\n\
    metadata: {name: a}\ncomponents: [{name: a, manifests: [m.yaml]}]\n";

#[test]
fn words_are_booleans_and_vet_says_so() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations: {quoted: 'yes'}\n\
                  immutable: yes\ndata:\n  on: \"x\"\nx: 0644\n";
    let world = World::new()
        .file("module.yaml", MODULE)
        .file("m.yaml", object);
    assert_snapshot!(world.opm("mod vet -n x"), @r"
    exit 2
    --- stdout
    m.yaml:9:1: ConfigMap/c: x: there is no such field
    --- stderr
    warning: m.yaml:6:12: `yes` without quotes is read as true, as kubectl does; put it in quotes if a text is meant
    warning: m.yaml:8:3: the key `on` without quotes is read as true, as kubectl does; put it in quotes if a text is meant
    error: the module has 1 problem
    ");
    let built = world.opm("mod build -n x -o json").json();
    let object = &built["resources"][0]["object"];
    assert_eq!(object["immutable"], true);
    assert_eq!(object["data"], serde_json::json!({"true": "x"}));
    assert_eq!(object["x"], 420);
    assert_eq!(object["metadata"]["annotations"]["quoted"], "yes");
    // A text that looks like a boolean stays a text in what is written.
    let yaml = world.opm("mod build -n x").stdout;
    assert!(
        yaml.contains("quoted: \"yes\"") || yaml.contains("quoted: 'yes'"),
        "{yaml}"
    );
}

#[test]
fn another_manager_is_replaced_and_that_is_said_once() {
    let object = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{app.kubernetes.io/managed-by: Helm}}}}\n"
        )
    };
    let objects = object("a") + &object("b") + &object("c");
    let world = World::new()
        .file("module.yaml", MODULE)
        .file("m.yaml", &objects);
    assert_snapshot!(world.opm("mod vet -n x"), @r#"
    exit 0
    --- stdout
    module a is valid: 3 objects in 1 component
    --- stderr
    warning: ConfigMap/a in namespace x and 2 more objects: the label `app.kubernetes.io/managed-by` says "Helm"; it is replaced, because opm manages what it applies
    "#);
}

#[test]
fn a_text_of_few_bytes_does_not_take_all_memory() {
    let start = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nx: ";
    let dense = format!("{start}[{}]\n", "{a: 1},".repeat(380_000));
    let anchors = format!(
        "{start}&a \"{}\"\ny: [{}]\n",
        "x".repeat(100_000),
        "*a,".repeat(1_000)
    );
    for (text, message) in [
        (dense, "it holds too many keys and values for its size"),
        (anchors, "its aliases expand to too many nodes"),
    ] {
        let world = World::new()
            .file("module.yaml", MODULE)
            .file("m.yaml", &text);
        let ran = world.opm("mod vet -n x");
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains(message), "{ran}");
    }
    let json = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"c\"}},\"x\":[{}1]}}",
        "{\"a\":1},".repeat(380_000)
    );
    let module = MODULE.replace("m.yaml", "m.json");
    let world = World::new()
        .file("module.yaml", &module)
        .file("m.json", &json);
    let ran = world.opm("mod vet -n x");
    assert!(ran.stderr.contains("too many keys and values"), "{ran}");
}

/// Were any step of it quadratic, it would not end.
#[test]
fn a_hundred_thousand_components() {
    let components: String = (0..100_000)
        .map(|n| {
            format!(
                "- {{name: c{n}, manifests: [], after: [{}]}}\n",
                match n {
                    0 => String::new(),
                    n => format!("c{}", n - 1),
                }
            )
        })
        .collect();
    let module = format!(
        "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {{name: a}}\ncomponents:\n{components}"
    );
    let world = World::new().file("module.yaml", &module);
    let ran = world.opm("mod build -n x -o table");
    assert_eq!(ran.code, 0, "{ran}");
}
