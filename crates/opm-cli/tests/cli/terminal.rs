//! Questions on a terminal: what is asked, and what an answer does.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::runner::{Ran, World};

/// Runs `opm` with a terminal as its standard input, on which `typed` is typed.
fn on_terminal(world: &World, line: &str, typed: &str) -> Ran {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let keyboard = openpt(flags).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let name = ptsname(&keyboard, Vec::new()).unwrap();
    let terminal = File::open(OsStr::from_bytes(name.to_bytes())).unwrap();
    let child = world
        .command(&line.split_whitespace().collect::<Vec<_>>())
        .stdin(terminal)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keyboard = File::from(keyboard);
    keyboard.write_all(typed.as_bytes()).unwrap();
    world.ran(&child.wait_with_output().unwrap())
}

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\ncomponents:\n  - {name: app, manifests: [objects]}\n";
const OBJECTS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
const APPLY: &str = "mod apply ./web --sandbox --sandbox-dir box -o json";

/// A release of two objects whose module renders nothing any more.
fn emptied() -> World {
    let world = World::new()
        .file("web/module.yaml", MODULE)
        .file("web/objects/all.yaml", OBJECTS);
    let applied = world.opm(APPLY);
    assert_eq!(applied.code, 0, "{applied}");
    world.file("web/objects/all.yaml", "")
}

/// RFC-0001, scenario P: a flag, or interactive confirmation.
#[test]
fn an_empty_render_is_asked_about() {
    let world = emptied();
    let no = on_terminal(&world, APPLY, "n\n");
    let question = "  ConfigMap/b in namespace default\n  ConfigMap/a in namespace default\nThe module renders no objects. Delete all of these, which release web has? [y/N] ";
    assert!(no.stderr.contains(question), "{no}");
    let refusal = "error: the module renders no objects, and 2 would be removed";
    assert!(no.stderr.contains(refusal), "{no}");
    assert_eq!(no.code, 2, "{no}");

    let yes = on_terminal(&world, APPLY, "y\n");
    assert_eq!(yes.code, 0, "{yes}");
    let resources = yes.json()["resources"].clone();
    let actions = resources.as_array().unwrap().iter();
    let pruned = actions.filter(|one| one["action"] == "pruned").count();
    assert_eq!(pruned, 2, "{yes}");
}

/// Without a terminal, and with `--yes`, it stays a refusal that names the flag.
#[test]
fn yes_does_not_allow_an_empty_render() {
    let world = emptied();
    for refused in [
        world.opm(APPLY),
        world.opm(&format!("{APPLY} --yes")),
        on_terminal(&world, &format!("{APPLY} --yes"), "\n"),
    ] {
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains("--allow-empty"), "{refused}");
    }
}
