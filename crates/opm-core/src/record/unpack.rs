//! How much memory the parts of a record may take that are kept compressed: a few forged bytes
//! could stand for many gigabytes. Nothing here unpacks anything.

/// What one command may unpack in all, with what it becomes when it is read.
pub const MAX_UNPACKED: u64 = 256 << 20;

/// The most that a single part may take: what is larger is not kept, because it could not be
/// read back beside the rest.
pub const MAX_PART: u64 = 192 << 20;

/// What a mapping, a list and an item of them take at most, apart from their texts.
const MAPPING: u64 = 640;
const LIST: u64 = 160;
const ITEM: u64 = 96;

/// Measures what a text takes in memory, piece by piece.
#[derive(Debug, Clone)]
pub struct MemoryMeter {
    bytes: u64,
    /// None for a text that stays one.
    json: Option<JsonState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct JsonState {
    in_string: bool,
    escaped: bool,
}

impl MemoryMeter {
    /// For a text that stays as it is.
    pub fn text() -> Self {
        Self {
            bytes: 0,
            json: None,
        }
    }

    /// For JSON that is read.
    pub fn json() -> Self {
        Self {
            bytes: 0,
            json: Some(JsonState::default()),
        }
    }

    /// Goes on with the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        let Some(state) = &mut self.json else {
            return;
        };
        // The bytes stay beside what is read from them, and texts are copied.
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        for byte in piece {
            self.bytes = self.bytes.saturating_add(state.after(*byte));
        }
    }

    /// What it takes, in bytes: rather too much than too little.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl JsonState {
    /// What one more byte adds beside itself.
    fn after(&mut self, byte: u8) -> u64 {
        if self.in_string {
            let ends = byte == b'"' && !self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            self.in_string = !ends;
            return 0;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                0
            }
            b'{' => MAPPING,
            b'[' => LIST,
            b',' | b':' => ITEM,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_outside_of_texts() {
        for (json, beside) in [
            ("", 0),
            ("{}", MAPPING),
            ("[1,2]", LIST + ITEM),
            (r#"{"a":[{}]}"#, 2 * MAPPING + LIST + ITEM),
            (r#""{[,:""#, 0),
            (r#""\"{[,:""#, 0),
            (r#""\\",{"#, ITEM + MAPPING),
        ] {
            let mut whole = MemoryMeter::json();
            whole.feed(json.as_bytes());
            assert_eq!(whole.bytes(), 2 * json.len() as u64 + beside, "{json}");
            let mut pieces = MemoryMeter::json();
            json.as_bytes().chunks(1).for_each(|one| pieces.feed(one));
            assert_eq!(pieces.bytes(), whole.bytes(), "{json}");
            let mut text = MemoryMeter::text();
            text.feed(json.as_bytes());
            assert_eq!(text.bytes(), json.len() as u64);
        }
    }

    #[test]
    fn many_small_mappings_cost_what_they_cost() {
        let mut meter = MemoryMeter::json();
        meter.feed(&br#"{"":0},"#.repeat(100_000));
        assert!(meter.bytes() > 64_000_000, "{}", meter.bytes());
    }
}
