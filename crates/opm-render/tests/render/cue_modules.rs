//! CUE modules that render: values from everywhere, `#release`, order, components.

use crate::support::{TestModule, cue, cue_module, have_cue, objects, owned};
use opm_core::name::{NamespaceName, ReleaseName};
use opm_render::{Inputs, Loaded, ModuleRef, NoObserver, RenderSettings, ValueFlags, Values};

const WEB: &str = r#"
metadata: {
	name:             "web"
	version:          "0.1.0"
	defaultNamespace: "shop"
	description:      "A web server."
}

#config: {
	host!:    string
	port:     *80 | int
	replicas: int & >0 & <100 | *1
	mixed:    *"a" | string | int
	opt?:     int
	hosts:    [...string] | *["x"]
	nested: {a?: int, b: *"q" | string, "with.dot"?: string}
	any?: _
}

#components: {
	db: resources: config: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: name: "db"
	}
	app: {
		after: ["db"]
		resources: svc: {
			apiVersion: "v1"
			kind:       "ConfigMap"
			metadata: name: "\(#release.name)-app"
			data: {
				host: #config.host
				port: "\(#config.port)"
				id:   #release.id
				ns:   #release.namespace
			}
		}
	}
	extra: {
		optional: true
		resources: {}
	}
}
"#;

fn web() -> TestModule {
    cue_module(WEB)
}

fn data(loaded: &Loaded) -> serde_json::Value {
    loaded.rendered.components[1].manifests[0].object()["data"].clone()
}

#[test]
fn everything_that_a_module_says_arrives() {
    if !have_cue() {
        return;
    }
    let loaded = web().set(&["host=h"]).unwrap();
    let module = &loaded.rendered.module;
    assert_eq!(module.path.as_str(), "example.com/web@v0");
    assert_eq!(module.version.as_deref(), Some("0.1.0"));
    assert_eq!(module.description.as_deref(), Some("A web server."));
    assert_eq!(
        (loaded.name.as_str(), loaded.namespace.as_str()),
        ("web", "shop")
    );
    assert_eq!(
        objects(&loaded),
        ["db: ConfigMap/db", "app: ConfigMap/web-app"]
    );
    let components = &loaded.rendered.components;
    assert_eq!(components[1].after[0].as_str(), "db");
    assert_eq!(
        components.iter().map(|c| c.optional).collect::<Vec<_>>(),
        [false, false, true]
    );
    assert_eq!(
        loaded.rendered.values,
        "{\n\thost: \"h\"\n\thosts: [\n\t\t\"x\",\n\t]\n\tmixed: \"a\"\n\tnested: {\n\t\tb: \"q\"\n\t}\n\tport: 80\n\treplicas: 1\n}"
    );
    assert_eq!(data(&loaded)["id"], "7729a903-020c-5647-abcf-dbc6f53e17cb");
}

#[test]
fn the_release_reaches_the_module() {
    if !have_cue() {
        return;
    }
    let values = Values::read(&ValueFlags {
        set: owned(&["host=h"]),
        ..ValueFlags::default()
    });
    let inputs = Inputs {
        name: Some(ReleaseName::new("blue").unwrap()),
        namespace: Some(NamespaceName::new("prod").unwrap()),
        values: values.unwrap(),
        ..Inputs::default()
    };
    let loaded = web().load_with(&inputs).unwrap();
    assert_eq!(
        (loaded.name.as_str(), loaded.namespace.as_str()),
        ("blue", "prod")
    );
    assert_eq!(objects(&loaded)[1], "app: ConfigMap/blue-app");
    assert_eq!(data(&loaded)["ns"], "prod");
}

