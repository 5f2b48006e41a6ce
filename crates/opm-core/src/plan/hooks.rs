//! The hooks that a run makes: they are no part of the release, so nothing of them is stale as
//! long as they run.

use std::collections::HashSet;

use super::{Plan, TrackedAs, stale};
use crate::candidate::CandidateHook;
use crate::entry::Entry;
use crate::hook::{DeletePolicy, HookEvent, HookFlow, hook_order};
use crate::identity::Identity;
use crate::record::Record;

/// A hook that a run makes at one of its moments.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedHook {
    /// Which object, with the hash of what will be sent.
    pub entry: Entry,
    /// The moment.
    pub event: HookEvent,
    /// What becomes of it.
    pub delete: DeletePolicy,
    /// What the record knows of it.
    pub known: TrackedAs,
}

impl Plan {
    /// The same plan with the hooks of what it does, in the order in which they run. What earlier
    /// runs left of them is theirs to replace.
    pub fn with_hooks(
        mut self,
        hooks: &[CandidateHook],
        flow: Option<HookFlow>,
        stored: Option<&Record>,
    ) -> Self {
        let Some(flow) = flow else {
            return self;
        };
        let mut due: Vec<(HookEvent, &CandidateHook)> = Vec::new();
        for hook in hooks {
            let events = hook.hook.events.iter();
            due.extend(events.filter(|event| flow.has(**event)).map(|e| (*e, hook)));
        }
        due.sort_by(|(a, x), (b, y)| {
            let key =
                |hook: &CandidateHook| (hook.hook.weight, hook.object.manifest.identity().clone());
            let (x, y) = (key(x), key(y));
            a.cmp(b).then_with(|| hook_order((x.0, &x.1), (y.0, &y.1)))
        });
        let known = stale::known(stored);
        let planned = due.into_iter().map(|(event, hook)| {
            let entry = hook.object.entry();
            let tracked = known.get(&entry.identity);
            PlannedHook {
                event,
                delete: hook.hook.delete,
                known: tracked.map_or(TrackedAs::No, |(known, _)| *known),
                entry: Entry {
                    uid: tracked.and_then(|(_, entry)| entry.uid.clone()),
                    ..entry
                },
            }
        });
        self.hooks = planned.collect();
        let hooks: HashSet<&Identity> = self.hooks.iter().map(|one| &one.entry.identity).collect();
        self.stale
            .retain(|one| !hooks.contains(&one.entry.identity));
        self.carried
            .retain(|one| !hooks.contains(&one.entry.identity));
        self
    }
}
