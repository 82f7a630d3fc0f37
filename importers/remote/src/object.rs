//! What is known of an object, and where its bytes are copied to.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::time::SystemTime;

use object_store::ObjectMeta;

/// What is known of an object before it is read.
#[derive(Debug, Default)]
pub(crate) struct ObjectFacts {
    /// Size in bytes; `None` if a web server does not say it.
    pub size: Option<u64>,
    pub modified: Option<SystemTime>,
    /// Changes with the content: the entity tag, else the generation or the time of the last change.
    pub version: Option<String>,
    /// Whether parts can be read.
    pub has_ranges: bool,
}

impl ObjectFacts {
    pub fn of(meta: &ObjectMeta) -> Self {
        let modified = SystemTime::from(meta.last_modified);
        Self {
            size: Some(meta.size),
            modified: Some(modified),
            version: meta.e_tag.clone().or_else(|| meta.version.clone()),
            has_ranges: true,
        }
    }
}

/// Writes at a position of a file that nothing else writes to meanwhile.
pub(crate) fn write_at(mut file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}
