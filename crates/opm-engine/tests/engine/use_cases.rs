//! Every use case once, in a task of its own.

use opm_core::health::HealthState;
use opm_core::identity::{GroupKind, Identity};
use opm_core::name::ComponentName;
use opm_engine::request::{
    ApplyOptions, CompareRequest, ComparedChanges, DeleteRequest, HistoryRequest, ListRequest,
    RepairRequest, RollbackRequest, ShowRequest, StatusRequest,
};
use opm_engine::status::{Status, StatusObserver};
use opm_engine::{Action, FailureKind, Report};
use tokio_util::sync::CancellationToken;

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, config, module, namespace, release, workload};
use crate::rollback::NoRenderer;

fn actions(report: &Report) -> Vec<(&str, Action)> {
    let outcomes = report.resources.iter();
    outcomes
        .map(|one| (one.identity.name.as_str(), one.action))
        .collect()
}

fn config_map(name: &str) -> Identity {
    Identity::new(GroupKind::new("", "ConfigMap"), Some("games"), name)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_applied_is_recorded_and_what_became_stale_goes() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let first = module("app", &[("main", &(config("a", "1") + &config("b", "1")))]);
    let report = done(lab.apply(apply(first, "games"), &nobody))
        .await
        .unwrap();
    assert!(report.first_apply);
    assert_eq!(
        actions(&report),
        [("a", Action::Created), ("b", Action::Created)]
    );

    let second = module("app", &[("main", &(config("a", "2") + &config("c", "1")))]);
    let request = apply(second, "games");
    let shown = done(lab.diff(request.clone(), &nobody)).await.unwrap();
    assert!(shown.differs());
    let mut rehearsed = request.clone();
    rehearsed.options.dry_run = true;
    let rehearsed = done(lab.apply(rehearsed, &nobody)).await.unwrap();
    assert!(rehearsed.dry_run);
    assert!(lab.object(&config_map("c")).await.is_none());

    let report = done(lab.apply(request.clone(), &nobody)).await.unwrap();
    assert_eq!(actions(&report), actions(&rehearsed));
    assert_eq!(
        actions(&report),
        [
            ("a", Action::Configured),
            ("c", Action::Created),
            ("b", Action::Pruned)
        ]
    );
    assert!(lab.object(&config_map("b")).await.is_none());
    let again = done(lab.diff(request, &nobody)).await.unwrap();
    assert!(!again.differs());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_can_be_read_compared_and_gone_back_to() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    for value in ["1", "2"] {
        let rendered = module("app", &[("main", &config("a", value))]);
        done(lab.apply(apply(rendered, "games"), &nobody))
            .await
            .unwrap();
    }
    let (app, games) = (release("app"), namespace("games"));
    let request = HistoryRequest {
        release: app.clone(),
        namespace: games.clone(),
    };
    let history = done(lab.history(request, &nobody)).await.unwrap();
    let ids: Vec<&str> = history.changes.iter().map(|one| one.id.as_str()).collect();
    assert_eq!((ids.len(), history.log.len()), (2, 2));

    let request = CompareRequest {
        release: app.clone(),
        namespace: games.clone(),
        compared: ComparedChanges::One(ids[0].to_owned()),
    };
    let compared = done(lab.compare(request, &nobody)).await.unwrap();
    assert_eq!(compared.from.as_deref(), Some(ids[1]));
    assert_eq!(compared.objects.len(), 1);

    let request = ShowRequest {
        release: app.clone(),
        namespace: games.clone(),
        revision: Some(ids[1].to_owned()),
        reveal: false,
    };
    let manifests = done(lab.show_manifests(request.clone(), &nobody)).await;
    assert_eq!(manifests.unwrap().objects[0].object["data"]["value"], "1");
    let values = done(lab.show_values(request, &nobody)).await.unwrap();
    assert_eq!(values.values, "{}\n");

    let request = RollbackRequest {
        release: app,
        namespace: games,
        revision: None,
        options: ApplyOptions::default(),
    };
    let report = done(lab.rollback(request, NoRenderer, &nobody))
        .await
        .unwrap();
    assert_eq!(report.change_id.unwrap().as_str(), ids[1]);
    let live = lab.object(&config_map("a")).await.unwrap();
    assert_eq!(live["data"]["value"], "1");
}

/// Ends the watch when it has seen a release that is ready.
struct UntilReady {
    seen: Vec<HealthState>,
    cancel: CancellationToken,
    told: tokio::sync::mpsc::UnboundedSender<HealthState>,
}

impl StatusObserver for UntilReady {
    fn status(&mut self, status: &Status) {
        self.seen.push(status.health);
        let _ = self.told.send(status.health);
        if status.health == HealthState::Ready {
            self.cancel.cancel();
        }
    }

