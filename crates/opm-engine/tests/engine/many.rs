//! One engine for many releases at once, each through its whole life.

use opm_core::health::HealthState;
use opm_core::identity::GroupKind;
use opm_engine::ports::{Cluster as _, Detail};
use opm_engine::request::{ApplyOptions, DeleteRequest, ListRequest, RollbackRequest};

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, claim, config, module, namespace, release, workload};
use crate::rollback::NoRenderer;

const RELEASES: usize = 50;

/// Apply, look, change, go back, delete.
async fn live_and_die(lab: Lab, name: String) {
    let visitor = Visitor::agreeing();
    let objects = |value: &str| {
        let objects = [config(&name, value), claim(&name), workload(&name)].concat();
        let mut request = apply(module(&name, &[("main", &objects)]), "games");
        request.options.wait = true;
        request
    };
    let first = done(lab.apply(objects("1"), &visitor)).await.unwrap();
    let status = lab.status_of(&name, "games").await;
    assert_eq!(status.health, HealthState::Ready, "{status:?}");
    assert_eq!(status.objects().count(), 3);
    let second = done(lab.apply(objects("2"), &visitor)).await.unwrap();
    assert_ne!(first.change_id, second.change_id);
    let request = RollbackRequest {
        release: release(&name),
        namespace: namespace("games"),
        revision: None,
        options: ApplyOptions::default(),
    };
    let back = done(lab.rollback(request, NoRenderer, &visitor)).await;
    assert_eq!(back.unwrap().change_id, first.change_id);
    let request = DeleteRequest::new(release(&name), namespace("games"));
    let report = done(lab.delete(request, &visitor)).await.unwrap();
    assert_eq!(report.kept.len(), 1, "its claim: {report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_releases_live_and_die_at_once() {
    let lab = Lab::open();
    let lives = (0..RELEASES).map(|number| {
        let name = format!("app-{number}");
        tokio::spawn(live_and_die(lab.clone(), name))
    });
    let lives: Vec<_> = lives.collect();
    for life in lives {
        done(life).await;
    }
    let listing = ListRequest {
        namespace: None,
        home: namespace("default"),
        health: false,
        deleted: false,
    };
    let listing = done(lab.list(listing, &Visitor::default())).await.unwrap();
    assert_eq!(listing.releases.len(), RELEASES, "each keeps its claim");
    for listed in &listing.releases {
        let state = listed.summary.told_state();
        assert_eq!(state.as_deref(), Some("deleted (1 kept)"), "{listed:?}");
    }
    for (group, kind, left) in [
        ("", "PersistentVolumeClaim", RELEASES),
        ("", "Secret", RELEASES),
        ("", "ConfigMap", 0),
        ("apps", "Deployment", 0),
    ] {
        let kind = GroupKind::new(group, kind);
        let found = lab
            .cluster
            .list(&kind, Some("games"), None, Detail::Metadata);
        let found = found.await.unwrap();
        let found = found
            .iter()
            .filter(|one| one["metadata"]["name"] != "kube-root-ca.crt");
        assert_eq!(found.count(), left, "{kind}");
    }
}
