//! Values that are none, contradict each other, or are too much: a clear error, or the right
//! result.

use opm_render::{ValueFlags, Values};

use crate::support::{TestModule, WEB, cue_module, error_of, have_cue, owned, set};

#[test]
fn values_that_are_none() {
    let module = cue_module(WEB);
    for (name, text, expected) in [
        (
            "a.yaml",
            "- a\n",
            "a.yaml: values must be a mapping, not a list",
        ),
        (
            "a.yaml",
            "5\n",
            "a.yaml: values must be a mapping, not a number",
        ),
        (
            "a.json",
            "\"x\"",
            "a.json: values must be a mapping, not a string",
        ),
        (
            "a.yaml",
            "a: 1\n---\nb: 2\n",
            "a.yaml: values must be a single document",
        ),
        (
            "a.yaml",
            "a: 1\na: 2\n",
            "a.yaml:2:1: the key `a` occurs twice in one mapping",
        ),
        ("a.yaml", "a: [\n", "a.yaml:1:4: unclosed bracket '['"),
        (
            "a.toml",
            "a = 1\n",
            "a.toml: a values file must end in .cue, .yaml, .yml or .json",
        ),
    ] {
        module.write(name, text);
        let files = vec![module.path().join(name).display().to_string()];
        let error = error_of(
            &module,
            &ValueFlags {
                files,
                ..ValueFlags::default()
            },
        );
        assert_eq!(error, expected);
    }
    let missing = ValueFlags {
        files: owned(&["nowhere.yaml"]),
        ..ValueFlags::default()
    };
    assert_eq!(
        error_of(&module, &missing),
        "nowhere.yaml: no such file or directory"
    );
    let directory = ValueFlags {
        files: vec![module.path().display().to_string()],
        ..ValueFlags::default()
    };
    assert!(
        error_of(&module, &directory).contains("not a regular file")
            || error_of(&module, &directory).contains("must end in")
    );
    let twice = ValueFlags {
        files: owned(&["-", "-"]),
        ..ValueFlags::default()
    };
    assert_eq!(
        error_of(&module, &twice),
        "standard input (`-f -`) can be read only once"
    );
    for (assignment, expected) in [
        ("a", "--set \"a\": expected KEY=VALUE"),
        ("=1", "--set \"\": a part of the path is empty"),
        (
            "a[999999999]=1",
            "--set \"a[999999999]\": the list index 999999999 is above 999",
        ),
        ("a[x]=1", "--set \"a[x]\": [x] is not a list index"),
    ] {
        assert_eq!(error_of(&module, &set(&[assignment])), expected);
    }
    let secret = ValueFlags {
        set: owned(&["password=hunter2"]),
        set_string: owned(&["password=hunter3"]),
        ..ValueFlags::default()
    };
    let error = error_of(&module, &secret);
    assert_eq!(
        error,
        "--set password and --set-string password contradict each other"
    );
}

#[test]
fn a_module_that_declares_no_values_takes_none() {
    let module = TestModule::yaml("");
    let error = error_of(&module, &set(&["a=1"]));
    assert_eq!(
        error,
        "DIR: this module takes no values\n  hint: a module.yaml declares its values under `values`, and manifests use them as `${values.port}`"
    );
}

#[test]
fn values_over_a_mebibyte_are_no_problem() {
    if !have_cue() {
        return;
    }
    let module = cue_module("metadata: name: \"web\"\n#config: {[string]: string}\n");
    let text: String = (0..2000)
        .map(|n| format!("k{n}: {}\n", "v".repeat(1000)))
        .collect();
    module.write("big.yaml", &text);
    let files = vec![module.path().join("big.yaml").display().to_string()];
    let loaded = module
        .load_flags(&ValueFlags {
            files,
            ..ValueFlags::default()
        })
        .unwrap();
    assert!(loaded.rendered.values.len() > 2_000_000);
}

#[test]
fn bombs_in_values_are_refused() {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..30 {
        text.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{}", level - 1); 10].join(",")
        ));
    }
    let module = TestModule::new(&[("a.yaml", &text), ("b.yaml", &"[".repeat(10_000))]);
    for (file, expected) in [
        ("a.yaml", "its aliases expand"),
        ("b.yaml", "recursion limit"),
    ] {
        let files = vec![module.path().join(file).display().to_string()];
        let error = Values::read(&ValueFlags {
            files,
            ..ValueFlags::default()
        })
        .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn values_are_not_printed_for_debugging() {
    let dir = TestModule::new(&[("a.yaml", "password: hunter2\n")]);
    let flags = ValueFlags {
        files: vec![dir.path().join("a.yaml").display().to_string()],
        set: owned(&["port=4711"]),
        set_string: owned(&["token=swordfish"]),
        ..ValueFlags::default()
    };
    let shown = format!("{:?}", Values::read(&flags).unwrap());
    for secret in ["hunter2", "4711", "swordfish"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("--set port"), "{shown}");
}
