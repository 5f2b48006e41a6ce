//! Disturbing a run of the built binary while it goes on: with a fault at one of its requests,
//! with signals, or with another run beside it.

use opm_testkit::relay::{Fault, Moment, RequestFilter, RequestInfo};
use opm_testkit::{HANG, Target, TerminalRun};

use super::World;
use super::commands::Route;
use crate::output::{OpmOutput, RunningOpm};

/// A run that goes through a relay of its own.
pub struct RelayedRun {
    running: RunningOpm,
    route: Route,
}

/// A line to a cluster on which requests meet faults.
pub struct StruckLine(Route);

impl StruckLine {
    /// Waits until a request meets its fault.
    pub async fn until_held(&self) {
        opm_testkit::until("a request is held", async || {
            self.0.relay.requests().iter().any(|one| one.code == 0)
        })
        .await;
    }

    /// Lets the requests that are stalled go on.
    pub fn release(&self) {
        self.0.relay.release();
    }
}

impl RelayedRun {
    /// The run.
    pub fn running(&self) -> &RunningOpm {
        &self.running
    }

    /// The requests that it has sent so far.
    pub fn requests(&self) -> Vec<RequestInfo> {
        self.route.relay.requests()
    }

    /// Waits until it has sent so many requests of this kind.
    pub async fn until_it_sends(&self, count: usize, wanted: &RequestFilter) {
        opm_testkit::until("it sends a request", async || {
            let requests = self.route.relay.requests();
            requests.iter().filter(|one| wanted.fits(one)).count() >= count
        })
        .await;
    }

    /// Lets its requests that are stalled go on.
    pub fn release(&self) {
        self.route.relay.release();
    }

    /// From now on its requests meet no faults.
    pub fn mend(&self) {
        self.route.relay.clear_rules();
    }

    /// Waits for its end.
    pub async fn end(self) -> OpmOutput {
        self.running.end().await
    }
}

impl World {
    /// The same, and all requests that it sent.
    pub async fn struck_at(
        &self,
        nth: usize,
        fault: Fault,
        arguments: &[&str],
    ) -> (OpmOutput, Vec<RequestInfo>) {
        let route = self.route().await;
        route.relay.on(RequestFilter::nth(nth), fault);
        let target = Target::Kubeconfig(route.kubeconfig.clone());
        let running = self.opm.clone().against(target).start(arguments);
        let running = RunningOpm::new(running, arguments, &self.canaries);
        route.relay.aim_at(running.pid());
        let ran = running.end().await;
        (ran, route.relay.requests())
    }

    /// Runs the binary, whose first request of this kind meets a fault.
    pub async fn disturbed_when(
        &self,
        when: RequestFilter,
        fault: Fault,
        arguments: &[&str],
    ) -> OpmOutput {
        let route = self.route().await;
        route.relay.on(when, fault);
        self.opm_as(&route.kubeconfig, arguments).await
    }

    /// Starts the binary with additional variables in its environment, and leaves it running.
    pub fn start_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> RunningOpm {
        let opm = variables
            .iter()
            .fold(self.opm.clone(), |opm, (name, value)| opm.env(name, value));
        RunningOpm::new(opm.start(arguments), arguments, &self.canaries)
    }

    /// The same, through a relay: as a client of its own of a cluster that does not stop with it.
    pub async fn start_relayed(
        &self,
        variables: &[(&str, &str)],
        arguments: &[&str],
    ) -> RelayedRun {
        let route = self.route().await;
        self.start_on(route, variables, arguments)
    }

    /// The same, stalling the first request of this kind until it is released.
    pub async fn start_stalled(&self, at: &RequestFilter, arguments: &[&str]) -> RelayedRun {
        self.start_struck(at, Fault::Stall(Moment::Before, HANG), arguments)
            .await
    }

    /// The same, with any fault.
    pub async fn start_struck(
        &self,
        at: &RequestFilter,
        fault: Fault,
        arguments: &[&str],
    ) -> RelayedRun {
        let route = self.route().await;
        route.relay.on(at.clone(), fault);
        self.start_on(route, &[], arguments)
    }

    /// Starts the binary on a terminal, through a relay at which such requests meet a fault. The
    /// relay lasts as long as what is returned beside the run.
    pub async fn on_struck_terminal(
        &self,
        at: &RequestFilter,
        fault: Fault,
        columns: u16,
        arguments: &[&str],
    ) -> (TerminalRun, StruckLine) {
        let route = self.route().await;
        route.relay.on(at.clone(), fault);
        let target = Target::Kubeconfig(route.kubeconfig.clone());
        let opm = self.opm.clone().against(target);
        let opm = opm.env("TERM", "xterm-256color");
        (opm.on_terminal(columns, arguments), StruckLine(route))
    }

    fn start_on(&self, route: Route, variables: &[(&str, &str)], arguments: &[&str]) -> RelayedRun {
        let target = Target::Kubeconfig(route.kubeconfig.clone());
        let opm = self.opm.clone().against(target);
        let opm = variables
            .iter()
            .fold(opm, |opm, (name, value)| opm.env(name, value));
        let running = RunningOpm::new(opm.start(arguments), arguments, &self.canaries);
        RelayedRun { running, route }
    }

    /// Interrupts a run, once or twice, while the first request of this kind is on its way.
    pub async fn interrupted_at(
        &self,
        at: RequestFilter,
        times: usize,
        arguments: &[&str],
    ) -> OpmOutput {
        let run = self.start_stalled(&at, arguments).await;
        run.until_it_sends(1, &at).await;
        run.running.interrupt();
        run.running.until_it_writes("press Ctrl-C again").await;
        match times {
            1 => run.release(),
            // The second one does not wait for the request, which never arrives.
            _ => run.running.interrupt(),
        }
        run.end().await
    }
}