#[test]
fn the_same_values_in_any_form_are_the_same() {
    if !have_cue() {
        return;
    }
    let module = web();
    let dir = TestModule::new(&[
        (
            "a.cue",
            "package x\n// c\nvalues: {\n\tport: 8080\n\thost: \"h\"\n\tnested: a: 5\n}\n",
        ),
        (
            "b.cue",
            "nested: {a: 5}, host: \"h\"\nport: 8_080 // comment\n",
        ),
        ("c.yaml", "# comment\nhost: h\nport: 8080\nnested: {a: 5}\n"),
        (
            "d.yml",
            "values:\n  nested:\n    a: 5\n  port: 8080\n  host: 'h'\n",
        ),
        (
            "e.json",
            "{\"nested\": {\"a\": 5},\n\t\"port\": 8080, \"host\": \"h\"}",
        ),
        (
            "f.cue",
            "package web\n\nvalues: #config & {host: \"h\", port: 8080, nested: a: 5}\n",
        ),
        ("g.yaml", "host: h\n"),
        ("h.yaml", "# nothing\n"),
        ("port", "8080"),
    ]);
    let at = |name: &str| dir.path().join(name).display().to_string();
    let files = |names: &[&str]| ValueFlags {
        files: names.iter().map(|name| at(name)).collect(),
        ..ValueFlags::default()
    };
    let forms = [
        files(&["a.cue"]),
        files(&["b.cue"]),
        files(&["c.yaml"]),
        files(&["d.yml"]),
        files(&["e.json"]),
        files(&["f.cue"]),
        files(&["c.yaml", "e.json", "a.cue"]),
        ValueFlags {
            set: owned(&["port=8080", "nested.a=5"]),
            ..files(&["g.yaml", "h.yaml"])
        },
        ValueFlags {
            set: owned(&["host=h", "port=0x1F90", "nested={a: 5}"]),
            ..files(&[])
        },
        ValueFlags {
            set: owned(&["nested.a=5", "host=\"h\"", "port=8080"]),
            ..files(&[])
        },
        ValueFlags {
            set: owned(&["port=8080", "nested.a=5"]),
            set_string: owned(&["host=h"]),
            ..files(&[])
        },
    ];
    let expected = module.load_flags(&forms[0]).unwrap();
    for form in &forms {
        let loaded = module.load_flags(form).unwrap();
        assert_eq!(loaded.values, expected.values, "{form:?}");
        assert_eq!(loaded.rendered.components, expected.rendered.components);
    }
}

#[test]
fn set_tries_the_literal_and_then_the_text() {
    if !have_cue() {
        return;
    }
    let file = TestModule::new(&[("cert.pem", "line 1\nline 2\n")]);
    let cert = format!("host={}", file.path().join("cert.pem").display());
    for (flag, assignments, expected) in [
        ("--set", &["host=8080"][..], "host: \"8080\""),
        ("--set", &["host=true"], "host: \"true\""),
        ("--set", &["host=h", "mixed=5"], "mixed: 5"),
        ("--set", &["host=h", "mixed=x"], "mixed: \"x\""),
        ("--set", &["host=h", "opt=7"], "opt: 7"),
        (
            "--set",
            &["host=h", "any.deep.list[1]=7", "any.deep.list[0]=null"],
            "list: [\n\t\t\t\tnull,\n\t\t\t\t7,",
        ),
        (
            "--set",
            &["host=h", "hosts[0]=1", "hosts[1]=b"],
            "hosts: [\n\t\t\"1\",\n\t\t\"b\",",
        ),
        (
            "--set",
            &["host=h", "hosts=[\"p\", \"q\"]"],
            "hosts: [\n\t\t\"p\",\n\t\t\"q\",",
        ),
        (
            "--set",
            &["host=h", "nested.\"with.dot\"=x"],
            "\"with.dot\": \"x\"",
        ),
        (
            "--set",
            &["host=a=b,c \"d\" \\(e) 'f' ü"],
            "host: \"a=b,c \\\"d\\\" \\\\(e) 'f' ü\"",
        ),
        ("--set", &["host="], "host: \"\""),
        (
            "--set",
            &["host=h", "any=99999999999999999999999"],
            "any: 99999999999999999999999",
        ),
        ("--set", &["host=h", "any=1.10"], "any: 1.1"),
        ("--set-string", &["host=h", "mixed=5"], "mixed: \"5\""),
        ("--set-string", &["host=h", "any=null"], "any: \"null\""),
        (
            "--set-file",
            &[cert.as_str()],
            "host: \"line 1\\nline 2\\n\"",
        ),
    ] {
        let mut flags = ValueFlags::default();
        match flag {
            "--set" => flags.set = owned(assignments),
            "--set-string" => flags.set_string = owned(assignments),
            _ => flags.set_file = owned(assignments),
        }
        let loaded = web()
            .load_flags(&flags)
            .unwrap_or_else(|e| panic!("{assignments:?}: {e}"));
        let values = loaded.rendered.values;
        assert!(values.contains(expected), "{assignments:?}: {values}");
    }
}

