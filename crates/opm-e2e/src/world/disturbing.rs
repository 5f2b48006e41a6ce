//! Disturbing a run of the built binary while it goes on: with a fault at one of its requests,
//! with signals, or with another run beside it.

use std::time::Duration;

use opm_testkit::Target;
use opm_testkit::relay::{Fault, Moment, Seen, When};

use super::World;
use super::acting::Route;
use crate::ran::{Ran, Running};

/// A run on its way through a relay.
pub struct Beside {
    /// The run.
    pub running: Running,
    _route: Route,
}

impl World {
    /// The same, and all requests that it sent.
    pub async fn struck_at(
        &self,
        nth: usize,
        fault: Fault,
        arguments: &[&str],
    ) -> (Ran, Vec<Seen>) {
        let route = self.route().await;
        route.relay.on(When::nth(nth), fault);
        let target = Target::Kubeconfig(route.kubeconfig.clone());
        let running = self.opm.clone().against(target).start(arguments);
        let running = Running::new(running, arguments, &self.canaries);
        route.relay.aim_at(running.pid());
        let ran = running.end().await;
        (ran, route.relay.requests())
    }

    /// Runs the binary, whose first request of this kind meets a fault.
    pub async fn disturbed_when(&self, when: When, fault: Fault, arguments: &[&str]) -> Ran {
        let route = self.route().await;
        route.relay.on(when, fault);
        self.opm_as(&route.kubeconfig, arguments).await
    }

    /// Starts the binary with additional variables in its environment, and leaves it running.
    pub fn start_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        let opm = variables
            .iter()
            .fold(self.opm.clone(), |opm, (name, value)| opm.env(name, value));
        Running::new(opm.start(arguments), arguments, &self.canaries)
    }

    /// The same, as a client of its own of a cluster that does not stop with it.
    pub async fn start_beside(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Beside {
        let route = self.route().await;
        let target = Target::Kubeconfig(route.kubeconfig.clone());
        let opm = self.opm.clone().against(target);
        let opm = variables
            .iter()
            .fold(opm, |opm, (name, value)| opm.env(name, value));
        let running = Running::new(opm.start(arguments), arguments, &self.canaries);
        Beside {
            running,
            _route: route,
        }
    }

    /// Interrupts a run, once or twice, while the first request of this kind is on its way.
    pub async fn interrupted_at(&self, at: When, times: usize, arguments: &[&str]) -> Ran {
        let route = self.route().await;
        let stall = Fault::Stall(Moment::Before, Duration::from_millis(700));
        let reached = |seen: &Seen| at.clone().fits(seen);
        route.relay.on(at.clone(), stall);
        let target = Target::Kubeconfig(route.kubeconfig.clone());
        let running = self.opm.clone().against(target).start(arguments);
        let running = Running::new(running, arguments, &self.canaries);
        while !route.relay.requests().iter().any(reached) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for _ in 0..times {
            running.interrupt();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        running.end().await
    }
}
