//! Directories and files that nobody wrote a module file for.

use opm_core::name::ReleaseName;
use opm_render::{Inputs, Loaded, ModuleRef, NoObserver, RenderError, RenderSettings};

use crate::support::{TestModule, config_map, explain, objects, owned};

/// A directory of this name with files in it.
fn directory(name: &str, files: &[(&str, &str)]) -> TestModule {
    let all: Vec<(String, &str)> = files
        .iter()
        .map(|(path, text)| (format!("{name}/{path}"), *text))
        .collect();
    let all: Vec<(&str, &str)> = all
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    TestModule::new(&all)
}

fn load(given: &[&str], name: Option<&str>) -> Result<Loaded, RenderError> {
    let inputs = Inputs {
        name: name.map(|name| ReleaseName::new(name).unwrap()),
        ..Inputs::default()
    };
    let module = ModuleRef::read(&owned(given))?;
    opm_render::load(&module, &inputs, &RenderSettings::default(), &NoObserver)
}

#[test]
fn a_directory_of_manifests_is_a_module_and_init_says_the_same() {
    let (a, b) = (config_map("a"), config_map("b"));
    let dir = directory(
        "My_Shop",
        &[
            ("b.yml", &b),
            ("a.yaml", &a),
            ("notes.txt", "none"),
            (".hidden.yaml", "none"),
            ("opm-config.yaml", "sandbox: true"),
            ("more/c.yaml", "none"),
        ],
    );
    let path = dir.path().join("My_Shop");
    let given = path.display().to_string();
    let loaded = load(&[&given], None).unwrap();
    assert_eq!(objects(&loaded), ["app: ConfigMap/a", "app: ConfigMap/b"]);
    let module = &loaded.rendered.module;
    assert_eq!(
        (module.name.as_str(), module.path.as_str()),
        ("my-shop", "local/my-shop")
    );
    assert!(module.undeclared && module.origin.is_some());
    assert_eq!(loaded.name.as_str(), "my-shop");
    // Under another name it is another module.
    let blue = load(&[&given], Some("blue")).unwrap();
    assert_eq!(blue.rendered.module.path.as_str(), "local/blue");

    let written = opm_render::init(&path, None).unwrap();
    assert_eq!(
        (written.files, written.found),
        (vec!["module.yaml"], owned(&["a.yaml", "b.yml"]))
    );
    let mut declared = load(&[&given], None).unwrap();
    assert!(!declared.rendered.module.undeclared);
    declared.rendered.module.undeclared = true;
    assert_eq!(declared, loaded);
    let again = opm_render::init(&path, None).unwrap_err().to_string();
    assert!(again.ends_with("module.yaml already exists"), "{again}");
}

#[test]
fn files_are_a_module_named_after_the_only_one() {
    let dir = TestModule::new(&[("web.yaml", &config_map("a")), ("b.json", "")]);
    let at = |name: &str| dir.path().join(name).display().to_string();
    let loaded = load(&[&at("web.yaml")], None).unwrap();
    assert_eq!(loaded.rendered.module.path.as_str(), "local/web");
    assert_eq!(objects(&loaded), ["app: ConfigMap/a"]);
    let both = [at("web.yaml"), at("b.json")];
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    let named = load(&both, Some("shop")).unwrap();
    assert_eq!(named.rendered.module.path.as_str(), "local/shop");
    // Other files are another origin, in whatever order the same ones are the same.
    let alone = load(&both[..1], Some("shop")).unwrap();
    let turned = load(&[both[1], both[0]], Some("shop")).unwrap();
    let origin = |loaded: &Loaded| loaded.rendered.module.origin.clone().unwrap();
    assert_ne!(origin(&alone), origin(&named));
    assert_eq!(origin(&turned), origin(&named));
}

#[test]
fn a_file_that_defines_its_directory_stands_for_it() {
    let dir = TestModule::yaml(&config_map("a"));
    let file = dir.path().join("module.yaml").display().to_string();
    assert_eq!(
        ModuleRef::read(&[file]).unwrap(),
        ModuleRef::Directory(dir.path())
    );
    let here = ModuleRef::read(&owned(&["module.yaml"]));
    // There is no such file here: it would be read as one.
    assert!(matches!(here, Ok(ModuleRef::Directory(path)) if path.as_os_str() == "."));
}

#[test]
fn what_cannot_be_a_module_says_so() {
    let map = config_map("a");
    for (files, given, expected) in [
        (
            &[("readme.txt", "")][..],
            &["D"][..],
            "D: not a module: it has neither module.yaml nor cue.mod, and no manifests\n  \
             hint: `opm mod init DIR` writes a new module",
        ),
        (
            &[("base/a.yaml", map.as_str()), ("prod/x/b.yaml", "")],
            &["D"],
            "D: not a module: it has neither module.yaml nor cue.mod, and no manifests\n  \
             hint: there are manifests in D/base, D/prod/x: name one of these, or list them in a \
             module.yaml",
        ),
        (
            &[("a.yaml", &map), ("values.yaml", "\nport: 80\n")],
            &["D"],
            "D/values.yaml:2: an object: `apiVersion` is missing\n  hint: if it is not meant to be a manifest: \
             `opm mod init` writes a module.yaml that lists the files, and there it can be left out",
        ),
        (
            &[("a.yaml", &map), ("b.yaml", &map)],
            &["D/a.yaml", "D/b.yaml"],
            "D/a.yaml, D/b.yaml: it has no module file, and nothing else tells the module's name: \
             module name \"\" is not valid: it must not be empty\n  hint: --name gives it a name",
        ),
        (
            &[("a.yaml", &map)],
            &["D/a.yaml", "D"],
            "D is a directory: a module is one directory, or files",
        ),
        (
            &[("a.yaml", &map)],
            &["D/a.yaml", "D/a.yaml"],
            "\"D/a.yaml\" is given twice",
        ),
        (
            &[("a.yaml", &map)],
            &["D/b.yaml"],
            "D/b.yaml: no such file or directory",
        ),
        (
            &[("a.yaml", &map), ("module.yml", "")],
            &["D"],
            "D: not a module: it has a module.yml, but the file must be called module.yaml\n  \
             hint: rename it to module.yaml",
        ),
    ] {
        let dir = directory("D", files);
        let given: Vec<String> = given
            .iter()
            .map(|path| dir.path().join(path).display().to_string())
            .collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let error = load(&given, None).unwrap_err();
        assert_eq!(explain(&error, dir.dir.path()), expected);
    }
    // A stream can be given, too: it comes from nowhere.
    let stream = ModuleRef::read(&owned(&["/dev/null"])).unwrap();
    let inputs = Inputs::default();
    let loaded =
        opm_render::load(&stream, &inputs, &RenderSettings::default(), &NoObserver).unwrap();
    assert_eq!(
        (loaded.name.as_str(), &loaded.rendered.module.origin),
        ("null", &None)
    );
}
