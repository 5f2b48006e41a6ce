//! CUE modules and values that are wrong: an error each, in terms of the user's own files.

use opm_render::ValueFlags;

use crate::support::{TestModule, WEB, cue_module, error_of, have_cue, set};

#[test]
fn errors_point_at_the_users_own_files() {
    if !have_cue() {
        return;
    }
    let module = cue_module(WEB);
    let values = TestModule::new(&[]);
    values.write("prod.yaml", "# prod\nhost: h\nport: many\n");
    values.write("prod.json", "{\"host\": \"h\",\n \"prot\": 1}\n");
    values.write("prod.cue", "package web\n\nvalues: {\n\thost: 5\n}\n");
    values.write("bare.cue", "host: 5\n");
    values.write("broken.cue", "host: \"h\nport: 1\n");
    let file = |name: &str| ValueFlags {
        files: vec![values.path().join(name).display().to_string()],
        ..ValueFlags::default()
    };
    for (flags, expected) in [
        (
            file("prod.yaml"),
            &[
                "values.port: conflicting values",
                "\n    module.cue:6:9",
                "\n    prod.yaml:3:7",
            ][..],
        ),
        (
            file("prod.json"),
            &[
                "values.prot: field not allowed\n    prod.json:2:",
                "hint: the module declares in #config which values it takes",
            ],
        ),
        (
            file("prod.cue"),
            &[
                "values.host: conflicting values string and … (mismatched types string and int)",
                "module.cue:5:9",
                "prod.cue:4:8",
            ],
        ),
        (
            file("bare.cue"),
            &["values.host: conflicting values", "bare.cue:1:7"],
        ),
        (
            file("broken.cue"),
            &["string literal not terminated", "broken.cue:1:7"],
        ),
        (
            set(&[]),
            &[
                "values.host: field is required but not present",
                "module.cue:5:2",
                "hint: give it a value with -f FILE or --set KEY=VALUE",
            ],
        ),
        (
            set(&["host=h", "replicas=0"]),
            &[
                "values.replicas: invalid value … (out of bound >0)",
                "module.cue:7:18",
                "--set replicas",
            ],
        ),
        (
            set(&["host=h", "prot=1"]),
            &["values.prot: field not allowed\n    --set prot"],
        ),
        (
            set(&["host=h", "port=x"]),
            &["values.port: conflicting values \"…\" and", "--set port"],
        ),
    ] {
        let error = error_of(&module, &flags);
        let error = error.replace(&format!("{}/", values.path().display()), "");
        for part in expected {
            assert!(
                error.contains(part),
                "{flags:?}: {part:?} is missing in\n{error}"
            );
        }
        for ours in ["opm_", "_inst", "_in.", "_f0", "render.cue", "disjunction"] {
            assert!(
                !error.contains(ours),
                "{flags:?}: {ours:?} stands in\n{error}"
            );
        }
    }
}

