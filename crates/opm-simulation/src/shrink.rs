//! Leaves out of a plan whatever is not needed for it to go wrong.

use crate::mistakes::Mistake;
use crate::plan::{Action, Plan};
use crate::run;

/// The smallest plan found that still breaks the same rule, within so many tries.
pub fn shrink(plan: &Plan, mistake: Option<Mistake>, tries: usize) -> Plan {
    let broken = |plan: &Plan| {
        run(plan, mistake)
            .violations
            .first()
            .map(|first| first.rule)
    };
    let mut best = plan.clone();
    let Some(rule) = broken(&best) else {
        return best;
    };
    let mut left = tries;
    loop {
        let before = best.size();
        for smaller in smaller(&best) {
            if left == 0 {
                return best;
            }
            if smaller.size() >= best.size() {
                continue;
            }
            left -= 1;
            if broken(&smaller) == Some(rule) {
                best = smaller;
                break;
            }
        }
        if best.size() == before {
            return best;
        }
    }
}

/// All plans with one thing less, large things first.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    let mut without = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        plan.clients.retain(|client| !client.steps.is_empty());
        all.push(plan);
    };
    for client in 0..plan.clients.len() {
        without(&|plan| {
            plan.clients.remove(client);
        });
    }
    for at in 0..plan.weather.len() {
        without(&|plan| {
            plan.weather.remove(at);
        });
    }
    for at in 0..plan.meddling.len() {
        without(&|plan| {
            plan.meddling.remove(at);
        });
    }
    for (client, planned) in plan.clients.iter().enumerate() {
        for (at, step) in planned.steps.iter().enumerate() {
            without(&|plan| {
                plan.clients[client].steps.remove(at);
            });
            for fault in 0..step.faults.len() {
                without(&|plan| {
                    plan.clients[client].steps[at].faults.remove(fault);
                });
            }
            without(&|plan| plan.clients[client].steps[at].fate = None);
            if let Action::Apply(_, module, _) | Action::Diff(_, module, _) = &step.action {
                for object in 0..module.objects.len() {
                    without(&|plan| {
                        let action = &mut plan.clients[client].steps[at].action;
                        if let Action::Apply(_, module, _) | Action::Diff(_, module, _) = action {
                            module.objects.remove(object);
                        }
                    });
                }
            }
        }
    }
    all
}
