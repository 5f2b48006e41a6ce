//! Values of YAML modules: defaults, what comes over them, the schema, and expressions in
//! manifests.

use opm_core::name::{NamespaceName, ReleaseName};
use opm_render::{Inputs, Loaded, ValueFlags, Values};

use crate::support::{TestModule, error_of, explain, objects, owned, set};

const HEADER: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\n\
    metadata: {name: shop, version: 1.2.3}\n\
    components: [{name: app, manifests: [app.yaml]}]\n";

const APP: &str = "# ${values.comment} is no expression\napiVersion: v1\nkind: ConfigMap\n\
    metadata:\n  name: ${release.name}-app\n  labels:\n    ${values.prefix}/tier: web\n\
    data:\n  port: '${values.port}'\n  text: ${values.host}:${values.port} $${HOME} ${module.version}\n";

/// A module with these lines about values, and what they need.
fn shop(values: &str, app: &str, files: &[(&str, &str)]) -> TestModule {
    let module = TestModule::new(&[
        ("module.yaml", &format!("{HEADER}{values}")),
        ("app.yaml", app),
    ]);
    for (path, text) in files {
        module.write(path, text);
    }
    module
}

const VALUES: &str = "values: {host: h, port: 80, prefix: example.com, db: {size: 1, name: x}}\n";

fn object(loaded: &Loaded) -> serde_json::Value {
    let objects = &loaded.rendered.components[0].manifests;
    serde_json::Value::Object(objects[0].object().into_owned())
}

#[test]
fn two_releases_of_one_module_live_side_by_side() {
    let module = shop(VALUES, APP, &[]);
    let release = |name: &str| {
        let inputs = Inputs {
            name: Some(ReleaseName::new(name).unwrap()),
            namespace: Some(NamespaceName::new("prod").unwrap()),
            ..Inputs::default()
        };
        module.load_with(&inputs).unwrap()
    };
    assert_eq!(objects(&release("blue")), ["app: ConfigMap/blue-app"]);
    assert_eq!(objects(&release("green")), ["app: ConfigMap/green-app"]);
    let object = object(&release("blue"));
    assert_eq!(object["data"]["text"], "h:80 ${HOME} 1.2.3");
    assert_eq!(object["data"]["port"], 80);
    assert_eq!(object["metadata"]["labels"]["example.com/tier"], "web");
}

#[test]
fn later_values_beat_earlier_ones() {
    let module = shop(
        VALUES,
        APP,
        &[
            ("a.yaml", "host: a\ndb: {size: 2}\n"),
            ("b.cue", "values: db: name: null\n"),
        ],
    );
    let at = |name: &str| module.path().join(name).display().to_string();
    let flags = ValueFlags {
        files: vec![at("a.yaml"), at("b.cue")],
        // The module has a text there, so it is one, whatever it looks like.
        set: owned(&["host=8080", "db.size=7", "more.list[0]=x"]),
        set_string: owned(&["port=90"]),
        ..ValueFlags::default()
    };
    let loaded = module.load_flags(&flags).unwrap();
    assert_eq!(
        loaded.rendered.values.replace(['\n', '\t'], ""),
        "{db: {size: 7}host: \"8080\"more: {list: [\"x\",]}port: \"90\"prefix: \"example.com\"}"
    );
    assert_eq!(
        loaded.rendered.set,
        ["db.size", "host", "more.list", "port"]
    );
    // What was recorded renders to the same again, as a rollback does it.
    let again = module.load_with(&Inputs {
        values: Values::recorded(&loaded.rendered.values),
        ..Inputs::default()
    });
    let again = again.unwrap().rendered;
    assert_eq!(again.values, loaded.rendered.values);
    assert_eq!(again.components, loaded.rendered.components);
}

