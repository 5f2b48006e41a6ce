//! Decompressing within bounds: what a part would take in memory is measured first, taken from
//! the run's budget, and only then is anything allocated for it.

use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};

use opm_core::record::unpack::{MAX_PART, MAX_UNPACKED, MemoryMeter};
use thiserror::Error;

/// Larger windows than any that is written here are not worth their memory.
const WINDOW_LOG: u32 = 23;

/// How much is looked at at a time.
const STEP: usize = 64 << 10;

/// What one run has unpacked so far.
#[derive(Debug, Default)]
pub(crate) struct UnpackBudget {
    used: AtomicU64,
}

impl UnpackBudget {
    /// How much is in use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// What was unpacked since `used` is not needed any more.
    pub(crate) fn give_back_to(&self, used: u64) {
        self.used.fetch_min(used, Ordering::Relaxed);
    }

    fn left(&self) -> u64 {
        MAX_UNPACKED.saturating_sub(self.used())
    }

    fn take(&self, bytes: u64) -> Result<(), UnpackError> {
        let more = |used: u64| Some(used.saturating_add(bytes)).filter(|u| *u <= MAX_UNPACKED);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(drop).map_err(|_| UnpackError::TooLarge)
    }
}

/// What is in a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PayloadFormat {
    /// JSON, which is read.
    Json,
    /// A text, which stays one.
    Text,
}

impl PayloadFormat {
    /// Measures what it takes in memory.
    pub(super) fn meter(self) -> MemoryMeter {
        match self {
            Self::Json => MemoryMeter::json(),
            Self::Text => MemoryMeter::text(),
        }
    }
}

/// Why something was not unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum UnpackError {
    /// It would take too much memory.
    #[error("it takes more memory than one command may use for it ({} MiB)", MAX_UNPACKED >> 20)]
    TooLarge,
    /// It is not what the compression makes.
    #[error("it cannot be decompressed")]
    Damaged,
}

/// Decompresses something that was measured and paid for before.
pub(crate) fn unpack(
    packed: &[u8],
    format: PayloadFormat,
    budget: &UnpackBudget,
) -> Result<Vec<u8>, UnpackError> {
    let limit = budget.left().min(MAX_PART);
    let mut meter = format.meter();
    let mut length = 0;
    each_piece(packed, |piece| {
        meter.feed(piece);
        length += piece.len();
        match meter.bytes() <= limit {
            true => Ok(()),
            false => Err(UnpackError::TooLarge),
        }
    })?;
    budget.take(meter.bytes())?;
    let mut payload = Vec::with_capacity(length);
    each_piece(packed, |piece| {
        payload.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(payload)
}

fn each_piece(
    packed: &[u8],
    mut take: impl FnMut(&[u8]) -> Result<(), UnpackError>,
) -> Result<(), UnpackError> {
    let damaged = |_: std::io::Error| UnpackError::Damaged;
    let mut decoder = zstd::Decoder::with_buffer(packed).map_err(damaged)?;
    decoder.window_log_max(WINDOW_LOG).map_err(damaged)?;
    let mut piece = vec![0; STEP];
    loop {
        match decoder.read(&mut piece).map_err(damaged)? {
            0 => return Ok(()),
            read => take(piece.get(..read).unwrap_or_default())?,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn packed(payload: &[u8]) -> Vec<u8> {
        zstd::encode_all(payload, 3).unwrap()
    }

    /// So many megabytes of spaces.
    fn spaces(megabytes: usize) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        for _ in 0..megabytes {
            encoder.write_all(&[b' '; 1 << 20]).unwrap();
        }
        encoder.finish().unwrap()
    }

    #[test]
    fn a_bomb_costs_nothing() {
        let budget = UnpackBudget::default();
        let bomb = spaces(512);
        assert!(bomb.len() < 60_000, "{}", bomb.len());
        let read = unpack(&bomb, PayloadFormat::Text, &budget);
        assert_eq!(read, Err(UnpackError::TooLarge));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn many_small_values_are_a_bomb_too() {
        let budget = UnpackBudget::default();
        let bomb = packed(&br#"{"":0},"#.repeat(400_000));
        let read = unpack(&bomb, PayloadFormat::Json, &budget);
        assert_eq!(read, Err(UnpackError::TooLarge));
        let read = unpack(&bomb, PayloadFormat::Text, &budget);
        assert_eq!(read.map(|text| text.len()), Ok(2_800_000));
    }

    #[test]
    fn all_of_a_run_share_one_budget() {
        let budget = UnpackBudget::default();
        let part = spaces(100);
        let read = || unpack(&part, PayloadFormat::Text, &budget).map(|text| text.len());
        assert_eq!(read(), Ok(100 << 20));
        let one = budget.used();
        assert_eq!(read(), Ok(100 << 20));
        assert_eq!(read(), Err(UnpackError::TooLarge));
        budget.give_back_to(one);
        assert_eq!(read(), Ok(100 << 20));
    }

    #[test]
    fn what_is_not_compressed_is_not_read() {
        for bytes in [&b"plain"[..], &[0x28, 0xb5, 0x2f, 0xfd]] {
            let read = unpack(bytes, PayloadFormat::Text, &UnpackBudget::default());
            assert_eq!(read, Err(UnpackError::Damaged), "{bytes:?}");
        }
    }
}