    fn trouble(&mut self, what: &str) {
        panic!("the sandbox answers: {what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_is_read_once_or_watched_until_the_caller_has_seen_enough() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let rendered = module("app", &[("main", &workload("web"))]);
    done(lab.apply(apply(rendered, "games"), &nobody))
        .await
        .unwrap();
    let watcher = Visitor::default();
    let (told, mut statuses) = tokio::sync::mpsc::unbounded_channel();
    let observer = UntilReady {
        seen: Vec::new(),
        cancel: watcher.cancel.clone(),
        told,
    };
    let request = StatusRequest {
        release: release("app"),
        namespace: namespace("games"),
        scan: true,
    };
    let watched = lab.watch_status(request, None, observer, &watcher);
    let ended = done(watched).await.unwrap_err();
    assert_eq!(ended.kind, FailureKind::Interrupted);
    let mut last = None;
    while let Some(health) = statuses.recv().await {
        last = Some(health);
    }
    assert_eq!(last, Some(HealthState::Ready));
    assert_eq!(
        lab.status_of("app", "games").await.health,
        HealthState::Ready
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_runs_out_of_time_answers_with_the_last_status() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let rendered = module("app", &[("main", &config("a", "1"))]);
    done(lab.apply(apply(rendered, "games"), &nobody))
        .await
        .unwrap();
    let (told, _statuses) = tokio::sync::mpsc::unbounded_channel();
    let observer = UntilReady {
        seen: Vec::new(),
        cancel: CancellationToken::new(),
        told,
    };
    let request = StatusRequest {
        release: release("app"),
        namespace: namespace("games"),
        scan: false,
    };
    let timeout = Some(std::time::Duration::from_millis(100));
    let watched = lab.watch_status(request, timeout, observer, &nobody);
    assert_eq!(done(watched).await.unwrap().health, HealthState::Ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_are_listed_and_deleted_by_component_and_whole() {
    let (lab, nobody) = (Lab::open(), Visitor::default());
    for name in ["one", "two"] {
        let parts = [
            ("front", config(&format!("{name}-front"), "1")),
            ("back", config(&format!("{name}-back"), "1")),
        ];
        let parts = parts.each_ref().map(|(name, yaml)| (*name, yaml.as_str()));
        let rendered = module(name, &parts);
        done(lab.apply(apply(rendered, "games"), &nobody))
            .await
            .unwrap();
    }
    let everything = ListRequest {
        namespace: None,
        home: namespace("default"),
        health: true,
        deleted: false,
    };
    let listing = done(lab.list(everything.clone(), &nobody)).await.unwrap();
    let names: Vec<&str> = listing
        .releases
        .iter()
        .map(|release| release.summary.name.as_str())
        .collect();
    assert_eq!(names, ["one", "two"]);

    let component = DeleteRequest {
        component: Some(ComponentName::new("back").unwrap()),
        ..DeleteRequest::new(release("one"), namespace("games"))
    };
    let report = done(lab.delete(component, &Visitor::agreeing())).await;
    assert_eq!(actions(&report.unwrap()), [("one-back", Action::Deleted)]);
    let left = lab.status_of("one", "games").await;
    assert_eq!(left.components.len(), 1);

    let whole = DeleteRequest::new(release("one"), namespace("games"));
    let refused = done(lab.delete(whole.clone(), &nobody)).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Refused, "nobody can be asked");
    let report = done(lab.delete(whole, &Visitor::agreeing())).await.unwrap();
    assert_eq!(actions(&report), [("one-front", Action::Deleted)]);
    lab.delete_release("two", "games").await;
    let listing = done(lab.list(everything, &nobody)).await.unwrap();
    assert!(listing.releases.is_empty(), "{listing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_deleted_is_repaired() {
    use opm_engine::ports::{Permit, SecretStore as _};
    let (lab, nobody) = (Lab::open(), Visitor::default());
    let rendered = module("app", &[("main", &config("a", "1"))]);
    let applied = done(lab.apply(apply(rendered, "games"), &nobody)).await;
    let release_id = applied.unwrap().release.unwrap();
    let secret = release_id.id.inventory_secret(&release_id.name);
    let stored = lab.cluster.get_secret("games", &secret).await.unwrap();
    let uid = stored.unwrap().uid;
    lab.cluster
        .remove_secret("games", &secret, &uid, None, Permit::default())
        .await
        .unwrap();

    let mut request = RepairRequest {
        release: release("app"),
        namespace: namespace("games"),
        dry_run: true,
        lock_timeout: std::time::Duration::ZERO,
    };
    let found = done(lab.repair(request.clone(), &nobody)).await.unwrap();
    assert!(found.needed && found.dry_run);
    request.dry_run = false;
    let refused = done(lab.repair(request.clone(), &nobody)).await;
    assert_eq!(refused.unwrap_err().kind, FailureKind::Refused);
    let repaired = done(lab.repair(request.clone(), &Visitor::agreeing())).await;
    assert_eq!(repaired.unwrap().changes.len(), 1);
    let again = done(lab.repair(request, &nobody)).await.unwrap();
    assert!(!again.needed);
    assert_eq!(
        lab.status_of("app", "games").await.health,
        HealthState::Ready
    );
}
