//! How a plan is drawn from a seed.

use fastrand::Rng;

use super::mix::Mix;
use super::opening::OpeningStory;
use super::{
    Action, AimedFault, ApplyFlags, ClientPlan, DeleteFlags, Fault, FaultTarget, HookPlan, Kind,
    Meddle, Meddling, ModulePlan, ObjectPlan, Optional, Plan, ReleaseIndex, Step, Weather,
};

/// How many names there are for each kind.
const NAMES: u8 = 4;

/// How large a record may be where parts of it are to move out.
const SMALL_RECORD: usize = 12_000;

impl Plan {
    /// The history that a seed stands for.
    pub fn draw(seed: u64) -> Self {
        let rng = &mut Rng::with_seed(seed);
        let mix = Mix::draw(rng);
        let mut modules: Vec<_> = (0..mix.releases)
            .map(|_| ModulePlan::draw(rng, &mix))
            .collect();
        share(rng, &mix, &mut modules);
        let mut opening = chance(rng, 2).then(|| OpeningStory::draw(rng));
        // What follows an opening is little, so that it does not drown it.
        let clients = match &opening {
            Some(_) => usize::from(chance(rng, 3)),
            None => mix.clients,
        };
        let mut clients: Vec<_> = (0..clients)
            .map(|at| ClientPlan::draw(rng, &mix, &modules, at == 0 && opening.is_none()))
            .collect();
        let mut meddling: Vec<Meddling> = (0..mix.meddling(rng))
            .map(|_| Meddling {
                at: moment(rng),
                what: {
                    let release = ReleaseIndex(rng.usize(..mix.releases));
                    let objects = &modules[release.0].objects;
                    // What is there is more worth meddling with than what is not.
                    let object = match chance(rng, 4) {
                        true => ObjectPlan::draw(rng, &mix),
                        false => objects[rng.usize(..objects.len())],
                    };
                    Meddle::draw(rng, &mix, release, object)
                },
            })
            .collect();
        let mut weather: Vec<_> = (0..mix.weather(rng))
            .map(|_| {
                let from = moment(rng);
                Weather {
                    from,
                    until: from + rng.u64(100..60_000),
                    what: mix.outage(rng),
                }
            })
            .collect();
        if let Some(opening) = &mut opening {
            if !chance(rng, 3) {
                (meddling, weather) = <(Vec<_>, Vec<_>)>::default();
            }
            clients.splice(0..0, opening.clients.drain(..));
            meddling.append(&mut opening.meddling);
            weather.append(&mut opening.weather);
        }
        meddling.sort_by_key(|meddling| meddling.at);
        Self {
            seed,
            record_limit: mix.spills.then_some(SMALL_RECORD),
            clients,
            meddling,
            weather,
        }
    }
}

/// Releases that share objects have the same ones, and say the same of them.
fn share(rng: &mut Rng, mix: &Mix, modules: &mut [ModulePlan]) {
    if !mix.shares {
        return;
    }
    let shared = ObjectPlan {
        shared: true,
        stays: false,
        ..ObjectPlan::draw(rng, mix)
    };
    for module in modules {
        module.objects.retain(|one| one.place() != shared.place());
        module.objects.push(shared);
        module.objects.sort();
    }
}

/// One in so many.
pub(super) fn chance(rng: &mut Rng, of: u32) -> bool {
    rng.u32(..of) == 0
}

/// Sooner or later: most things happen in the first seconds, some much later.
fn moment(rng: &mut Rng) -> u64 {
    match rng.u8(..4) {
        0 => rng.u64(..150_000),
        _ => rng.u64(..3_000),
    }
}

impl ClientPlan {
    fn draw(rng: &mut Rng, mix: &Mix, modules: &[ModulePlan], first: bool) -> Self {
        let mut steps: Vec<_> = (0..rng.usize(1..=3))
            .map(|_| Step::draw(rng, mix, modules))
            .collect();
        // Most of what can happen needs a release that is there.
        if first && !chance(rng, 6) {
            let release = ReleaseIndex(rng.usize(..modules.len()));
            let module = modules[release.0].clone();
            steps[0].rest = rng.u64(..100);
            steps[0].action = Action::Apply(release, module, ApplyFlags::draw(rng, mix));
        }
        if first && mix.reconciles {
            steps = Step::reconciling(rng, mix, &modules[0]);
        }
        let wrong = mix.clocks && rng.bool();
        Self {
            clock_error: if wrong { rng.i64(-900..=900) } else { 0 },
            clock_rate: match wrong && rng.bool() {
                true => rng.u32(850..1_150),
                false => 1_000,
            },
            steps,
        }
    }
}

