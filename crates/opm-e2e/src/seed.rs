//! Choosing at random, and again in the same way: a seed is printed, and can be given.

/// The seed of every run that is not given one.
const USUAL: u64 = 2026;

/// Chooses the same after the same seed.
#[derive(Debug, Clone)]
pub struct Seed(u64);

impl Seed {
    /// `OPM_TEST_SEED`, or always the same one: whoever changes nothing gets the same run again.
    /// `OPM_TEST_SEED=new` is another one every time. Printed, so that it can be given.
    pub fn of_this_run(what: &str) -> Self {
        let seed = match std::env::var("OPM_TEST_SEED").as_deref() {
            Err(_) => USUAL,
            Ok("new") => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                now.unwrap().as_secs() % 1_000_000
            }
            Ok(given) => given.parse().expect("OPM_TEST_SEED is a number, or new"),
        };
        eprintln!("{what}: OPM_TEST_SEED={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }

    /// So many of these, in their order; all of them if there are no more.
    pub fn some_of<T>(&mut self, mut all: Vec<T>, count: usize) -> Vec<T> {
        while all.len() > count {
            all.remove(self.below(all.len()));
        }
        all
    }
}

/// The same rolls on every machine and in every run: for edits that are generated, and compared
/// from run to run.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that roll as `start` says.
    pub fn new(start: u64) -> Self {
        Self(start)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Once in `of` times.
    pub fn some(&mut self, of: u64) -> bool {
        self.roll(of) == 0
    }
}
