//! Completion as shells ask for it: names come from the cluster, and where they cannot, nothing
//! does.

use crate::runner::World;

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\ncomponents:\n  - {name: app, manifests: [objects]}\n";

fn prepared() -> World {
    let world = World::new()
        .with("OPM_SANDBOX", "true")
        .with("OPM_SANDBOX_DIR", "box")
        .file("web/module.yaml", MODULE)
        .file(
            "web/objects/all.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        );
    let applied = world.opm("apply ./web");
    assert_eq!(applied.code, 0, "{applied}");
    world
}

/// What a shell is offered for the last word of a line.
fn offered(world: &World, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut command = world.command(&["--"]);
    command
        .args(&words)
        .env("OPM_COMPLETE", "fish")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
    let ran = world.ran(&command.output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}: {ran}");
    let lines = ran.stdout.lines();
    lines
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

#[test]
fn names_come_from_the_cluster() {
    let world = prepared();
    let change = world.opm("history web").words();
    let change = change.lines().nth(1).unwrap().split(' ').next().unwrap();
    for (line, expected) in [
        ("opm mod st", "status"),
        ("opm sta", "status"),
        ("opm mod status w", "web"),
        ("opm status w", "web"),
        ("opm mod rollback web --revision prev", "previous"),
        ("opm mod rollback web --revision ", change),
        ("opm mod delete web --component ", "app"),
        ("opm mod status -n def", "default"),
        ("opm mod apply --prune-n", "--prune-namespaces"),
    ] {
        // On a busy machine the answer may come too late, and then there is silence.
        let mut tries = (0..100).map(|_| offered(&world, line));
        let found = tries.any(|offered| offered.iter().any(|one| one == expected));
        assert!(found, "{line}: {expected} is never offered");
    }
}

#[test]
fn contexts_come_from_the_kubeconfig() {
    let kubeconfig = "apiVersion: v1\nkind: Config\ncontexts:\n- {name: staging, context: {cluster: c, user: u}}\n- {name: production, context: {cluster: c, user: u}}\nclusters: []\nusers: []\n";
    let world = World::new().file("config", kubeconfig);
    let offered = offered(&world, "opm mod list --kubeconfig config --context ");
    assert_eq!(offered, ["staging", "production"]);
}

/// Nothing answers at the address, or it takes too long: silence, and no failure.
#[test]
fn what_cannot_be_told_is_left_out_in_silence() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- {{name: c, context: {{cluster: c, user: u}}}}\nclusters:\n- {{name: c, cluster: {{server: 'http://{address}'}}}}\nusers:\n- {{name: u, user: {{}}}}\n"
    );
    let world = World::new().file("config", &kubeconfig);
    let line = "opm mod status --kubeconfig config w";
    assert!(offered(&world, line).is_empty());
    assert!(
        offered(
            &World::new().file("opm-config.yaml", "{"),
            "opm mod status w"
        )
        .is_empty()
    );
}

#[test]
fn every_shell_asks_in_its_own_way() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let ran = World::new().opm(&format!("completion {shell}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{shell}");
        assert!(
            ran.stdout.contains("OPM_COMPLETE"),
            "{shell}: {}",
            ran.stdout
        );
    }
}
