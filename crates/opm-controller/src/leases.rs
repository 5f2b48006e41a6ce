//! Leases: how replicas tell each other that they are there, and which shards they have.
//!
//! Whether a lease has expired is told by watching it: one that was seen unchanged for as long as
//! it is good for has, whatever the clocks of others say.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use opm_cluster::KubeClient;
use tokio_util::sync::CancellationToken;

use crate::notices::Notices;
use crate::shards::{ShardHolder, moves, shard_of};

/// The label that tells leases of controllers from others.
const LABEL: &str = "core.opmodel.dev/controller";

/// How replicas share the work.
#[derive(Debug, Clone)]
pub struct Sharding {
    /// Into how many parts the resources are split.
    pub shards: u32,
    /// The namespace of the leases.
    pub namespace: String,
    /// What this replica is called; no other is called so.
    pub identity: String,
    /// How long a lease is good for without renewal.
    pub lease_time: Duration,
}

/// The shards that this replica has.
pub(crate) struct OwnShards {
    shards: u32,
    own: Mutex<HashMap<u32, OwnShard>>,
}

/// One of them.
struct OwnShard {
    /// Stops the work on it.
    stop: CancellationToken,
    /// Until when nobody else can have it; none if nobody else ever wants it. Whoever was asleep
    /// for longer than that finds it out before anything else.
    until: Option<Instant>,
}

