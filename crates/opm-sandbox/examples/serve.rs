//! Serves a sandbox: `cargo run -p opm-sandbox --example serve -- DIR PORT`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example")]

#[tokio::main(flavor = "multi_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let dir = args.next().unwrap();
    let port = args.next().and_then(|p| p.parse().ok()).unwrap_or(0);
    let sandbox = opm_sandbox::Sandbox::open(dir.as_ref()).unwrap();
    let server = opm_sandbox::serve(sandbox, port).await.unwrap();
    println!("{}", server.kubeconfig());
    std::future::pending::<()>().await;
}