#[test]
fn components_may_come_from_comprehensions_and_conditions() {
    if !have_cue() {
        return;
    }
    let module = cue_module(
        r#"
metadata: name: "many"
#config: {regions: [...string] | *["eu", "us"], debug: *false | bool}
#components: {
	for r in #config.regions {"app-\(r)": resources: cm: {apiVersion: "v1", kind: "ConfigMap", metadata: name: r}}
	if #config.debug {debug: resources: cm: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "debug"}}
}
"#,
    );
    let loaded = module.load().unwrap();
    assert_eq!(
        objects(&loaded),
        ["app-eu: ConfigMap/eu", "app-us: ConfigMap/us"]
    );
    let loaded = module.set(&["regions=[]", "debug=true"]).unwrap();
    assert_eq!(objects(&loaded), ["debug: ConfigMap/debug"]);
    let loaded = module.set(&["regions=[]"]).unwrap();
    assert!(loaded.rendered.components.is_empty());
}

#[test]
fn a_module_may_be_nothing_but_metadata() {
    if !have_cue() {
        return;
    }
    let loaded = cue_module("metadata: name: \"bare\"\n").load().unwrap();
    assert_eq!(loaded.rendered.values, "{}");
    assert_eq!(loaded.namespace.as_str(), "default");
    assert_eq!(loaded.rendered.module.version, None);
}

#[test]
fn embedded_files_and_packages_of_the_module_work_also_when_it_is_read_only() {
    if !have_cue() {
        return;
    }
    let module = cue_module("placeholder: 1\n");
    module.write("lib/lib.cue", "package lib\n\n#CM: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: string, ...}\n");
    module.write("data/app.conf", "a = 1\n");
    module.write(
        "module.cue",
        r#"@extern(embed)

package web

import "example.com/web/lib"

metadata: name: "web"
_conf: string @embed(file=data/app.conf, type=text)
#components: app: resources: cm: lib.#CM & {metadata: name: "a", data: conf: _conf}
"#,
    );
    let mut permissions = std::fs::metadata(module.path()).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(module.path(), permissions.clone()).unwrap();
    let loaded = module.load().unwrap();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o700);
    std::fs::set_permissions(module.path(), permissions).unwrap();
    let object = loaded.rendered.components[0].manifests[0].object();
    assert_eq!(object["data"]["conf"], "a = 1\n");
}

#[test]
fn rendering_twice_gives_the_same() {
    if !have_cue() {
        return;
    }
    let module = web();
    assert_eq!(
        module.set(&["host=h"]).unwrap(),
        module.set(&["host=h"]).unwrap()
    );
}

#[test]
fn a_description_needs_no_values() {
    let Some(program) = cue().filter(|_| have_cue()) else {
        return;
    };
    let settings = RenderSettings {
        cue: program,
        ..RenderSettings::default()
    };
    let module = web();
    let described =
        opm_render::describe(&ModuleRef::Directory(module.path()), &settings, &NoObserver).unwrap();
    assert_eq!(described.name.as_str(), "web");
    assert_eq!(described.default_namespace.unwrap().as_str(), "shop");
}
