//! Running the built binary: to its end, in the background, as somebody else, and until it is
//! killed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use opm_sandbox::{Server, serve};
use opm_testkit::relay::{Fault, Moment, Relay, RequestFilter, TcpRelay};
use opm_testkit::{Target, TerminalRun, tally};

use super::{TestCluster, World};
use crate::module::Module;
use crate::output::{OpmOutput, RunningOpm};

/// What became of a run that was to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillOutcome {
    /// It was.
    Killed,
    /// It had ended well before it came to that request.
    TooLate,
    /// It failed by itself.
    Failed,
}

/// The way to a cluster through a relay.
pub(super) struct Route {
    pub(super) relay: Relay,
    pub(super) kubeconfig: PathBuf,
    _server: Option<Server>,
}

/// A way to a cluster that can be cut.
pub struct CuttableConnection {
    relay: TcpRelay,
    kubeconfig: PathBuf,
    behind: Route,
}

impl CuttableConnection {
    /// Cuts every connection that is open now.
    pub fn cut(&self) {
        self.relay.cut();
    }

    /// Waits until so many requests of this kind were sent over it.
    pub async fn until_it_carries(&self, count: usize, wanted: &RequestFilter) {
        opm_testkit::until("a request is sent", async || {
            let requests = self.behind.relay.requests();
            requests.iter().filter(|one| wanted.fits(one)).count() >= count
        })
        .await;
    }

    /// How many requests of this kind were sent over it.
    pub fn carried(&self, wanted: &RequestFilter) -> usize {
        let requests = self.behind.relay.requests();
        requests.iter().filter(|one| wanted.fits(one)).count()
    }
}

impl World {
    /// Runs the binary on this world's cluster and namespace.
    pub async fn opm(&self, arguments: &[&str]) -> OpmOutput {
        self.opm_with(&[], arguments).await
    }

    /// Runs the binary with additional variables in its environment.
    pub async fn opm_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> OpmOutput {
        let opm = variables
            .iter()
            .fold(self.opm.clone(), |opm, (name, value)| opm.env(name, value));
        let ran = opm.run(arguments).await;
        OpmOutput::checked(ran, arguments, &self.canaries)
    }

    /// Runs the binary with a file as its standard input.
    pub async fn opm_reading(&self, file: &Path, arguments: &[&str]) -> OpmOutput {
        let ran = self.opm.clone().input(file).run(arguments).await;
        OpmOutput::checked(ran, arguments, &self.canaries)
    }

    /// Runs the binary in another working directory.
    pub async fn opm_in(&self, directory: &Path, arguments: &[&str]) -> OpmOutput {
        let ran = self
            .opm
            .clone()
            .in_directory(directory)
            .run(arguments)
            .await;
        OpmOutput::checked(ran, arguments, &self.canaries)
    }

    /// Runs the binary as somebody else.
    pub async fn opm_as(&self, kubeconfig: &Path, arguments: &[&str]) -> OpmOutput {
        let target = Target::Kubeconfig(kubeconfig.to_owned());
        let ran = self.opm.clone().against(target).run(arguments).await;
        OpmOutput::checked(ran, arguments, &self.canaries)
    }

    /// Starts the binary against another way to the cluster, and leaves it running.
    pub(super) fn start_at(&self, kubeconfig: &Path, arguments: &[&str]) -> RunningOpm {
        let target = Target::Kubeconfig(kubeconfig.to_owned());
        let opm = self.opm.clone().against(target);
        RunningOpm::new(opm.start(arguments), arguments, &self.canaries)
    }

    /// Applies a module; the answer is JSON.
    pub async fn apply(&self, module: &Module, flags: &[&str]) -> OpmOutput {
        self.apply_with(&[], module, flags).await
    }

    /// Applies a module with additional variables in the environment.
    pub async fn apply_with(
        &self,
        variables: &[(&str, &str)],
        module: &Module,
        flags: &[&str],
    ) -> OpmOutput {
        let dir = self.write(module);
        self.opm_with(variables, &apply_arguments(&dir, flags))
            .await
    }

    /// Shows what applying a module would do; the answer is JSON.
    pub async fn diff(&self, module: &Module, flags: &[&str]) -> OpmOutput {
        let dir = self.write(module);
        let arguments = [&["mod", "diff", dir.as_str(), "-o", "json"], flags].concat();
        self.opm(&arguments).await
    }

