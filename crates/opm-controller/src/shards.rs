//! Which replica has which shard: decided from leases, as they were seen. Nothing here asks or
//! writes anything.
//!
//! A shard is a part of all resources, by a hash of their uids. Replicas say that they are there
//! by a lease each; each takes free shards up to its share, and lets go of what is more. Leases
//! only spare double work: what keeps two writers of one release apart is the lock in its record.

use std::collections::BTreeSet;
use std::hash::{Hash as _, Hasher as _};

use std::collections::hash_map::DefaultHasher;

/// The shard that a resource belongs to.
pub(crate) fn shard_of(uid: &str, shards: u32) -> u32 {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    u32::try_from(hasher.finish() % u64::from(shards.max(1))).unwrap_or_default()
}

/// Who holds a shard, as far as its lease says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShardHolder {
    /// Nobody, or somebody who has not renewed it in time.
    Free,
    /// This replica.
    Own,
    /// Another one.
    Other,
}

/// What a replica does next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ShardMoves {
    /// It says again that it holds these.
    pub(crate) renew: BTreeSet<u32>,
    /// It tries to take these.
    pub(crate) take: BTreeSet<u32>,
    /// It lets go of these.
    pub(crate) release: BTreeSet<u32>,
}

/// What a replica does, given who holds each shard and how many replicas are there, itself
/// included. `first` is where it begins to look for free ones: replicas that begin in different
/// places get in each other's way less.
pub(crate) fn moves(holders: &[ShardHolder], replicas: usize, first: usize) -> ShardMoves {
    let share = holders.len().div_ceil(replicas.max(1));
    let numbered = |at: usize| u32::try_from(at).unwrap_or_default();
    let own: Vec<u32> = (0..holders.len())
        .filter(|at| holders[*at] == ShardHolder::Own)
        .map(numbered)
        .collect();
    let kept: BTreeSet<u32> = own.iter().copied().take(share).collect();
    let around = (0..holders.len()).map(|at| (at + first) % holders.len().max(1));
    let free = around.filter(|at| holders[*at] == ShardHolder::Free);
    ShardMoves {
        take: free
            .map(numbered)
            .take(share.saturating_sub(own.len()))
            .collect(),
        release: own
            .into_iter()
            .filter(|shard| !kept.contains(shard))
            .collect(),
        renew: kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(text: &str) -> Vec<ShardHolder> {
        let holder = |c| match c {
            '-' => ShardHolder::Free,
            'o' => ShardHolder::Own,
            _ => ShardHolder::Other,
        };
        text.chars().map(holder).collect()
    }

    #[test]
    fn everybody_takes_up_to_their_share_and_lets_go_of_more() {
        for (held, replicas, first, renew, take, release) in [
            // Alone, it takes all; so it does when the others are dead.
            ("----", 1, 0, vec![], vec![0, 1, 2, 3], vec![]),
            ("o-o-", 1, 0, vec![0, 2], vec![1, 3], vec![]),
            // With another, half of them.
            ("----", 2, 0, vec![], vec![0, 1], vec![]),
            ("----", 2, 3, vec![], vec![0, 3], vec![]),
            ("xx--", 2, 0, vec![], vec![2, 3], vec![]),
            ("oooo", 2, 0, vec![0, 1], vec![], vec![2, 3]),
            ("ooxx", 2, 0, vec![0, 1], vec![], vec![]),
            // What cannot be divided evenly is divided nearly so.
            ("ooo-", 3, 0, vec![0, 1], vec![], vec![2]),
            ("o---", 3, 0, vec![0], vec![1], vec![]),
            // More replicas than shards: some wait.
            ("xx", 3, 0, vec![], vec![], vec![]),
            ("", 1, 0, vec![], vec![], vec![]),
        ] {
            let found = moves(&holders(held), replicas, first);
            let set = |all: Vec<u32>| all.into_iter().collect::<BTreeSet<_>>();
            let expected = ShardMoves {
                renew: set(renew),
                take: set(take),
                release: set(release),
            };
            assert_eq!(found, expected, "{held} {replicas} {first}");
        }
    }

    /// Whoever there are, in the end every shard has one holder, and nobody moves any more.
    #[test]
    fn replicas_come_to_rest() {
        for shards in [1, 4, 7] {
            for replicas in 1..5 {
                let mut held: Vec<Option<usize>> = vec![None; shards];
                for _ in 0..10 {
                    for me in 0..replicas {
                        let seen = |holder: &Option<usize>| match holder {
                            None => ShardHolder::Free,
                            Some(other) if *other == me => ShardHolder::Own,
                            Some(_) => ShardHolder::Other,
                        };
                        let seen: Vec<ShardHolder> = held.iter().map(seen).collect();
                        let moves = moves(&seen, replicas, me * 3);
                        moves
                            .take
                            .iter()
                            .for_each(|at| held[*at as usize] = Some(me));
                        moves
                            .release
                            .iter()
                            .for_each(|at| held[*at as usize] = None);
                    }
                }
                assert!(
                    held.iter().all(Option::is_some),
                    "{shards} {replicas}: {held:?}"
                );
            }
        }
    }

    #[test]
    fn resources_are_spread_over_all_shards() {
        let used: BTreeSet<u32> = (0..100).map(|n| shard_of(&format!("uid-{n}"), 4)).collect();
        assert_eq!(used, BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(shard_of("anything", 0), 0);
    }
}
