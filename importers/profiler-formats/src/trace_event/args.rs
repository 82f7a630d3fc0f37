//! Arguments, read from the file on first use.
//!
//! A handle is the position of an event in the unpacked content. The content around the last event is cached, because
//! its neighbours are usually read next.

use std::sync::Mutex;

use importer_common::prelude::*;
use input::source::DeferredReader;
use trace_model::{Arg, ArgSource, SavedArgs};

use super::FORMAT;
use super::json::{JsonStop, JsonValue, arg_value, flatten, members};
use trace_model::locked;

/// Bytes read at first; most events are shorter.
const STEP: usize = 64 << 10;
/// Maximum size of an event.
const MAX_EVENT: usize = 1 << 30;
/// Maximum number of stack frames shown.
const MAX_FRAMES: usize = 256;

/// Reads arguments of one file.
pub(super) struct JsonArgs {
    /// Positions of end events with additional arguments, by the position of the begin event.
    end_args: BTreeMap<u64, u64>,
    /// Name and parent of stack frames, by id.
    frames: BTreeMap<String, (String, Option<String>)>,
    block: Mutex<CachedBlock>,
}

/// Unpacked content around the last position that was read.
struct CachedBlock {
    file: DeferredReader,
    start: u64,
    bytes: Vec<u8>,
}

impl JsonArgs {
    pub fn new(
        source: &InputSource,
        end_args: Vec<(u64, u64)>,
        frames: Vec<(String, String, Option<String>)>,
    ) -> Self {
        Self {
            end_args: end_args.into_iter().collect(),
            frames: frames
                .into_iter()
                .map(|(id, name, parent)| (id, (name, parent)))
                .collect(),
            block: Mutex::new(CachedBlock {
                file: DeferredReader::new(source),
                start: 0,
                bytes: Vec::new(),
            }),
        }
    }

    /// The arguments that were saved in a snapshot.
    pub fn reopen(source: &InputSource, state: &[u8]) -> Option<Self> {
        let (end_args, frames) = postcard::from_bytes(state).ok()?;
        let block = Mutex::new(CachedBlock {
            file: DeferredReader::new(source),
            start: 0,
            bytes: Vec::new(),
        });
        Some(Self {
            end_args,
            frames,
            block,
        })
    }

    fn event_args(&self, offset: u64, into: &mut Vec<Arg>) -> Result<(), String> {
        let mut block = locked(&self.block);
        let mut want = STEP;
        loop {
            let bytes = block.bytes_at(offset, want)?;
            let before = into.len();
            match members(bytes, 0, |key, value| {
                self.add_member(key.raw, value, into);
                Ok(())
            }) {
                Ok(_) => return Ok(()),
                Err(JsonStop::End) if bytes.len() >= want && want < MAX_EVENT => want *= 8,
                Err(_) => {
                    return Err(format!(
                        "no event at byte {offset} of {}",
                        block.file.name()
                    ));
                }
            }
            into.truncate(before);
        }
    }

    fn add_member(&self, key: &[u8], value: JsonValue<'_>, into: &mut Vec<Arg>) {
        match (key, value) {
            (b"ph" | b"pid" | b"tid" | b"ts" | b"dur" | b"name", _) => {}
            (b"args", JsonValue::Object(_)) => flatten("", value, into),
            (b"sf" | b"esf", value) => {
                let id = arg_value(value).to_string();
                let stack = self.stack(&id).map_or(ArgValue::Text(id), ArgValue::Text);
                into.push(Arg {
                    name: "stack".to_owned(),
                    value: stack,
                });
            }
            (key, value) => flatten(&String::from_utf8_lossy(key), value, into),
        }
    }

    /// The frames from `id` outwards, one per line.
    fn stack(&self, id: &str) -> Option<String> {
        let mut lines = Vec::new();
        let mut next = Some(id);
        while let Some((name, parent)) = next
            .and_then(|id| self.frames.get(id))
            .filter(|_| lines.len() < MAX_FRAMES)
        {
            lines.push(name.as_str());
            next = parent.as_deref();
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl CachedBlock {
    /// At least `want` bytes from `offset` on, or all up to the end of the content.
    fn bytes_at(&mut self, offset: u64, want: usize) -> Result<&[u8], String> {
        let end = self.start + self.bytes.len() as u64;
        if offset < self.start || offset + want as u64 > end {
            // Includes some content before the position, which may contain the end arguments.
            let start = offset.saturating_sub(STEP as u64);
            let known = if start < self.start || start > end {
                self.bytes.len()
            } else {
                (start - self.start) as usize
            };
            self.bytes.drain(..known);
            self.start = start;
            let from = start + self.bytes.len() as u64;
            self.file
                .read(from, offset + (want + STEP) as u64 - from, &mut self.bytes)?;
        }
        Ok(self
            .bytes
            .get((offset - self.start) as usize..)
            .unwrap_or_default())
    }
}

impl ArgSource for JsonArgs {
    fn args(&self, handle: u64) -> Result<Vec<Arg>, String> {
        let mut args = Vec::new();
        self.event_args(handle, &mut args)?;
        if let Some(&end) = self.end_args.get(&handle) {
            self.event_args(end, &mut args)?;
        }
        Ok(args)
    }

    fn check(&self) -> Result<(), String> {
        locked(&self.block).file.check()
    }

    fn expect_many(&self) {
        locked(&self.block).file.keep();
    }

    fn save(&self) -> Option<SavedArgs> {
        let block = locked(&self.block);
        let file = block.file.name().to_owned();
        let state = postcard::to_stdvec(&(&self.end_args, &self.frames)).ok()?;
        Some(SavedArgs::InFile {
            file,
            format: FORMAT.id.to_owned(),
            state,
        })
    }
}