impl OwnShard {
    fn is_certain(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl OwnShards {
    /// All of them, for a controller that shares with nobody.
    pub(crate) fn all(cancel: &CancellationToken) -> Self {
        Self {
            shards: 1,
            own: Mutex::new(HashMap::from([(
                0,
                OwnShard {
                    stop: cancel.clone(),
                    until: None,
                },
            )])),
        }
    }

    pub(crate) fn none(shards: u32) -> Self {
        Self {
            shards: shards.max(1),
            own: Mutex::default(),
        }
    }

    fn own(&self) -> MutexGuard<'_, HashMap<u32, OwnShard>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stops the work on a resource, if it is this replica's to reconcile.
    pub(crate) fn of(&self, uid: &str) -> Option<CancellationToken> {
        let own = self.own();
        let shard = own.get(&shard_of(uid, self.shards))?;
        shard.is_certain(Instant::now()).then(|| shard.stop.clone())
    }

    /// A shard is this replica's until then. Says whether that is new, or so again.
    fn gain(&self, shard: u32, until: Instant, cancel: &CancellationToken) -> bool {
        let mut own = self.own();
        match own.get_mut(&shard) {
            Some(known) if known.is_certain(Instant::now()) => {
                known.until = Some(until);
                false
            }
            known => {
                if let Some(known) = known {
                    known.stop.cancel();
                }
                let (stop, until) = (cancel.child_token(), Some(until));
                own.insert(shard, OwnShard { stop, until });
                true
            }
        }
    }

    /// Ends what goes on in a shard: it is another's from now on.
    fn lose(&self, shard: u32) {
        if let Some(lost) = self.own().remove(&shard) {
            lost.stop.cancel();
        }
    }

    /// Ends what goes on in shards that may be another's by now.
    fn lose_uncertain(&self) {
        let now = Instant::now();
        self.own().retain(|_, shard| {
            let certain = shard.is_certain(now);
            if !certain {
                shard.stop.cancel();
            }
            certain
        });
    }

    fn all_own(&self) -> Vec<u32> {
        self.own().keys().copied().collect()
    }

    /// Whether a resource is in one of these shards.
    pub(crate) fn is_in(&self, uid: &str, shards: &BTreeSet<u32>) -> bool {
        shards.contains(&shard_of(uid, self.shards))
    }
}

/// A lease as it was seen last, and since when it is so.
struct SeenLease {
    version: String,
    since: Instant,
}

/// All leases, as they were seen last.
#[derive(Default)]
struct SeenLeases(HashMap<String, SeenLease>);

impl SeenLeases {
    /// Whether a lease is still good, by having changed lately.
    fn is_live(&mut self, lease: &Lease, now: Instant, lease_time: Duration) -> bool {
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let seen = self.0.entry(name(lease)).or_insert_with(|| SeenLease {
            version: version.clone(),
            since: now,
        });
        if seen.version != version {
            *seen = SeenLease {
                version,
                since: now,
            };
        }
        holder(lease).is_some() && now.saturating_duration_since(seen.since) < lease_time
    }
}

/// This replica among others.
pub(crate) struct Replica {
    sharding: Sharding,
    api: Api<Lease>,
    notices: Arc<Notices>,
    shards: Arc<OwnShards>,
    cancel: CancellationToken,
    leave: CancellationToken,
    seen: SeenLeases,
}

impl Replica {
    pub(crate) fn new(
        sharding: Sharding,
        kube: KubeClient,
        notices: Arc<Notices>,
        shards: Arc<OwnShards>,
        cancel: CancellationToken,
        leave: CancellationToken,
    ) -> Self {
        Self {
            api: Api::namespaced(kube, &sharding.namespace),
            sharding,
            notices,
            shards,
            cancel,
            leave,
            seen: SeenLeases::default(),
        }
    }

    /// Takes part until everything that goes on has ended; `gained` hears of shards that are this replica's now.
    pub(crate) async fn take_part(mut self, gained: impl Fn(BTreeSet<u32>)) {
        let pause = self.sharding.lease_time / 3;
        loop {
            let new = self.turn().await;
            self.shards.lose_uncertain();
            if !new.is_empty() {
                gained(new);
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.leave.cancelled() => break,
            }
        }
        self.leave().await;
    }

    /// Looks at all leases, and does what follows. Says which shards are new.
    async fn turn(&mut self) -> BTreeSet<u32> {
        let member = self.member();
        let _ = self.write(&member, None).await;
        let labelled = ListParams::default().labels(LABEL);
        let leases = match self.api.list(&labelled).await {
            Ok(leases) => leases,
            Err(error) => {
                self.notices.failed("Leases cannot be listed", &error);
                return BTreeSet::new();
            }
        };
        let (now, lease_time) = (Instant::now(), self.sharding.lease_time);
        let live: HashMap<String, Option<String>> = leases
            .items
            .iter()
            .filter(|lease| self.seen.is_live(lease, now, lease_time))
            .map(|lease| (name(lease), holder(lease)))
            .collect();
        let replicas = live
            .keys()
            .filter(|name| name.starts_with("opm-controller-member-"));
        let replicas = replicas.count().max(1);
        let holders: Vec<ShardHolder> = (0..self.sharding.shards)
            .map(|shard| match live.get(&shard_name(shard)) {
                Some(Some(holder)) if *holder == self.sharding.identity => ShardHolder::Own,
                Some(Some(_)) => ShardHolder::Other,
                Some(None) | None => ShardHolder::Free,
            })
            .collect();
        let first = shard_of(&self.sharding.identity, self.sharding.shards);
        let moves = moves(
            &holders,
            replicas,
            usize::try_from(first).unwrap_or_default(),
        );
        for shard in &moves.release {
            self.shards.lose(*shard);
            self.free(*shard, &leases.items).await;
        }
        let mut new = BTreeSet::new();
        for shard in moves.renew.iter().chain(&moves.take) {
            let known = leases
                .items
                .iter()
                .find(|lease| name(lease) == shard_name(*shard));
            let certain = Instant::now() + lease_time * 2 / 3;
            if self.write(&shard_name(*shard), known).await
                && self.shards.gain(*shard, certain, &self.cancel)
            {
                new.insert(*shard);
            }
        }
        let kept: BTreeSet<u32> = moves.renew.iter().chain(&moves.take).copied().collect();
        for shard in self.shards.all_own() {
            if !kept.contains(&shard) {
                self.shards.lose(shard);
            }
        }
        new
    }

    fn member(&self) -> String {
        format!("opm-controller-member-{}", self.sharding.identity)
    }

    /// Writes that this replica holds a lease, over what was seen of it. False if another was
    /// faster.
    async fn write(&self, lease: &str, known: Option<&Lease>) -> bool {
        let seconds = i32::try_from(self.sharding.lease_time.as_secs().max(1)).unwrap_or(i32::MAX);
        let content = |version: Option<String>| Lease {
            metadata: ObjectMeta {
                name: Some(lease.to_owned()),
                namespace: Some(self.sharding.namespace.clone()),
                labels: Some([(LABEL.to_owned(), "true".to_owned())].into()),
                resource_version: version,
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.sharding.identity.clone()),
                lease_duration_seconds: Some(seconds),
                renew_time: Some(MicroTime(jiff::Timestamp::now())),
                ..LeaseSpec::default()
            }),
        };
        let parameters = PostParams::default();
        let own = lease.starts_with("opm-controller-member-");
        let version = match known {
            Some(known) => known.metadata.resource_version.clone(),
            // Nobody else writes this replica's own.
            None if own => match self.api.get_opt(lease).await {
                Ok(Some(known)) => known.metadata.resource_version,
                Ok(None) => None,
                Err(error) => {
                    self.notices.failed("a Lease cannot be read", &error);
                    return false;
                }
            },
            None => None,
        };
        let written = match version {
            Some(version) => {
                self.api
                    .replace(lease, &parameters, &content(Some(version)))
                    .await
            }
            None => self.api.create(&parameters, &content(None)).await,
        };
        match written {
            Ok(_) => true,
            // Another was faster.
            Err(kube::Error::Api(error)) if error.code == 409 => false,
            Err(error) => {
                self.notices.failed("a Lease cannot be written", &error);
                false
            }
        }
    }

