//! Values of a CUE module from several places: later beats earlier, by key, and `#config` has the
//! last word.

use std::os::unix::fs::symlink;

use opm_render::{Inputs, ValueFlags, Values};

use crate::support::{TestModule, WEB, cue_module, error_of, have_cue, owned};

const SHOP: &str = r#"
metadata: name: "shop"
#config: {
	host!:    string
	port:     *80 | int & <10000
	tags:     [...string] | *["none"]
	db: {name: *"db" | string, size?: int, note?: null | string}
}
#components: {}
"#;

/// The module, with this in its values.cue and these files beside it.
fn shop(values: &str, files: &[(&str, &str)]) -> TestModule {
    let module = cue_module(SHOP);
    if !values.is_empty() {
        module.write("values.cue", &format!("package web\n\n{values}\n"));
    }
    for (path, text) in files {
        module.write(path, text);
    }
    module
}

fn flags(module: &TestModule, files: &[&str], set: &[&str]) -> ValueFlags {
    let at = |name: &&str| module.path().join(name).display().to_string();
    ValueFlags {
        files: files.iter().map(at).collect(),
        set: owned(set),
        ..ValueFlags::default()
    }
}

#[test]
fn later_beats_earlier() {
    if !have_cue() {
        return;
    }
    let own =
        "values: {host: \"own\", port: 81, tags: [\"a\", \"b\"], db: {name: \"own\", size: 5}}";
    let prod = ("prod.yaml", "host: prod\ntags: [p]\ndb: {size: 7}\n");
    let more = (
        "more.json",
        r#"{"values": {"host": "more", "db": {"size": null}}}"#,
    );
    let expected = |host: &str, port: u32, tags: &str, db: &str| {
        format!("{{db: {{{db}}}host: \"{host}\"port: {port}tags: [{tags}]}}")
    };
    for (values, files, set, host, port, tags, db) in [
        (
            own,
            &[][..],
            &[][..],
            "own",
            81,
            "\"a\",\"b\",",
            "name: \"own\"size: 5",
        ),
        (
            own,
            &["prod.yaml"],
            &[],
            "prod",
            81,
            "\"p\",",
            "name: \"own\"size: 7",
        ),
        (
            own,
            &["prod.yaml", "more.json"],
            &[],
            "more",
            81,
            "\"p\",",
            "name: \"own\"",
        ),
        (
            own,
            &["more.json", "prod.yaml"],
            &[],
            "prod",
            81,
            "\"p\",",
            "name: \"own\"size: 7",
        ),
        (
            own,
            &["prod.yaml"],
            &["host=set", "host=last"],
            "last",
            81,
            "\"p\",",
            "name: \"own\"size: 7",
        ),
        (
            own,
            &[],
            &["tags[1]=c", "db={size: 9}"],
            "own",
            81,
            "\"a\",\"c\",",
            "name: \"own\"size: 9",
        ),
        (
            own,
            &[],
            &["port=null", "db.name=null"],
            "own",
            80,
            "\"a\",\"b\",",
            "name: \"db\"size: 5",
        ),
        (
            own,
            &[],
            &["db=null", "db.size=1"],
            "own",
            81,
            "\"a\",\"b\",",
            "name: \"db\"size: 1",
        ),
        (
            "",
            &["prod.yaml"],
            &["db.name=x"],
            "prod",
            80,
            "\"p\",",
            "name: \"x\"size: 7",
        ),
        // Data that needs the language, in the module and in a file.
        (
            "_h: \"own\"\nvalues: {host: \"\\(_h).de\", tags: [for t in [\"x\"] {t}]}",
            &["prod.yaml"],
            &["db.name=y"],
            "prod",
            80,
            "\"p\",",
            "name: \"y\"size: 7",
        ),
        (
            "values: host: \"own\"",
            &["lang.cue"],
            &["tags[0]=s"],
            "lang-1",
            80,
            "\"s\",",
            "name: \"db\"",
        ),
        // What is held against #config anyway is data, too.
        (
            "values: #config & {host: \"own\", port: 82}",
            &[],
            &["host=s"],
            "s",
            82,
            "\"none\",",
            "name: \"db\"",
        ),
    ] {
        let lang = ("lang.cue", "_n: 1\nhost: \"lang-\\(_n)\"\ntags: [\"l\"]\n");
        let module = shop(values, &[prod, more, lang]);
        let flags = flags(&module, files, set);
        let loaded = module
            .load_flags(&flags)
            .unwrap_or_else(|error| panic!("{flags:?}: {error}"));
        let shown = loaded.rendered.values.replace(['\n', '\t'], "");
        assert_eq!(shown, expected(host, port, tags, db), "{values} {flags:?}");
    }
}

