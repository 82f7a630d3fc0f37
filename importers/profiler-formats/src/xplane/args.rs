//! Arguments of slices, read from the file on first use.
//!
//! A file on disk is read again there, a few hundred bytes at a time, so that its bytes need not stay in memory.
//! Content that was compressed, or is not a file, must stay.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::Mutex;

use importer_common::prelude::*;
use trace_model::wire::{BrokenMessage, WireCursor, WireValue};
use trace_model::{Arg, ArgSource, SavedArgs};

use super::ops::XPlaneEventMetadata;
use super::tables::{FileBytes, MetadataEntries, MetadataIndex, stat};
use trace_model::locked;

/// Stable name of the format.
pub(super) const FORMAT_ID: &str = "xplane";

/// Maximum size of the tag and length of a field.
const FIELD_HEAD: usize = 20;

/// The bytes of a file, for reading after the import.
pub(super) struct DeferredBytes {
    /// Name of the file.
    name: String,
    place: BytesPlace,
}

enum BytesPlace {
    InMemory(FileBytes),
    OnDisk {
        source: InputSource,
        file: Mutex<Option<File>>,
    },
}

impl DeferredBytes {
    /// Prepares reading `bytes`, the content of `source`, later.
    pub fn new(source: &InputSource, bytes: &FileBytes) -> Self {
        let place = if source.is_stored() && !source.is_gzip() {
            BytesPlace::OnDisk {
                source: source.without_bytes(),
                file: Mutex::new(None),
            }
        } else {
            BytesPlace::InMemory(Arc::clone(bytes))
        };
        Self {
            name: source.name().to_owned(),
            place,
        }
    }

    /// The bytes at `range`; fewer at the end of the file.
    fn read(&self, range: Range<usize>) -> Result<Vec<u8>, String> {
        match &self.place {
            BytesPlace::InMemory(bytes) => {
                let bytes = (**bytes).as_ref();
                let end = range.end.min(bytes.len());
                Ok(bytes
                    .get(range.start.min(end)..end)
                    .unwrap_or_default()
                    .to_vec())
            }
            BytesPlace::OnDisk { source, file } => {
                let mut slot = locked(file);
                let mut file = match slot.take() {
                    Some(file) => file,
                    None => source.open_again()?,
                };
                let result = read_at(&mut file, range);
                *slot = Some(file);
                result.map_err(|error| format!("cannot read arguments: {error}: {}", source.name()))
            }
        }
    }

    /// Fails if [`Self::read`] would, without reading. A file that is open stays readable.
    fn check(&self) -> Result<(), String> {
        match &self.place {
            BytesPlace::OnDisk { source, file } if locked(file).is_none() => {
                source.open_again().map(drop)
            }
            _ => Ok(()),
        }
    }
}