#[test]
fn modules_that_are_not_valid() {
    if !have_cue() {
        return;
    }
    let cm = "{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\"}";
    for (text, expected) in [
        ("a: 1\n".to_owned(), "metadata"),
        ("metadata: name: \"..\"\n".to_owned(), "module name \"..\" is not valid"),
        ("metadata: name: \"\"\n".to_owned(), "module name \"\" is not valid"),
        (format!("metadata: name: \"{}\"\n", "a".repeat(300)), "at most 63 characters"),
        ("metadata: name: \"Web\"\n".to_owned(), "module name \"Web\" is not valid"),
        ("metadata: name: \"a/b\"\n".to_owned(), "module name \"a/b\" is not valid"),
        ("metadata: name: 5\n".to_owned(), "metadata.name: conflicting values"),
        ("metadata: {name: \"a\", version: \"1.0\"}\n".to_owned(), "metadata.version: `version` \"1.0\" is not a semantic version"),
        ("metadata: {name: \"a\", version: 1.0}\n".to_owned(), "metadata.version: conflicting values"),
        ("metadata: {name: \"a\", defaultNamespace: \"A\"}\n".to_owned(), "namespace \"A\" is not valid"),
        (format!("metadata: name: \"a\"\n#components: \"..\": resources: a: {cm}\n"), "component name \"..\" is not valid"),
        (format!("metadata: name: \"a\"\n#components: \"A\": resources: a: {cm}\n"), "component name \"A\" is not valid"),
        ("metadata: name: \"a\"\n#components: app: {}\n".to_owned(), "#components.app: missing required field in for comprehension: resources"),
        ("metadata: name: \"a\"\n#components: app: resource: {}\n".to_owned(), "#components.app: missing required field in for comprehension: resources"),
        ("metadata: name: \"a\"\n#components: app: resources: x: {kind: \"A\"}\n".to_owned(), "#components.app.resources.x: "),
        ("metadata: name: \"a\"\n#components: app: resources: x: 5\n".to_owned(), "#components.app.resources.x: conflicting values"),
        (format!("metadata: name: \"a\"\n#components: app: {{after: \"db\", resources: a: {cm}}}\n"), "#components.app.after: conflicting values"),
        (format!("metadata: name: \"a\"\n#components: app: {{after: [\"db\"], resources: a: {cm}}}\n"), "has `db` under `after`, but"),
        (format!("metadata: name: \"a\"\n#components: app: {{after: [\"app\"], resources: a: {cm}}}\n"), "components wait for each other through `after`: app → app"),
        ("metadata: name: \"a\"\n#components: app: resources: x: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: string}\n".to_owned(), "#components.app.resources.x.metadata.name: incomplete value string\n    module.cue:4:"),
        ("metadata: name: \"a\"\nx: #nowhere\n#components: app: resources: x: #nowhere\n".to_owned(), "reference \"#nowhere\" not found"),
        ("metadata: name: \"a\n".to_owned(), "string literal not terminated\n    module.cue:3:17"),
        ("import \"example.com/nowhere\"\nmetadata: name: nowhere.x\n".to_owned(), "nowhere"),
        ("metadata: name: \"a\"\n#components: app: resources: x: {apiVersion: \"v1\", kind: \"Secret\", metadata: name: \"s\", stringData: password: \"hunter2\" & 5}\n".to_owned(), "stringData.password: conflicting values"),
    ] {
        let error = cue_module(&text).error();
        assert!(error.contains(expected), "{text}\n{expected:?} is missing in\n{error}");
        assert!(!error.contains("hunter2"), "{error}");
        assert!(!error.contains("opm_") && !error.contains("_inst"), "{text}\n{error}");
    }
}

#[test]
fn directories_that_are_not_quite_modules() {
    let files = |files: &[(&str, &str)]| TestModule::new(files).error();
    let path = (
        "cue.mod/module.cue",
        "module: \"example.com/a@v0\"\nlanguage: version: \"v0.15.0\"\n",
    );
    assert_eq!(
        files(&[("cue.mod/module.cue", "language: {}\n")]),
        "cue.mod/module.cue: the line `module: \"…\"` is missing"
    );
    assert_eq!(
        files(&[("cue.mod/x", "")]),
        "cue.mod/module.cue: no such file or directory"
    );
    assert_eq!(files(&[path]), "DIR: no CUE file has a package clause");
    assert_eq!(
        files(&[path, ("a.cue", "package a\n"), ("b.cue", "package b\n")]),
        "DIR: its files belong to the packages a, b; opm renders the package of module.cue, which is missing"
    );
    assert_eq!(
        files(&[path, ("module.cue", "package a\n"), ("opm_gen.cue", "")]),
        "opm_gen.cue: the name is reserved for opm"
    );
    assert_eq!(
        files(&[
            path,
            ("module.cue", "package a\n"),
            ("cue.mod/local-module.cue", "")
        ]),
        "cue.mod/local-module.cue: local replacements are not supported, they lead out of the module's directory"
    );
}

/// A module of another tool is a CUE module too: that says more than a hundred fields that are
/// not allowed.
#[test]
fn modules_of_other_tools_are_told_from_mistakes() {
    if !have_cue() {
        return;
    }
    let timoni = TestModule::new(&[
        (
            "cue.mod/module.cue",
            "module: \"timoni.sh/blank\"\nlanguage: version: \"v0.15.0\"\n",
        ),
        (
            "timoni.cue",
            "package main\n\nvalues: #Config\n\n#Config: {moduleVersion!: string, image!: string}\n\n\
             timoni: {\n\tapiVersion: \"v1alpha1\"\n\tapply: app: []\n}\n",
        ),
        ("values.cue", "package main\n\nvalues: image: \"a\"\n"),
    ]);
    let error = error_of(&timoni, &ValueFlags::default());
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(
        lines[0],
        "this is no module for opm: it declares no #components (it looks like a module for Timoni)"
    );
    assert!(lines[1].contains("#components: app: resources:"), "{error}");
    assert_eq!(lines.len(), 2, "{error}");
    // A mistake in a module for opm stays that mistake.
    let own = cue_module("metadata: name: \"web\"\nmetadata: name: \"x\"\n#components: {}\n");
    assert!(!error_of(&own, &ValueFlags::default()).contains("no module for opm"));
}
