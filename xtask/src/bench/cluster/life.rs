//! Takes a release through its life with every client in turn, and measures each step.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use opm_testkit::relay::TcpRelay;
use opm_testkit::{Audit, ControlPlane, TestNamespace, User, until};
use serde::Deserialize;

use super::clients::{Client, Programs, Workplace, arguments, is_success, variables};
use super::floor;
use super::matrix::{Action, Cell, Shape};
use super::objects::Files;
use super::results::{Results, Sample};

type Failed = Box<dyn Error>;

/// How long the server has before each step, to hear of what the step before wrote: it answers
/// lists of another kind only then, up to 100 ms later, whoever asks.
const QUIET: Duration = Duration::from_millis(120);

/// What one client has for one cell: a namespace, a user by whose name its requests are counted,
/// and a home of its own.
struct Place {
    client: Client,
    namespace: TestNamespace,
    user: User,
    kubeconfig: PathBuf,
    home: PathBuf,
    _relay: Option<TcpRelay>,
}

/// What `opm-bench time` writes.
#[derive(Debug, Deserialize)]
struct Measured {
    seconds: f64,
    cpu: f64,
    bytes: u64,
    code: Option<i64>,
}

struct Bench<'a> {
    programs: &'a Programs,
    cell: &'a Cell,
    audit: Audit,
    files: &'a Files,
    scratch: &'a Path,
}

/// Measures one row of the matrix.
pub(super) async fn measure(
    plane: &'static ControlPlane,
    programs: &Programs,
    cell: &Cell,
    clients: &[Client],
    results: &mut Results,
) -> Result<(), Failed> {
    let scratch = tempfile::tempdir()?;
    let files = Files::write(&scratch.path().join("objects"), cell.shape)?;
    let bench = Bench {
        programs,
        cell,
        audit: plane
            .audit()
            .ok_or("requests are counted in the audit log, and this cluster has none to look at")?,
        files: &files,
        scratch: scratch.path(),
    };
    let mut places = Vec::new();
    for client in clients {
        places.push(place(plane, *client, cell, scratch.path()).await?);
    }
    results.begin_cell(cell);
    for round in 0..cell.rounds {
        for turn in 0..places.len() {
            // Nobody is always first.
            let at = (turn + round) % places.len();
            let ended = match cell.shape {
                Shape::Releases(releases) => {
                    bench.list(&places[at], releases, round, results).await
                }
                _ => bench.life(&places[at], results).await,
            };
            if let Err(error) = ended {
                let client = places[at].client;
                eprintln!("  {} fails: {error}", client.title());
                results.failed(client, &error.to_string());
                places.remove(at);
                break;
            }
            eprint!(".");
        }
    }
    eprintln!();
    Ok(())
}

async fn place(
    plane: &'static ControlPlane,
    client: Client,
    cell: &Cell,
    scratch: &Path,
) -> Result<Place, Failed> {
    let namespace = plane
        .namespace(&format!("bench-{}", client.program()))
        .await;
    let user = namespace.admin().await;
    let home = scratch.join(format!("home-{}", client.program()));
    fs::create_dir_all(&home)?;
    let (kubeconfig, relay) = match cell.delay {
        0 => (user.kubeconfig().to_owned(), None),
        delay => {
            let relay = TcpRelay::start(user.kubeconfig(), Duration::from_millis(delay))?;
            (
                relay.write_kubeconfig(&home.join("kubeconfig"))?,
                Some(relay),
            )
        }
    };
    Ok(Place {
        client,
        namespace,
        user,
        kubeconfig,
        home,
        _relay: relay,
    })
}

