//! `opm mod build --out-dir` into a directory that came with a checkout.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::runner::World;

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\n\
    metadata: {name: a}\ncomponents: [{name: a, manifests: [m.yaml]}]\n";

fn config_map(name: &str, value: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{k: {value}}}\n"
    )
}

fn module(objects: &str) -> World {
    World::new()
        .file("module.yaml", MODULE)
        .file("m.yaml", objects)
}

const BUILD: &str = "mod build --out-dir out -n x";
const A: &str = "out/configmap_x_a.yaml";

#[test]
fn nothing_is_written_through_links() {
    let world = module(&config_map("a", "v"))
        .file("../victim", "precious")
        .file("out/x", "");
    // Where drafts were, and where the list is: whatever stands there is not followed.
    for name in [
        ".configmap_x_a.yaml.new",
        "..opm-build.new",
        ".opm-build.draft.1",
    ] {
        symlink(world.path("../victim"), world.path("out").join(name)).unwrap();
    }
    let ran = world.opm(BUILD);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.read("../victim"), "precious");
    assert!(world.path(A).symlink_metadata().unwrap().is_file());

    for name in ["configmap_x_a.yaml", ".opm-build"] {
        let world = module(&config_map("a", "v"))
            .file("../victim", "precious")
            .file("out/x", "");
        symlink(world.path("../victim"), world.path("out").join(name)).unwrap();
        let ran = world.opm(BUILD);
        assert_eq!(ran.code, 2, "{name}: {ran}");
        assert_eq!(world.read("../victim"), "precious");
    }

    let world = module(&config_map("a", "v")).file("../elsewhere/x", "");
    symlink(world.path("../elsewhere"), world.path("out")).unwrap();
    let ran = world.opm(BUILD);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(
        ran.stderr.contains("out is not a directory itself"),
        "{ran}"
    );
    assert_eq!(
        std::fs::read_dir(world.path("../elsewhere"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn a_list_of_others_removes_nothing() {
    let names = "notes.yaml\n../m.yaml\n/etc/passwd\n0000  notes.yaml\n0000  ../m.yaml\n0000  .opm-build\n0000  link.yaml\n0000  dir.yaml\n";
    let world = module(&config_map("a", "v"))
        .file("out/notes.yaml", "mine")
        .file("out/dir.yaml/kept", "mine")
        .file("../victim", "precious")
        .file("out/.opm-build", names);
    symlink(world.path("../victim"), world.path("out/link.yaml")).unwrap();
    let ran = world.opm(BUILD);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        ran.stderr
            .contains("out/notes.yaml is no longer rendered and was kept"),
        "{ran}"
    );
    assert_eq!(world.read("out/notes.yaml"), "mine");
    assert_eq!(world.read("out/dir.yaml/kept"), "mine");
    assert!(world.path("out/link.yaml").symlink_metadata().is_ok());
    assert!(world.path("m.yaml").exists());
    assert_eq!(world.read("../victim"), "precious");
}

#[test]
fn only_what_is_still_as_a_build_wrote_it_is_replaced_or_removed() {
    let both = config_map("a", "v") + &config_map("b", "v");
    let world = module(&both);
    assert_eq!(world.opm(BUILD).code, 0);
    // Unchanged: replaced, and removed when it is no longer rendered.
    let world = world.file("m.yaml", &config_map("a", "w"));
    assert_eq!(world.opm(BUILD).code, 0);
    assert!(world.read(A).contains("k: w"), "{}", world.read(A));
    assert!(!world.path("out/configmap_x_b.yaml").exists());
    // Changed by somebody: neither.
    let world = world.file(A, "edited");
    let ran = world.opm(BUILD);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(
        ran.stderr
            .contains("configmap_x_a.yaml would be overwritten"),
        "{ran}"
    );
    let world = world.file("m.yaml", &config_map("c", "w"));
    let ran = world.opm(BUILD);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        ran.stderr
            .contains("configmap_x_a.yaml is no longer rendered and was kept"),
        "{ran}"
    );
    assert_eq!(world.read(A), "edited");
    // A file that is already what would be written is nobody's loss.
    let text = world.read("out/configmap_x_c.yaml");
    std::fs::remove_file(world.path("out/.opm-build")).unwrap();
    assert_eq!(world.opm(BUILD).code, 0);
    assert_eq!(world.read("out/configmap_x_c.yaml"), text);
}

#[test]
fn secrets_are_for_the_user_alone() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: v}\n";
    let world = module(secret);
    assert_eq!(world.opm(BUILD).code, 0);
    let written = world.path("out/secret_x_s.yaml").metadata().unwrap();
    assert_eq!(written.permissions().mode() & 0o777, 0o600);
}
