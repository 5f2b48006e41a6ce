//! What docs/library.md and the example show works, and they show the same.

use opm_cluster::{ClusterClient, KubeClient};
use opm_sandbox::Sandbox;

#[allow(dead_code, reason = "a program, of which its work is run here")]
#[path = "../../examples/apply_and_status.rs"]
mod apply_and_status;

const GUIDE: &str = include_str!("../../../../docs/library.md");
const EXAMPLE: &str = include_str!("../../examples/apply_and_status.rs");

#[tokio::test(flavor = "multi_thread")]
async fn the_example_applies_a_module_and_shows_its_status() {
    let directory = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::open(directory.path()).unwrap();
    let cluster = ClusterClient::from_client(KubeClient::new(sandbox, "default"));
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/minecraft-yaml");
    let work = apply_and_status::apply_and_status(cluster, module.to_owned());
    let status = crate::kit::done(tokio::spawn(work)).await.unwrap();
    assert_eq!(status["health"], "Ready", "{status:#}");
    assert_eq!(status["release"]["name"], "minecraft");
}

#[test]
fn the_guide_quotes_the_example() {
    let quoted = format!("```rust\n{EXAMPLE}```\n");
    assert!(
        GUIDE.contains(&quoted),
        "docs/library.md does not quote examples/apply_and_status.rs as it is"
    );
    assert!(EXAMPLE.lines().count() < 60);
}
