//! A copy for the cache that is being written, piece by piece: another process goes on where one was ended.
//!
//! Beside it lies a list of the pieces that are there, each with a checksum, because after a crash of the machine the list
//! can be newer than the bytes. Its name holds the version of the object, so a changed object is another file. Two
//! processes that copy the same object write the same bytes to the same places.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::Crc;

/// Bytes of a piece in the list: begin, end, checksum.
const RECORD: usize = 20;

/// A copy that is not complete.
pub(super) struct PartFile {
    file: File,
    path: PathBuf,
    list: File,
    /// Pieces that were there when it was opened.
    found: Vec<Range<u64>>,
}

impl PartFile {
    /// Opens what is there of a copy, or begins one.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let listed = fs::read(list_of(&path)).unwrap_or_default();
        let (mut ranges, mut records) = (Vec::new(), Vec::new());
        for record in listed.chunks_exact(RECORD) {
            if let Some(range) =
                range_of(record).filter(|range| record_of(&file, range).as_deref() == Some(record))
            {
                ranges.push(range);
                records.extend_from_slice(record);
            }
        }
        fs::write(list_of(&path), records)?;
        let list = File::options().append(true).open(list_of(&path))?;
        Ok(Self {
            file,
            path,
            list,
            found: ranges,
        })
    }

    /// Where to write.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether an earlier process has copied this piece.
    pub fn has(&self, range: &Range<u64>) -> bool {
        self.found.contains(range)
    }

    /// Remembers that a piece was written. What cannot be remembered is copied again.
    pub fn add(&self, range: &Range<u64>) {
        if let Some(record) = record_of(&self.file, range) {
            let _ = (&self.list).write_all(&record);
        }
    }

    /// Gives the complete copy its place. If another process was faster, its copy is the same.
    pub fn finish(self, place: &Path) -> io::Result<()> {
        let moved = fs::rename(&self.path, place);
        let _ = fs::remove_file(list_of(&self.path));
        if place.exists() { Ok(()) } else { moved }
    }
}

fn list_of(path: &Path) -> PathBuf {
    path.with_extension("pieces")
}

fn range_of(record: &[u8]) -> Option<Range<u64>> {
    let number = |start: usize| {
        Some(u64::from_le_bytes(
            record.get(start..start + 8)?.try_into().ok()?,
        ))
    };
    Some(number(0)?..number(8)?)
}

/// A piece as it is listed; `None` if the file does not reach to its end.
fn record_of(mut file: &File, range: &Range<u64>) -> Option<Vec<u8>> {
    let mut crc = Crc::new();
    let mut left = range.end.checked_sub(range.start)?;
    let mut buffer = vec![0; 1 << 16];
    file.seek(SeekFrom::Start(range.start)).ok()?;
    while left > 0 {
        let read = (&mut file)
            .take(left)
            .read(&mut buffer)
            .ok()
            .filter(|&read| read > 0)?;
        crc.update(buffer.get(..read)?);
        left -= read as u64;
    }
    Some(
        [
            &range.start.to_le_bytes()[..],
            &range.end.to_le_bytes(),
            &crc.sum().to_le_bytes(),
        ]
        .concat(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::object::write_at;
    use super::*;

    #[test]
    fn only_pieces_whose_bytes_are_there_count() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("unfinished-1");
        let part = PartFile::open(path.clone()).unwrap();
        for (at, bytes) in [(4, b"5678"), (0, b"1234"), (8, b"9abc")] {
            write_at(part.file(), at, bytes).unwrap();
            part.add(&(at..at + 4));
        }
        drop(part);
        // A machine that crashed: a piece was listed, but not written, and the last record is cut off.
        write_at(
            &File::options().write(true).open(&path).unwrap(),
            4,
            b"\0\0\0\0",
        )
        .unwrap();
        let list = fs::read(list_of(&path)).unwrap();
        fs::write(list_of(&path), &list[..list.len() - 1]).unwrap();
        let part = PartFile::open(path.clone()).unwrap();
        assert_eq!(
            [0..4, 4..8, 8..12].map(|range| part.has(&range)),
            [true, false, false]
        );
        part.add(&(8..12));
        drop(part);
        let part = PartFile::open(path.clone()).unwrap();
        assert_eq!(
            [0..4, 4..8, 8..12].map(|range| part.has(&range)),
            [true, false, true]
        );
        let place = dir.path().join("whole");
        part.finish(&place).unwrap();
        assert_eq!(fs::read(place).unwrap(), b"1234\0\0\0\x009abc");
        assert!(!path.exists() && !list_of(&path).exists());
    }

    #[test]
    fn any_list_is_survived() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("unfinished-1");
        for list in [&[0xff; 45][..], &[0; 40], b"", &[1; 19]] {
            fs::write(list_of(&path), list).unwrap();
            let part = PartFile::open(path.clone()).unwrap();
            assert!(!part.has(&(0..8)), "{list:?}");
        }
    }
}