#[test]
fn what_is_more_than_data_is_unified() {
    if !have_cue() {
        return;
    }
    // It needs the module's package, and is not lost when something comes over it.
    let module = shop("values: {host: _own, port: >80}", &[]);
    module.write("own.cue", "package web\n\n_own: \"own\"\n");
    let loaded = module.set(&["port=90"]).unwrap();
    assert!(loaded.rendered.values.contains("host: \"own\""));
    let error = error_of(&module, &flags(&module, &[], &["port=70"]));
    assert!(error.contains("values.port: invalid value"), "{error}");
    let module = shop(
        "",
        &[
            ("bound.cue", "port: >80\n"),
            ("a.yaml", "host: a\nport: 90\n"),
        ],
    );
    let both = flags(&module, &["bound.cue", "a.yaml"], &[]);
    assert!(module.load_flags(&both).is_ok());
    let error = error_of(
        &module,
        &flags(&module, &["bound.cue", "a.yaml"], &["port=70"]),
    );
    assert!(error.contains("values.port: invalid value"), "{error}");
    let module = shop("values: host: \"own\" | \"other\"", &[]);
    let error = error_of(&module, &flags(&module, &[], &["host=third"]));
    assert!(error.contains("unified with the rest"), "{error}");
}

#[test]
fn an_error_names_the_place_that_was_written_first() {
    if !have_cue() {
        return;
    }
    let module = shop(
        "values: {host: \"own\", port: 81}",
        &[
            ("a.yaml", "host: a\nprot: 1\n"),
            ("b.yaml", "host: b\nport: 70000\n"),
            ("c.yaml", "port: x\n"),
        ],
    );
    for (files, set, first) in [
        (&["b.yaml"][..], &[][..], "b.yaml:2:7"),
        (&["c.yaml"], &[], "c.yaml:1:7"),
        (&["a.yaml"], &[], "a.yaml:2:1"),
        (&["b.yaml", "a.yaml"], &["port=x"], "--set port"),
        (&["b.yaml"], &["port=81", "nope=2"], "--set nope"),
    ] {
        let error = error_of(&module, &flags(&module, files, set));
        let place = error.lines().nth(1).unwrap_or_default().trim();
        assert_eq!(place, first, "{error}");
    }
}

#[test]
fn recorded_values_take_the_place_of_the_modules_own() {
    if !have_cue() {
        return;
    }
    let module = shop("values: {host: \"own\", port: 81, db: note: null}", &[]);
    let first = module.set(&["port=90"]).unwrap();
    let recorded = |set: &[&str]| {
        let values = Values::read(&flags(&module, &[], set)).unwrap();
        let values = values.over_recorded(&first.rendered.values, first.rendered.set.clone());
        module.load_with(&Inputs {
            values,
            ..Inputs::default()
        })
    };
    assert_eq!(first.rendered.set, ["port"]);
    let more = recorded(&["db.name=x"]).unwrap().rendered.set;
    assert_eq!(more, ["db.name", "port"]);
    assert_eq!(
        recorded(&[]).unwrap().rendered.values,
        first.rendered.values
    );
    let changed = recorded(&["host=new"]).unwrap().rendered.values;
    assert_eq!(changed, first.rendered.values.replace("own", "new"));
}

#[test]
fn files_outside_the_module_and_links_to_them_are_read() {
    if !have_cue() {
        return;
    }
    let module = cue_module(WEB);
    let elsewhere = TestModule::new(&[("a.yaml", "host: a\n")]);
    symlink(
        elsewhere.path().join("a.yaml"),
        elsewhere.path().join("link.yaml"),
    )
    .unwrap();
    let link = flags(&elsewhere, &["link.yaml"], &[]);
    assert!(module.load_flags(&link).is_ok());
}