#[test]
fn only_modules_that_say_so_are_touched() {
    let script =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {run: 'echo ${HOME}'}\n";
    for values in [
        "",
        "substitute: false\n",
        "values: {a: 1}\nsubstitute: false\n",
    ] {
        let loaded = shop(values, script, &[]).load().unwrap();
        assert_eq!(object(&loaded)["data"]["run"], "echo ${HOME}", "{values}");
    }
    let error = shop("substitute: true\n", script, &[]).error();
    assert_eq!(
        error,
        "component `app`: app.yaml:4: ${HOME} is not known\n  hint: `$${HOME}` is the text itself"
    );
    let named = script.replace("${HOME}", "${release.name}");
    let loaded = shop("substitute: true\n", &named, &[]).load().unwrap();
    assert_eq!(object(&loaded)["data"]["run"], "echo shop");
}

const SCHEMA: &str = "{type: object, required: [host], additionalProperties: false, properties: {
    host: {type: string}, port: {type: integer, maximum: 65535}, prefix: {type: string},
    db: {type: object}}}";

#[test]
fn the_schema_has_the_last_word_and_errors_name_what_was_written() {
    for inline in [true, false] {
        let (schema, files) = match inline {
            true => (format!("schema: {SCHEMA}\n"), vec![]),
            false => ("schema: s.yaml\n".to_owned(), vec![("s.yaml", SCHEMA)]),
        };
        let values = format!("{VALUES}{schema}");
        let module = shop(&values, APP, &files);
        module.write("a.yaml", "host: a\nport: 70000\n");
        module.write("b.yaml", "values:\n  prot: 1\n");
        let file = |name: &str| ValueFlags {
            files: vec![module.path().join(name).display().to_string()],
            ..ValueFlags::default()
        };
        // A literal that fits counts; one that does not is tried as a text.
        assert!(module.set(&["host=80", "port=81", "prefix=1"]).is_ok());
        for (flags, message, place) in [
            (file("a.yaml"), "values.port: ", "a.yaml:2:1"),
            (file("b.yaml"), "values: ", "b.yaml:1:1"),
            (set(&["port=hunter2"]), "values.port: ", "--set port"),
            (set(&["db=5"]), "values.db: ", "--set db"),
        ] {
            let error = error_of(&module, &flags);
            let mut lines = error.lines();
            let first = lines.next().unwrap_or_default();
            assert!(first.starts_with(message), "{error}");
            assert!(
                !error.contains("70000") && !error.contains("hunter2"),
                "{error}"
            );
            let shown = lines.next().unwrap_or_default().trim();
            assert!(
                shown == place || (message == "values: " && shown.is_empty()),
                "{error}"
            );
        }
    }
}

#[test]
fn what_is_not_valid_says_where() {
    for (values, app, files, expected) in [
        (
            "values: [1]\n",
            APP,
            &[][..],
            "module.yaml: `values` must be a mapping",
        ),
        (
            VALUES,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b-${values.prot}\n",
            &[],
            "component `app`: app.yaml:8: ${values.prot} is not known\n  hint: did you mean `values.port`?",
        ),
        (
            "values: {}\nschema: {type: nope}\n",
            APP,
            &[],
            "module.yaml: this is no JSON Schema: ",
        ),
        (
            "values: {}\nschema: s.json\n",
            APP,
            &[("s.json", "{\"$ref\": \"https://example.com/s.json\"}")],
            "s.json: this is no JSON Schema: ",
        ),
        (
            "schema: ../s.json\n",
            APP,
            &[],
            "../s.json: leads out of the module's directory",
        ),
    ] {
        let module = shop(values, app, files);
        let error = explain(&module.load().unwrap_err(), module.dir.path());
        assert!(error.starts_with(expected), "{error}");
    }
    let module = shop(VALUES, APP, &[("c.cue", "port: int\n")]);
    let flags = ValueFlags {
        files: vec![module.path().join("c.cue").display().to_string()],
        ..ValueFlags::default()
    };
    assert_eq!(
        error_of(&module, &flags),
        "c.cue: for a YAML module, a CUE file must be plain data"
    );
    assert_eq!(
        error_of(&module, &set(&["l[1]=x"])),
        "--set l[1]: an item of a list is missing before one that is set"
    );
}
