//! A short deterministic run of an entry point: every seed, then so many inputs
//! that are made from them by small damages. The same inputs every time, on every machine.

use std::path::Path;

/// Runs an entry point over `fuzz/seeds/<name>` and over `damaged` inputs made from it.
pub(crate) fn run(name: &str, damaged: usize, entry: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(name);
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|file| file.expect("readable seeds").path())
        .collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).expect("a readable seed"))
        .collect();
    assert!(!seeds.is_empty(), "no seeds in {}", directory.display());
    seeds.iter().for_each(|seed| entry(seed));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..damaged {
        let mut input = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(4) {
            damage(&mut input, &seeds, &mut random);
        }
        entry(&input);
    }
}

/// Xorshift: enough to choose where to do damage.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Pieces that a reader of JSON may stumble over.
const PIECES: [&str; 16] = [
    "null",
    "true",
    "-0",
    "1e999",
    "18446744073709551616",
    "0.1",
    "\"\"",
    "\"..\"",
    "\"a/b\"",
    "{}",
    "[]",
    "\\u0000",
    "\\ud800",
    "\u{2028}",
    "[[[[[[[[[[[[[[[[",
    "\"metadata\":",
];

fn damage(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let to = (at + random.below(16)).min(input.len());
    match random.below(6) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 => drop(input.drain(at..to)),
        2 => drop(input.splice(at..to, PIECES[random.below(PIECES.len())].bytes())),
        3 => {
            let piece = input[at..to].to_vec();
            drop(input.splice(at..at, piece));
        }
        4 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => replace_value(input, random),
    }
}

/// Puts another value behind some colon, so that the result is often still JSON.
fn replace_value(input: &mut Vec<u8>, random: &mut Random) {
    let colons: Vec<usize> = (0..input.len()).filter(|at| input[*at] == b':').collect();
    let Some(colon) = colons.get(random.below(colons.len())) else {
        return;
    };
    let end = (colon + 1..input.len())
        .find(|at| matches!(input[*at], b',' | b'}' | b']'))
        .unwrap_or(input.len());
    let piece = PIECES[random.below(11)];
    drop(input.splice(colon + 1..end, piece.bytes()));
}
