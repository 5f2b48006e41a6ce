//! The API server dies in the middle of an apply and comes back: the apply goes on, or says that
//! the cluster does not answer; the next one ends clean.

use std::time::{Duration, Instant};

use opm_e2e::objects::config_map;
use opm_e2e::{Module, World};
use opm_testkit::{ApiServer, ControlPlane};

#[tokio::test]
async fn an_api_server_that_restarts_in_the_middle_of_an_apply() {
    // Whoever cannot have a control plane cannot have an API server of their own either.
    let Some(_) = ControlPlane::for_test().await else {
        return;
    };
    let mut server = ApiServer::start().await.unwrap();
    let w = World::real(server.plane()).await;
    for (stem, away) in [("quick", 0), ("slow", 3)] {
        let run = w.start_apply(&module(stem), &["--concurrency", "2"]);
        let reached = format!("ConfigMap/{stem}-020");
        w.until("it is in the middle", || w.exists(&reached)).await;
        server.kill().await;
        // For this long it is away: that is what is looked at.
        tokio::time::sleep(Duration::from_secs(away)).await;
        let began = Instant::now();
        server.start_again().await.unwrap();
        let back = began.elapsed().as_secs_f32();
        let ran = run.end().await;
        assert!(matches!(ran.code(), 0 | 1 | 3), "{ran}");
        if ran.code() != 0 {
            let clear = |text: &str| ran.to_string().contains(text);
            assert!(clear("not answer") || clear("connect"), "{ran}");
        }
        opm_e2e::note(&format!(
            "an API server away for {away} s and {back:.1} s to come back: exit {}",
            ran.code()
        ));
        w.apply(&module(stem), &[]).await.ok();
        let names: Vec<String> = names(stem).map(|n| format!("ConfigMap/{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        w.holds_exactly("web", &names).await;
    }
}

fn names(stem: &str) -> impl Iterator<Item = String> {
    (0..200).map(move |n| format!("{stem}-{n:03}"))
}

fn module(stem: &str) -> Module {
    let objects: Vec<_> = names(stem).map(|n| config_map(&n, "1")).collect();
    Module::new("web").component("app", &objects)
}