    /// Lets others have a shard at once.
    async fn free(&self, shard: u32, leases: &[Lease]) {
        let lease = leases.iter().find(|lease| name(lease) == shard_name(shard));
        let Some(mut lease) = lease.cloned() else {
            return;
        };
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = None;
        }
        let _ = self
            .api
            .replace(&shard_name(shard), &PostParams::default(), &lease)
            .await;
    }

    /// Others need not wait.
    async fn leave(&self) {
        let own = self.shards.all_own();
        let labelled = ListParams::default().labels(LABEL);
        let leases = self
            .api
            .list(&labelled)
            .await
            .map(|list| list.items)
            .unwrap_or_default();
        for shard in own {
            self.shards.lose(shard);
            self.free(shard, &leases).await;
        }
        let member = self.member();
        let deleted = self.api.delete(&member, &DeleteParams::default()).await;
        if let Err(error) = deleted {
            self.notices.failed("a Lease cannot be deleted", &error);
        }
    }
}

fn shard_name(shard: u32) -> String {
    format!("opm-controller-shard-{shard}")
}

fn name(lease: &Lease) -> String {
    lease.metadata.name.clone().unwrap_or_default()
}

fn holder(lease: &Lease) -> Option<String> {
    lease.spec.as_ref()?.holder_identity.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(version: &str, renewed: &str, holder: Option<&str>) -> Lease {
        Lease {
            metadata: ObjectMeta {
                name: Some(shard_name(0)),
                resource_version: Some(version.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: holder.map(str::to_owned),
                renew_time: Some(MicroTime(renewed.parse().unwrap())),
                ..LeaseSpec::default()
            }),
        }
    }

    #[test]
    fn who_was_asleep_for_long_has_no_shards() {
        let (cancel, own) = (CancellationToken::new(), OwnShards::none(1));
        let (now, time) = (Instant::now(), Duration::from_secs(600));
        assert!(own.of("uid").is_none());
        assert!(own.gain(0, now + time, &cancel), "it is new");
        let work = own.of("uid").unwrap();
        assert!(!own.gain(0, now + time, &cancel), "it is renewed");
        assert!(!work.is_cancelled());
        // The next renewal comes too late: what was begun ends, and it is looked at anew.
        own.gain(0, now, &cancel);
        assert!(own.of("uid").is_none(), "another may have it by now");
        assert!(own.gain(0, now + time, &cancel), "it is so again");
        assert!(work.is_cancelled() && own.of("uid").is_some());
        let work = own.of("uid").unwrap();
        own.gain(0, now, &cancel);
        own.lose_uncertain();
        assert!(work.is_cancelled() && own.all_own().is_empty());
        // Who shares with nobody loses nothing.
        let all = OwnShards::all(&cancel);
        all.lose_uncertain();
        assert!(all.of("uid").is_some());
        cancel.cancel();
        assert!(all.of("uid").unwrap().is_cancelled());
    }

    #[test]
    fn no_clock_but_its_own_says_whether_a_lease_is_good() {
        let (start, time) = (Instant::now(), Duration::from_secs(15));
        let at = |seconds| start + Duration::from_secs(seconds);
        // The holder's clock jumps back and forth by decades.
        let times = [
            "1970-01-01T00:00:01Z",
            "2026-01-01T00:00:00Z",
            "2099-01-01T00:00:00Z",
        ];
        for renewed in times {
            let mut seen = SeenLeases::default();
            let mut live = |version, seconds| {
                seen.is_live(&lease(version, renewed, Some("other")), at(seconds), time)
            };
            assert!(live("1", 0), "{renewed}: seen for the first time");
            assert!(live("1", 14), "{renewed}");
            assert!(
                !live("1", 15),
                "{renewed}: unchanged for as long as it is good"
            );
            assert!(live("2", 16), "{renewed}: it was renewed");
            assert!(live("2", 30), "{renewed}");
            assert!(!live("2", 31), "{renewed}");
        }
        let mut seen = SeenLeases::default();
        assert!(
            !seen.is_live(&lease("1", times[1], None), start, time),
            "nobody holds it"
        );
    }
}
