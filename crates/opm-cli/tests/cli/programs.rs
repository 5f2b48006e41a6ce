//! Where `opm` looks for the programs that it starts: as a user has them, by PATH alone.

use std::os::unix::fs::{PermissionsExt, symlink};

use insta::assert_snapshot;

use crate::modules::cue;
use crate::runner::World;

/// A program that leaves a file where it ran, and is no `cue`.
const SPY: &str = "#!/bin/sh\necho started >> \"$(/usr/bin/dirname \"$0\")/started\"\n";

fn executable(world: &World, path: &str) {
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path(path), mode).unwrap();
}

/// The official `cue` lies where Go, Homebrew or a user puts it, and nowhere else.
#[test]
fn cue_is_found_wherever_path_says() {
    let Some(cue) = cue() else { return };
    let world = World::new().file("../home/go/bin/README", "");
    let bin = world.path("../home/go/bin");
    symlink(cue, bin.join("cue")).unwrap();
    let world = world.with("PATH", &format!("/usr/bin:{}", bin.display()));
    let init = world.opm("mod init web");
    assert_snapshot!(init, @r"
    exit 0
    --- stderr
    wrote the module web to web: cue.mod/module.cue, module.cue, values.cue
    hint: `opm mod build web` shows what it renders
    ");
    let vet = world.opm("mod vet web");
    assert_eq!(
        (vet.code, vet.stdout.as_str()),
        (0, "module web is valid: 3 objects in 2 components\n"),
        "{vet}"
    );
}

/// What a repository brings along is not run, whatever PATH says.
#[test]
fn no_program_is_taken_from_the_working_directory() {
    let world = World::new().file("cue", SPY).file("bin/cue", SPY);
    for path in ["cue", "bin/cue"] {
        executable(&world, path);
    }
    assert_eq!(world.opm("mod init web").code, 0);
    let world = world
        .file("web/cue", SPY)
        .with("PATH", ":.::bin:./bin:../work:/nowhere:");
    executable(&world, "web/cue");
    let ran = world.opm("mod vet web");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(
        ran.stderr.contains("the program `cue` was not found"),
        "{ran}"
    );
    for path in ["started", "bin/started", "web/started"] {
        assert!(!world.path(path).exists(), "{path}");
    }
}

/// A path is the user's own word, also one from here.
#[test]
fn a_variable_names_the_program() {
    let world = World::new().file("tools/my-cue", SPY).with("PATH", "");
    assert_eq!(world.opm("mod init web").code, 0);
    let world = world.with("OPM_CUE", "tools/my-cue");
    let ran = world.opm("mod vet web");
    assert!(
        ran.stderr
            .contains("`TEMP/work/tools/my-cue` is not an executable file"),
        "{ran}"
    );
    executable(&world, "tools/my-cue");
    let ran = world.opm("mod vet web");
    assert!(ran.stderr.contains("the version of `cue`"), "{ran}");
    assert!(world.path("tools/started").exists());
}

#[test]
fn a_new_cue_module_says_that_cue_is_missing() {
    let world = World::new().with("PATH", "/nowhere");
    assert_snapshot!(world.opm("mod init web"), @r"
    exit 0
    --- stderr
    wrote the module web to web: cue.mod/module.cue, module.cue, values.cue
    hint: `opm mod build web` shows what it renders
    warning: the module cannot be rendered yet: the program `cue` was not found
    hint: CUE modules need the `cue` command, 0.15.0 or later: https://cuelang.org/docs/introduction/installation/
    hint: opm looks for it in PATH, unless OPM_CUE names it; YAML modules do not need it
    ");
    let quiet = world.opm("mod init shop --format yaml");
    assert!(!quiet.stderr.contains("warning"), "{quiet}");
}
