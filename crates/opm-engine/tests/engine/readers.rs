//! Readers beside a writer: no lock keeps them out, and no write confuses them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opm_engine::Failure;
use opm_engine::request::{
    CompareRequest, ComparedChanges, HistoryRequest, ListRequest, ShowRequest, StatusRequest,
};

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, config, module, namespace, release};

const CHANGES: usize = 12;

/// Everything that only reads, once.
async fn read(lab: &Lab) -> Result<(), Failure> {
    let nobody = Visitor::default();
    let (app, games) = (release("app"), namespace("games"));
    let status = lab.status(
        StatusRequest {
            release: app.clone(),
            namespace: games.clone(),
            scan: false,
        },
        &nobody,
    );
    let history = lab.history(
        HistoryRequest {
            release: app.clone(),
            namespace: games.clone(),
        },
        &nobody,
    );
    let manifests = lab.show_manifests(
        ShowRequest {
            release: app.clone(),
            namespace: games.clone(),
            revision: None,
            reveal: false,
        },
        &nobody,
    );
    let list = lab.list(
        ListRequest {
            namespace: Some(games.clone()),
            home: games.clone(),
            health: true,
            deleted: false,
        },
        &nobody,
    );
    let rendered = module("app", &[("main", &config("a", "other"))]);
    let diff = lab.diff(apply(rendered, "games"), &nobody);
    let history = done(history).await?;
    let current = history.changes[0].id.clone();
    let compared = lab.compare(
        CompareRequest {
            release: app,
            namespace: games,
            compared: ComparedChanges::Two(current.clone(), current),
        },
        &nobody,
    );
    let status = done(status).await?;
    assert_eq!(status.warnings, [""; 0]);
    done(manifests).await?;
    assert_eq!(done(list).await?.releases.len(), 1);
    done(diff).await?;
    done(compared).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_are_not_disturbed_by_a_writer() {
    let lab = Lab::open();
    let write = |value: usize| {
        let rendered = module("app", &[("main", &config("a", &value.to_string()))]);
        let mut request = apply(rendered, "games");
        request.options.max_history = 6;
        lab.apply(request, &Visitor::default())
    };
    done(write(0)).await.unwrap();
    let written = Arc::new(AtomicBool::new(false));
    let readers = (0..2).map(|_| {
        let (lab, written) = (lab.clone(), written.clone());
        tokio::spawn(async move {
            while !written.load(Ordering::Relaxed) {
                read(&lab).await.unwrap();
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    for value in 1..CHANGES {
        done(write(value)).await.unwrap();
    }
    written.store(true, Ordering::Relaxed);
    for reader in readers {
        done(reader).await;
    }
}