fn read_at(file: &mut File, range: Range<usize>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(range.start as u64))?;
    file.take(range.len() as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the stats of an event, then those of its metadata that the event does
/// not override. A handle is the offset of the event's field in the file.
pub(super) struct PlaneArgs {
    /// The metadata of the planes of one name, whose lines share tracks: from where in the file on each holds.
    pub indexes: Vec<(usize, Arc<MetadataIndex>)>,
    pub file: Arc<DeferredBytes>,
}

impl ArgSource for PlaneArgs {
    fn args(&self, handle: u64) -> Result<Vec<Arg>, String> {
        let position = usize::try_from(handle).unwrap_or(usize::MAX);
        let event = self.event(position)?;
        let index = self.index_at(position)?;
        let mut metadata_id = 0;
        let mut args = Vec::new();
        let mut cursor = WireCursor::new(&event, 0..event.len());
        while let Some(field) = cursor.next().map_err(damaged)? {
            match field {
                (1, WireValue::Varint(id)) => metadata_id = id,
                (4, WireValue::Bytes(range)) => {
                    let (id, value) = stat(&event, range).map_err(damaged)?;
                    push(index, &mut args, id, index.arg_value(&event, &value));
                }
                _ => {}
            }
        }
        let message = index
            .event_row(metadata_id)
            .and_then(|row| index.event_messages().get(row));
        if let Some(message) = message {
            let message = self.file.read(message.clone())?;
            push_metadata(index, &mut args, &message);
        }
        Ok(args)
    }

    fn check(&self) -> Result<(), String> {
        self.file.check()
    }

    fn save(&self) -> Option<SavedArgs> {
        let saved: Vec<_> = self
            .indexes
            .iter()
            .map(|(start, index)| (start, index.saved()))
            .collect();
        let state = postcard::to_stdvec(&saved).ok()?;
        Some(SavedArgs::InFile {
            file: self.file.name.clone(),
            format: FORMAT_ID.to_owned(),
            state,
        })
    }
}

fn damaged(broken: BrokenMessage) -> String {
    format!("cannot read arguments: {}", broken.why)
}

impl PlaneArgs {
    /// The arguments that were saved in a snapshot.
    pub fn reopen(source: &InputSource, bytes: &FileBytes, state: &[u8]) -> Option<Self> {
        let saved: Vec<(usize, MetadataEntries)> = postcard::from_bytes(state).ok()?;
        let file = Arc::new(DeferredBytes::new(source, bytes));
        let index = |(start, entries)| (start, Arc::new(MetadataIndex::new(entries)));
        Some(Self {
            indexes: saved.into_iter().map(index).collect(),
            file,
        })
    }

    /// What the ids of the event at `position` mean.
    fn index_at(&self, position: usize) -> Result<&MetadataIndex, String> {
        let next = self
            .indexes
            .partition_point(|&(start, _)| start <= position);
        let index = next.checked_sub(1).and_then(|last| self.indexes.get(last));
        index.map(|(_, index)| &**index).ok_or_else(|| {
            damaged(BrokenMessage {
                at: position,
                why: "no plane at this offset",
            })
        })
    }

    /// The event whose field starts at `position`.
    fn event(&self, position: usize) -> Result<Vec<u8>, String> {
        let head = self
            .file
            .read(position..position.saturating_add(FIELD_HEAD))?;
        let mut cursor = WireCursor::new(&head, 0..head.len());
        let tag = cursor.varint().map_err(damaged)?;
        let len = cursor.varint().map_err(damaged)?;
        if tag != 4 << 3 | 2 {
            return Err(damaged(BrokenMessage {
                at: position,
                why: "no event at this offset",
            }));
        }
        let start = position.saturating_add(cursor.position());
        self.file.read(start..start.saturating_add(len as usize))
    }
}

fn push_metadata(index: &MetadataIndex, args: &mut Vec<Arg>, message: &[u8]) {
    let (Ok(metadata) | Err((metadata, _))) = XPlaneEventMetadata::read(message, 0..message.len());
    let first_of_event = args.len();
    let has_own =
        |args: &[Arg], name: &str| args[..first_of_event].iter().any(|arg| arg.name == name);
    // With a name to show, the other name is the text of the op.
    if !metadata.display_name.is_empty() && !metadata.name.is_empty() && !has_own(args, "long_name")
    {
        let text =
            String::from_utf8_lossy(message.get(metadata.name).unwrap_or_default()).into_owned();
        args.push(Arg {
            name: "long_name".to_owned(),
            value: ArgValue::Text(text),
        });
    }
    for (id, value) in metadata.stats {
        if index.stat_name(id).is_none_or(|name| !has_own(args, name)) {
            push(index, args, id, index.arg_value(message, &value));
        }
    }
}

fn push(index: &MetadataIndex, args: &mut Vec<Arg>, id: u64, value: ArgValue) {
    let name = index
        .stat_name(id)
        .map_or_else(|| format!("stat {id}"), str::to_owned);
    args.push(Arg { name, value });
}