impl Step {
    fn draw(rng: &mut Rng, mix: &Mix, modules: &[ModulePlan]) -> Self {
        let mut faults: Vec<_> = (0..mix.faults(rng))
            .map(|_| AimedFault::draw(rng, mix))
            .collect();
        faults.sort_by_key(|fault| (fault.aim, fault.at));
        faults.dedup_by_key(|fault| (fault.aim, fault.at));
        let release = ReleaseIndex(rng.usize(..modules.len()));
        Self {
            rest: moment(rng),
            action: Action::draw(rng, mix, release, &modules[release.0]),
            faults,
            fate: mix.fate(rng),
        }
    }
}

impl Step {
    /// A controller that looks after the first release, whose module changes now and then.
    fn reconciling(rng: &mut Rng, mix: &Mix, module: &ModulePlan) -> Vec<Self> {
        let mut module = module.clone();
        let flags = ApplyFlags {
            managed: true,
            atomic: chance(rng, 4),
            ..ApplyFlags::default()
        };
        let mut steps = Vec::new();
        for _ in 0..rng.usize(2..5) {
            let mut step = Self::draw(rng, mix, std::slice::from_ref(&module));
            step.action = Action::Apply(ReleaseIndex(0), module.clone(), flags);
            step.rest = rng.u64(..10_000);
            steps.push(step);
            if chance(rng, 2) {
                module = module.vary(rng, mix);
            }
        }
        steps
    }
}

impl AimedFault {
    fn draw(rng: &mut Rng, mix: &Mix) -> Self {
        let fault = mix.fault(rng);
        let (aim, at) = match rng.u8(..6) {
            _ if fault == Fault::Replaced => (FaultTarget::Held, rng.usize(..5)),
            _ if fault.is_of_a_watch() => (FaultTarget::Watch, rng.usize(..3)),
            0 => (FaultTarget::Record, rng.usize(..4)),
            1..=2 => (FaultTarget::Object, rng.usize(..6)),
            3 if chance(rng, 3) => (FaultTarget::Removal, 0),
            _ => (FaultTarget::Any, rng.usize(..mix.reach)),
        };
        Self { aim, at, fault }
    }
}

impl Action {
    fn draw(rng: &mut Rng, mix: &Mix, release: ReleaseIndex, module: &ModulePlan) -> Self {
        let some = |rng: &mut Rng| {
            let objects = &module.objects;
            (!chance(rng, 4)).then(|| objects[rng.usize(..objects.len())])
        };
        // Where records get lost, repairs are what matters.
        let repairs = mix.loses_records() && chance(rng, 4);
        match rng.u8(..32) {
            _ if repairs => Self::Repair(release),
            0..=1 if mix.hooks => Self::Test(release),
            0..=15 => Self::Apply(release, module.vary(rng, mix), ApplyFlags::draw(rng, mix)),
            16..=17 => Self::Diff(release, module.vary(rng, mix), ApplyFlags::draw(rng, mix)),
            18..=20 => {
                let back = chance(rng, 3).then(|| rng.u8(..4));
                let flags = ApplyFlags::draw(rng, mix);
                Self::Rollback(release, ApplyFlags { back, ..flags })
            }
            21..=23 => Self::Delete(release, DeleteFlags::draw(rng)),
            24 => Self::Prune(release, some(rng)),
            25 => Self::Forget(release, some(rng)),
            26 => Self::Repair(release),
            27..=28 => Self::Unlock(release),
            29..=30 => Self::Status(release),
            _ => match rng.bool() {
                true => Self::List,
                false => Self::History(release),
            },
        }
    }
}

