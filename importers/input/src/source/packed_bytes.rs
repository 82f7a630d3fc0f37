//! The bytes of a file as they are on disk.

use std::fmt;
use std::sync::Arc;

use crate::memory::MappedFile;

/// Bytes that argument readers may share.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

pub(super) enum PackedBytes {
    Read(Vec<u8>),
    Mapped(MappedFile),
    Later(SharedBytes),
}

impl fmt::Debug for PackedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackedBytes").finish_non_exhaustive()
    }
}

impl AsRef<[u8]> for PackedBytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map) => map.as_ref(),
            Self::Later(bytes) => (**bytes).as_ref(),
        }
    }
}