impl Bench<'_> {
    async fn life(&self, place: &Place, results: &mut Results) -> Result<(), Failed> {
        let measured = |action| self.cell.actions.contains(&action);
        for action in Action::LIFE {
            let needed = match action {
                Action::Install | Action::Delete => true,
                Action::Upgrade => measured(action) || measured(Action::Rollback),
                other => measured(other),
            };
            if !needed {
                continue;
            }
            match self.step(place, action, "bench", self.files).await? {
                Some(sample) if measured(action) => results.add(place.client, action, sample),
                Some(_) => {}
                // What cannot go back is brought back, so that all delete the same.
                None if action == Action::Rollback => {
                    self.step(place, Action::OneChanged, "bench", self.files)
                        .await?;
                }
                None => {}
            }
        }
        self.settle(place).await;
        Ok(())
    }

    /// Installs the releases in the first round, and lists them in each.
    async fn list(
        &self,
        place: &Place,
        releases: usize,
        round: usize,
        results: &mut Results,
    ) -> Result<(), Failed> {
        if round == 0 && place.client.is_floor() {
            self.step(place, Action::Install, "bench", self.files)
                .await?;
        } else if round == 0 {
            for n in 0..releases {
                let dir = self.scratch.join(format!("release-{n:03}"));
                let files = Files::write_release(&dir, n)?;
                self.step(place, Action::Install, &format!("bench-{n:03}"), &files)
                    .await?;
            }
        }
        if let Some(sample) = self.step(place, Action::List, "bench", self.files).await? {
            results.add(place.client, Action::List, sample);
        }
        Ok(())
    }

    /// One action of one client; nothing if the client cannot do it.
    async fn step(
        &self,
        place: &Place,
        action: Action,
        release: &str,
        files: &Files,
    ) -> Result<Option<Sample>, Failed> {
        let client = place.client;
        let at = Workplace {
            kubeconfig: &place.kubeconfig,
            namespace: place.namespace.name(),
            release,
            files,
        };
        let args = match client {
            Client::Floor | Client::FloorHttp2 => {
                let http = if client == Client::Floor { "1" } else { "2" };
                let requests = place.home.join("requests");
                fs::write(
                    &requests,
                    floor::requests(action, self.cell.shape, at.namespace),
                )?;
                let send = ["send".into(), at.kubeconfig.into(), requests.into()];
                [send.to_vec(), vec![http.into(), floor::AT_ONCE.into()]].concat()
            }
            _ => match arguments(client, action, &at) {
                Some(args) => args,
                None => return Ok(None),
            },
        };
        tokio::time::sleep(QUIET).await;
        let (result, log) = (place.home.join("result"), place.home.join("log"));
        let mark = self.audit.mark();
        let status = Command::new(self.programs.bench())
            .arg("time")
            .args([&result, &log])
            .arg(self.programs.path(client))
            .args(args)
            .current_dir(&place.home)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &place.home)
            .envs(variables(client).iter().copied())
            .status()?;
        if !status.success() {
            return Err(format!("{} could not be measured", client.title()).into());
        }
        let measured: Measured = serde_json::from_slice(&fs::read(&result)?)?;
        if !measured
            .code
            .is_some_and(|code| is_success(client, action, code))
        {
            let said = fs::read_to_string(&log).unwrap_or_default();
            let last = said
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or("it said nothing");
            return Err(format!("{}: {last}", action.title()).into());
        }
        let requests = self.audit.requests(mark, place.user.name()).await.count();
        Ok(Some(Sample {
            seconds: measured.seconds,
            cpu: measured.cpu,
            bytes: measured.bytes,
            requests,
        }))
    }

    /// Waits until nothing is left that controllers still work on.
    async fn settle(&self, place: &Place) {
        if self.cell.shape != Shape::Mixed {
            return;
        }
        let client = place.namespace.client();
        let path = format!("/api/v1/namespaces/{}/pods", place.namespace.name());
        until("the pods are gone", async || {
            let request = http::Request::get(&path).body(Vec::new());
            let Ok(request) = request else { return true };
            let answer = client.request_text(request).await;
            answer.is_ok_and(|text| text.contains("\"items\":[]"))
        })
        .await;
    }
}