impl ApplyFlags {
    fn draw(rng: &mut Rng, mix: &Mix) -> Self {
        let taking = |rng: &mut Rng| chance(rng, if mix.takes_over { 3 } else { 16 });
        Self {
            atomic: chance(rng, 5),
            no_prune: chance(rng, 8),
            adopt: taking(rng),
            adopt_named: taking(rng),
            adopt_helm: taking(rng),
            take: taking(rng),
            lift_guards: chance(rng, 8),
            recreate: chance(rng, 4),
            wait: chance(rng, 4),
            prune_after_ready: chance(rng, 8),
            no_record: chance(rng, 8),
            patient: rng.bool(),
            short_history: chance(rng, 5),
            preflight: chance(rng, 8),
            wait_for_deletion: chance(rng, 4),
            managed: false,
            back: None,
        }
    }
}

impl DeleteFlags {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            keep_history: chance(rng, 3),
            lift_guards: chance(rng, 3),
            patient: rng.bool(),
            component: chance(rng, 6),
            wait: chance(rng, 4),
            no_hooks: chance(rng, 8),
        }
    }
}

impl ObjectPlan {
    fn draw(rng: &mut Rng, mix: &Mix) -> Self {
        Self {
            kind: mix.kind(rng),
            name: rng.u8(..NAMES),
            elsewhere: mix.elsewhere && chance(rng, 4),
            housed: mix.houses && chance(rng, 3),
            value: rng.u8(..4),
            stays: mix.guards && chance(rng, 5),
            shared: mix.shares && chance(rng, 8),
            hook: None,
        }
    }

    /// A hook, with a name that no other object has.
    fn draw_hook(rng: &mut Rng) -> Self {
        let moments = [
            HookPlan::Before,
            HookPlan::After,
            HookPlan::Leaving,
            HookPlan::Passing,
            HookPlan::Failing,
            HookPlan::Test,
        ];
        Self {
            kind: [Kind::ConfigMap, Kind::Job][rng.usize(..2)],
            name: NAMES + rng.u8(..2),
            elsewhere: false,
            housed: false,
            value: rng.u8(..4),
            stays: false,
            shared: false,
            hook: Some(moments[rng.usize(..moments.len())]),
        }
    }

    /// Another kind in the place of this one, which can be what it says.
    fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

impl Optional {
    /// Optional one time in so many.
    fn draw(rng: &mut Rng, one_in: u32) -> Self {
        match chance(rng, one_in).then(|| rng.bool().then(|| rng.bool())) {
            None => Self::No,
            Some(None) => Self::Unsaid,
            Some(Some(true)) => Self::Selected,
            Some(Some(false)) => Self::LeftOut,
        }
    }
}

impl ModulePlan {
    fn draw(rng: &mut Rng, mix: &Mix) -> Self {
        let mut objects: Vec<_> = (0..rng.usize(1..7))
            .map(|_| ObjectPlan::draw(rng, mix))
            .collect();
        if mix.hooks {
            objects.extend((0..rng.usize(1..3)).map(|_| ObjectPlan::draw_hook(rng)));
        }
        let module = Self {
            objects,
            in_order: chance(rng, 4),
            optional: Optional::draw(rng, 6),
            bulk: match mix.spills {
                true => rng.usize(1_000..30_000),
                false => 0,
            },
        };
        module.tidy()
    }

    /// The same, or what somebody makes of it: another value, name, kind, namespace, an object
    /// more or less, or something else altogether.
    fn vary(&self, rng: &mut Rng, mix: &Mix) -> Self {
        let mut module = self.clone();
        let at = rng.usize(..module.objects.len());
        let object = &mut module.objects[at];
        match rng.u8(..12) {
            0..=2 => {}
            5..=7 if object.hook.is_some() => *object = ObjectPlan::draw_hook(rng),
            7 if mix.houses => object.housed = !object.housed,
            3..=4 => object.value = rng.u8(..4),
            5 => object.name = rng.u8(..NAMES),
            6 => *object = object.of_kind(mix.kind(rng)),
            7 => object.elsewhere = !object.elsewhere,
            8 if module.objects.len() > 1 => _ = module.objects.remove(at),
            9 => module.objects.push(ObjectPlan::draw(rng, mix)),
            10 => module.optional = Optional::draw(rng, 2),
            _ => return Self::draw(rng, mix),
        }
        if mix.spills && rng.bool() {
            module.bulk = rng.usize(1_000..30_000);
        }
        module.tidy()
    }

    fn tidy(mut self) -> Self {
        self.objects.sort();
        self.objects.dedup_by_key(|object| object.place());
        self
    }
}