    /// Applies a module as somebody with other rights.
    pub async fn apply_as(&self, kubeconfig: &Path, module: &Module, flags: &[&str]) -> OpmOutput {
        let dir = self.write(module);
        self.opm_as(kubeconfig, &apply_arguments(&dir, flags)).await
    }

    /// Writes a module, and says where.
    pub fn write(&self, module: &Module) -> String {
        for object in module.objects() {
            self.canaries.learn(object);
        }
        module.write(self.dir.path()).display().to_string()
    }

    /// A value that no run may show, though no module of the scenario has it.
    pub fn hide(&self, value: &str) {
        self.canaries.add(value);
    }

    /// Runs the binary, and counts its requests by verb and resource.
    pub async fn counted(&self, arguments: &[&str]) -> (OpmOutput, BTreeMap<String, usize>) {
        let route = self.route().await;
        let ran = self.opm_as(&route.kubeconfig, arguments).await;
        (ran, tally(&route.relay.requests()))
    }

    /// How many requests a run sends.
    pub async fn requests_of(&self, arguments: &[&str]) -> usize {
        let route = self.route().await;
        self.opm_as(&route.kubeconfig, arguments).await.ok();
        route.relay.count()
    }

    /// Which requests of a run have this in their path, by their number.
    pub async fn requests_about(&self, part: &str, arguments: &[&str]) -> Vec<usize> {
        let route = self.route().await;
        self.opm_as(&route.kubeconfig, arguments).await.ok();
        let requests = route.relay.requests();
        let numbered = requests.iter().enumerate();
        numbered
            .filter(|(_, seen)| seen.uri.contains(part))
            .map(|(at, _)| at + 1)
            .collect()
    }

    /// The requests of a run, however it ends: verb and path.
    pub async fn requests_in(&self, arguments: &[&str]) -> Vec<(String, String)> {
        let route = self.route().await;
        self.opm_as(&route.kubeconfig, arguments).await;
        let requests = route.relay.requests().into_iter();
        requests.map(|seen| (seen.verb, seen.uri)).collect()
    }

    /// Runs the binary, and lets nothing through from its nth write of such an object on, pretended
    /// ones included, until something has happened.
    pub async fn cut_off_at(
        &self,
        (resource, nth): (&str, usize),
        happened: impl Future<Output = ()>,
        variables: &[(&str, &str)],
        arguments: &[&str],
    ) -> OpmOutput {
        let route = self.route().await;
        let written = RequestFilter::verb("patch").and_path(resource);
        let cut = written.clone().from_nth(nth).always();
        route.relay.on(cut, Fault::Reset(Moment::Before));
        let target = Target::Kubeconfig(route.kubeconfig.clone());
        let opm = self.opm.clone().against(target);
        let opm = variables
            .iter()
            .fold(opm, |opm, (name, value)| opm.env(name, value));
        let running = RunningOpm::new(opm.start(arguments), arguments, &self.canaries);
        let came = || {
            let seen = route.relay.requests();
            seen.iter().filter(|one| written.fits(one)).count() >= nth
        };
        let cut_for = async {
            self.until("it writes", || async { came() }).await;
            let all = RequestFilter::next().always();
            route.relay.on(all, Fault::Reset(Moment::Before));
            happened.await;
            route.relay.clear_rules();
        };
        tokio::join!(running.end(), cut_for).0
    }

    /// Runs the binary and kills it right before or right after its nth request.
    pub async fn killed_at(&self, nth: usize, moment: Moment, arguments: &[&str]) -> KillOutcome {
        let ran = self.disturbed_at(nth, Fault::Kill(moment), arguments).await;
        match (ran.0.was_killed(), ran.code()) {
            (true, _) => KillOutcome::Killed,
            (false, 0) => KillOutcome::TooLate,
            _ => KillOutcome::Failed,
        }
    }

    /// Runs the binary, whose nth request meets a fault.
    pub async fn disturbed_at(&self, nth: usize, fault: Fault, arguments: &[&str]) -> OpmOutput {
        self.struck_at(nth, fault, arguments).await.0
    }

