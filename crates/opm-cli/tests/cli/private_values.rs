//! What the user gives as values stays with the user: in files, in messages, and on terminals.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::modules::cue;
use crate::runner::World;

/// A world with the program `script` as `cue`, and a runtime directory of the user.
fn with_cue(script: &str) -> World {
    let world = World::new()
        .file("../tools/cue", script)
        .file("../run/.keep", "");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.path("../tools/cue"), executable).unwrap();
    fs::set_permissions(world.path("../run"), fs::Permissions::from_mode(0o700)).unwrap();
    let (tool, run) = (world.path("../tools/cue"), world.path("../run"));
    assert_eq!(world.opm("mod init web").code, 0);
    world
        .with("OPM_CUE", tool.canonicalize().unwrap().to_str().unwrap())
        .with(
            "XDG_RUNTIME_DIR",
            run.canonicalize().unwrap().to_str().unwrap(),
        )
        .with("PATH", "/usr/bin:/bin")
}

/// What lies in the runtime directory.
fn left_behind(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.path("../run")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.ends_with(".keep")).collect()
}

fn waits_for(path: &Path) -> String {
    let start = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ if start.elapsed() > Duration::from_secs(120) => {
                panic!("{} never came", path.display())
            }
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn values_lie_where_nobody_else_can_read_them_and_not_for_long() {
    let version = "if [ \"$1\" = version ]; then echo 'cue version v0.15.0'; exit 0; fi\n";
    let look = format!(
        "#!/bin/sh\n{version}/usr/bin/find . -not -type l -printf '%y %m\\n' | /usr/bin/sort -u > \"$(/usr/bin/dirname \"$0\")/seen\"\n\
         pwd > \"$(/usr/bin/dirname \"$0\")/where\"\nexit 1\n"
    );
    let world = with_cue(&look).file("v.yaml", "replicas: 1\n");
    world.opm("mod vet web -n x -f v.yaml --set-string password=CANARY99");
    assert_eq!(world.read("../tools/seen"), "d 700\nf 600\n");
    let place = world.read("../tools/where");
    assert!(place.contains("/run/opm-render-"), "{place}");
    assert_eq!(left_behind(&world), [] as [PathBuf; 0]);

    // A process that is killed leaves its directory, and the next one removes it.
    let wait = format!(
        "#!/bin/sh\n{version}echo $$ > \"$(/usr/bin/dirname \"$0\")/pid\"\nexec /bin/sleep 600\n"
    );
    let world = world.file("../tools/cue", &wait);
    let mut child = world
        .command(&[
            "mod",
            "vet",
            "web",
            "-n",
            "x",
            "--set-string",
            "password=CANARY99",
        ])
        .spawn()
        .unwrap();
    let sleeper: i32 = waits_for(&world.path("../tools/pid"))
        .trim()
        .parse()
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let left = left_behind(&world);
    assert_eq!(left.len(), 1, "{left:?}");
    let world = world.file("../tools/cue", &look);
    world.opm("mod vet web -n x");
    assert_eq!(left_behind(&world), [] as [PathBuf; 0]);
    kill_process(Pid::from_raw(sleeper).unwrap(), Signal::KILL).unwrap();
}

const CUE_MODULE: &str = r##"package web

metadata: {name: "web"}
#config: {
	password: =~"^[a-z]+$" | *"none"
	port:     int | *80
	mode:     "dev" | *"prod"
	note:     string | *""
}
values: #config
#components: app: resources: c: {
	apiVersion: "v1", kind: "ConfigMap", metadata: name: "c"
	data: n: #config.note
}
"##;

fn cue_module(cue: &str) -> World {
    let definition = "module: \"example.com/web@v0\"\nlanguage: version: \"v0.15.0\"\n";
    World::new()
        .file("web/cue.mod/module.cue", definition)
        .file("web/module.cue", CUE_MODULE)
        .with("OPM_CUE", cue)
}

#[test]
fn messages_name_the_place_and_not_the_value() {
    let Some(cue) = cue() else { return };
    let world = cue_module(&cue)
        .file("v.yaml", "password: CANARY99\n")
        .file("v.json", "{\"password\": \"CANARY99\"}")
        .file("v.cue", "password: \"CANARY99\"\n")
        .file("secret", "CANARY99");
    for given in [
        "--set password=CANARY99",
        "--set-string password=CANARY99",
        "--set-file password=secret",
        "-f v.yaml",
        "-f v.json",
        "-f v.cue",
        "--set-string mode=CANARY99",
        "--set-string port=CANARY99",
        "--set port=77001.5",
    ] {
        let ran = world.opm(&format!("mod vet web -n x {given}"));
        assert_eq!(ran.code, 2, "{given}: {ran}");
        assert!(
            !ran.stderr.contains("CANARY") && !ran.stderr.contains("77001"),
            "{given}: {ran}"
        );
        assert!(ran.stderr.contains("values."), "{given}: {ran}");
        assert!(ran.stderr.contains("module.cue:"), "{given}: {ran}");
    }
    // What the module itself says is worth reading.
    let ran = world.opm("mod vet web -n x --set-string password=CANARY99");
    assert!(ran.stderr.contains("^[a-z]+$"), "{ran}");
    let ran = world.opm("mod vet web -n x --set-string mode=CANARY99");
    assert!(ran.stderr.contains("\"prod\""), "{ran}");
}

/// What would move a cursor, colour a line or turn its direction.
const HARMFUL: [char; 4] = ['\u{1b}', '\u{9b}', '\u{202e}', '\u{2066}'];

fn shows_safely(text: &str) {
    for c in HARMFUL {
        assert!(!text.contains(c), "{c:?} in {text:?}");
    }
}

#[test]
fn what_a_terminal_would_obey_is_written_out() {
    let definition = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: a}\n\
                      components: [{name: a, manifests: [m.yaml]}]\n";
    let text = "x\\e[31m\\x9b1m\\u202ey\\u2066\\uFFFE\\U000E0041z \\\\uFFFE00000041";
    let object = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{\"k\\u202e\": \"{text}\"}}\n"
    );
    let world = World::new()
        .file("module.yaml", definition)
        .file("m.yaml", &object);
    let json = world.opm("mod build -n x -o json");
    let yaml = world.opm("mod build -n x");
    for ran in [&json, &yaml] {
        assert_eq!(ran.code, 0, "{ran}");
        shows_safely(&ran.stdout);
    }
    // And it means the same.
    let meant = "x\u{1b}[31m\u{9b}1m\u{202e}y\u{2066}\u{fffe}\u{e0041}z \\uFFFE00000041";
    let object = &json.json()["resources"][0]["object"];
    assert_eq!(object["data"]["k\u{202e}"], meant);
    let world = World::new()
        .file("module.yaml", definition)
        .file("m.yaml", &yaml.stdout);
    let again = world.opm("mod build -n x -o json");
    assert_eq!(again.json()["resources"][0]["object"], *object);

    let Some(cue) = cue() else { return };
    let world = cue_module(&cue).file("v.yaml", "note: \"a\\e[31m\\x9b\\u202e\\u2066b\"\n");
    let world = world.with("OPM_SANDBOX", "true");
    let ran = world.opm("mod apply web -n x --create-namespace -f v.yaml --yes");
    assert_eq!(ran.code, 0, "{ran}");
    for format in ["", "-o json", "-o yaml"] {
        let ran = world.opm(&format!("mod show web values -n x {format}"));
        assert_eq!(ran.code, 0, "{ran}");
        shows_safely(&ran.stdout);
        assert!(
            ran.stdout.contains("202e") || ran.stdout.contains("202E"),
            "{ran}"
        );
    }
}
