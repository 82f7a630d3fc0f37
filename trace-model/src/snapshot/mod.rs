//! A model as bytes, to hand it to another process: a web worker imports a file, the page shows it.
//!
//! A snapshot is read by the build that wrote it; it is no format for keeping. Columns are stored as they lie in
//! memory, everything else by `postcard`. Indexes are made again. Arguments that stayed in the file stay there: the
//! snapshot holds what their reader needs to find them again ([`SavedArgs`]).

mod check;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::args::{ArgRows, ArgSource, SavedArgs};
use crate::index::ModelIndex;
use crate::model::{TraceColumns, TraceModel};
use crate::pause::may_pause;

/// First bytes of a snapshot.
const MAGIC: &[u8; 8] = b"systole\0";
/// Layout of the rest; must change with every type that a snapshot contains.
const LAYOUT: u32 = 5;

/// Why bytes are no snapshot that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// They do not begin like one.
    NotASnapshot,
    /// Another version of the program wrote it.
    OtherVersion,
    /// It is truncated or contradicts itself, as said.
    Damaged(&'static str),
}

impl std::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotASnapshot => f.write_str("not a snapshot of a trace"),
            Self::OtherVersion => {
                f.write_str("a snapshot by another version of Systole; import the profile again")
            }
            Self::Damaged(what) => write!(f, "damaged snapshot of a trace: {what}"),
        }
    }
}

impl std::error::Error for SnapshotError {}

/// Makes the reader of arguments again that `saved` describes, or returns it if its file is not at hand.
pub type ReopenArgs<'a> = &'a dyn Fn(SavedArgs) -> Result<Arc<dyn ArgSource>, SavedArgs>;

/// What a snapshot contains after its head.
#[derive(Serialize, Deserialize)]
struct SnapshotContent<C> {
    columns: C,
    /// One for each argument source; `None` if it cannot be saved.
    args: Vec<Option<SavedArgs>>,
}

impl TraceModel {
    /// The model as bytes.
    pub fn to_snapshot(&self) -> Vec<u8> {
        let args = self
            .arg_sources
            .iter()
            .map(|source| source.save())
            .collect();
        let mut bytes =
            Vec::with_capacity(self.memory_use().slice_bytes + self.strings.heap_bytes());
        bytes.extend(MAGIC);
        bytes.extend(LAYOUT.to_le_bytes());
        // Writing to memory fails for no value of these types.
        postcard::to_extend(
            &SnapshotContent {
                columns: &**self,
                args,
            },
            bytes,
        )
        .unwrap_or_default()
    }

    /// The model that [`Self::to_snapshot`] wrote. `reopen` provides the arguments that stayed in files; without it,
    /// asking for them is an error, but everything else is there.
    ///
    /// # Errors
    ///
    /// The bytes are no snapshot, were written by another version, or are damaged.
    pub fn from_snapshot(bytes: &[u8], reopen: ReopenArgs<'_>) -> Result<Self, SnapshotError> {
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or(SnapshotError::NotASnapshot)?;
        let rest = rest
            .strip_prefix(&LAYOUT.to_le_bytes())
            .ok_or(SnapshotError::OtherVersion)?;
        let content = postcard::take_from_bytes::<SnapshotContent<TraceColumns>>(rest);
        let (SnapshotContent { mut columns, args }, rest) =
            content.map_err(|error| match error {
                postcard::Error::DeserializeUnexpectedEnd => {
                    SnapshotError::Damaged("it ends too early")
                }
                _ => SnapshotError::Damaged("a value cannot be read"),
            })?;
        if !rest.is_empty() {
            return Err(SnapshotError::Damaged("something follows its end"));
        }
        may_pause();
        check::check(&columns, args.len()).map_err(SnapshotError::Damaged)?;
        may_pause();
        columns.arg_sources = args
            .into_iter()
            .map(|saved| reopened(saved, reopen))
            .collect();
        columns.slices.index();
        let (tracks, lanes) = (&columns.tracks, &columns.lanes);
        columns.index = ModelIndex::new(
            &columns.groups,
            tracks,
            lanes,
            &columns.counters,
            &columns.strings,
        );
        Ok(Self(Arc::new(columns)))
    }
}

fn reopened(saved: Option<SavedArgs>, reopen: ReopenArgs<'_>) -> Arc<dyn ArgSource> {
    match saved {
        Some(SavedArgs::Rows(rows)) => Arc::new(ArgRows(rows)),
        Some(saved) => reopen(saved).unwrap_or_else(|saved| Arc::new(MissingFile(Some(saved)))),
        None => Arc::new(MissingFile(None)),
    }
}

/// Arguments whose file is not at hand.
struct MissingFile(Option<SavedArgs>);

impl ArgSource for MissingFile {
    fn args(&self, _: u64) -> Result<Vec<crate::Arg>, String> {
        match &self.0 {
            Some(SavedArgs::InFile { file, .. }) => {
                Err(format!("cannot read arguments without the file {file}"))
            }
            _ => Err("these arguments are not part of the snapshot".to_owned()),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.args(0).map(drop)
    }

    fn save(&self) -> Option<SavedArgs> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests;