    /// A relay in front of the API server, and a kubeconfig that leads through it.
    pub(super) async fn route(&self) -> Route {
        let (direct, server) = match &self.cluster {
            TestCluster::Real(_, user) => (user.kubeconfig().to_owned(), None),
            TestCluster::Sandbox(sandbox) => {
                let server = serve(sandbox.clone(), 0).await.unwrap();
                let file = self
                    .dir
                    .path()
                    .join(format!("served-{}", server.address().port()));
                std::fs::write(&file, server.kubeconfig()).unwrap();
                (file, Some(server))
            }
        };
        let relay = Relay::start(&direct).await.unwrap();
        let file = self
            .dir
            .path()
            .join(format!("relay-{}", relay.address().port()));
        let kubeconfig = relay.write_kubeconfig(&file).unwrap();
        Route {
            relay,
            kubeconfig,
            _server: server,
        }
    }

    /// A line to the API server that can be cut.
    pub async fn line(&self) -> CuttableConnection {
        self.slow_line(Duration::ZERO).await
    }

    async fn slow_line(&self, round_trip: Duration) -> CuttableConnection {
        let behind = self.route().await;
        let relay = TcpRelay::start(&behind.kubeconfig, round_trip).unwrap();
        let file = self
            .dir
            .path()
            .join(format!("line-{}", relay.address().port()));
        let kubeconfig = relay.write_kubeconfig(&file).unwrap();
        CuttableConnection {
            relay,
            kubeconfig,
            behind,
        }
    }

    /// Starts the binary and leaves it running.
    pub fn start(&self, arguments: &[&str]) -> RunningOpm {
        RunningOpm::new(self.opm.start(arguments), arguments, &self.canaries)
    }

    /// Starts the binary over a line, and leaves it running.
    pub fn start_over(&self, line: &CuttableConnection, arguments: &[&str]) -> RunningOpm {
        let target = Target::Kubeconfig(line.kubeconfig.clone());
        let process = self.opm.clone().against(target).start(arguments);
        RunningOpm::new(process, arguments, &self.canaries)
    }

    /// Starts the binary on a terminal with so many columns.
    pub fn on_terminal(&self, columns: u16, arguments: &[&str]) -> TerminalRun {
        self.on_terminal_with(&[], columns, arguments)
    }

    /// The same with additional variables in its environment.
    pub fn on_terminal_with(
        &self,
        variables: &[(&str, &str)],
        columns: u16,
        arguments: &[&str],
    ) -> TerminalRun {
        let opm = self.opm.clone().env("TERM", "xterm-256color");
        let opm = variables.iter().fold(opm, |opm, (k, v)| opm.env(k, v));
        opm.on_terminal(columns, arguments)
    }

    /// The same over a line on which every round trip takes this long. The line lasts as long as
    /// what is returned beside the run.
    pub async fn on_slow_terminal(
        &self,
        round_trip: Duration,
        columns: u16,
        arguments: &[&str],
    ) -> (TerminalRun, CuttableConnection) {
        let line = self.slow_line(round_trip).await;
        let target = Target::Kubeconfig(line.kubeconfig.clone());
        let opm = self.opm.clone().against(target);
        let opm = opm.env("TERM", "xterm-256color");
        (opm.on_terminal(columns, arguments), line)
    }

    /// Starts an apply and leaves it running.
    pub fn start_apply(&self, module: &Module, flags: &[&str]) -> RunningOpm {
        let dir = self.write(module);
        let arguments = apply_arguments(&dir, flags);
        RunningOpm::new(self.opm.start(&arguments), &arguments, &self.canaries)
    }

    /// Deletes a release by name; the answer is JSON.
    pub async fn delete(&self, release: &str, flags: &[&str]) -> OpmOutput {
        self.opm(&delete_arguments(release, flags)).await
    }

    /// Deletes a release as somebody with other rights.
    pub async fn delete_as(&self, kubeconfig: &Path, release: &str, flags: &[&str]) -> OpmOutput {
        self.opm_as(kubeconfig, &delete_arguments(release, flags))
            .await
    }
}

fn apply_arguments<'a>(dir: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    [&["mod", "apply", dir, "-o", "json"], flags].concat()
}

fn delete_arguments<'a>(release: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    [&["mod", "delete", release, "--yes", "-o", "json"], flags].concat()
}
