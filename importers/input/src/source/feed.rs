//! Feeds content to importers piece by piece: a thread inflates while the importer reads.
//!
//! ```text
//! file ─ inflate thread ─▶ [headroom|piece] ─ bounded channel ─▶ importer
//!                ▲───────────── empty buffers ─────────────────────┘
//! ```
//!
//! The importer sees *windows* and returns how many bytes it used; the unused rest is put in front of the next piece.
//! Buffers have headroom for that rest, so only the rest is copied.

use std::cell::RefCell;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::InputSource;
use super::inflate::Inflater;
use crate::{ImportError, Progress, Result};

/// Size of a piece: small enough for the cache, large enough that passing it on costs nothing.
const PIECE: usize = 512 << 10;
/// Space in front of a piece for the unused rest of the previous one.
const HEADROOM: usize = 64 << 10;
/// Number of buffers.
const BUFFERS: usize = 4;
/// Maximum size of one item (an event, a top-level value).
const MAX_ITEM: usize = 256 << 20;

/// The result of feeding all content.
#[derive(Debug)]
pub struct FeedResult {
    /// Number of unpacked bytes.
    pub bytes: u64,
    /// Why the end is missing, if a gzip stream is truncated.
    pub damage: Option<String>,
}

impl InputSource {
    /// Passes the unpacked content to `consume` in windows. `consume` gets a window and whether it is the last one, and
    /// returns how many bytes it used; the rest is passed again at the start of the next window.
    ///
    /// # Errors
    ///
    /// The file cannot be read or unpacked, `consume` failed, or the import was cancelled.
    pub fn feed(
        &self,
        progress: &Progress,
        consume: impl FnMut(&[u8], bool) -> Result<usize>,
    ) -> Result<FeedResult> {
        if self.is_gzip() {
            feed_gzip(self.packed(), progress, consume)
        } else {
            feed_plain(self.packed(), progress, consume)
        }
    }
}

fn feed_plain(
    content: &[u8],
    progress: &Progress,
    mut consume: impl FnMut(&[u8], bool) -> Result<usize>,
) -> Result<FeedResult> {
    let (mut used, mut shown) = (0, 0);
    while shown < content.len() {
        progress.check()?;
        // Unused bytes are passed again only when there are twice as many of them, so an
        // item of n bytes costs O(n) and not O(n²).
        let step = PIECE.max(shown - used);
        let end = content.len().min(shown + step);
        if end - used > MAX_ITEM {
            return Err(too_large_item());
        }
        used += consume(&content[used..end], end == content.len())?;
        progress.add_done((end - shown) as u64);
        shown = end;
    }
    Ok(FeedResult {
        bytes: content.len() as u64,
        damage: None,
    })
}

fn too_large_item() -> ImportError {
    ImportError::TooLarge {
        what: "a single value of more than 256 MiB; this is not a profile".into(),
    }
}

struct FeedPiece {
    buffer: Vec<u8>,
    len: usize,
}

fn feed_gzip(
    packed: &[u8],
    progress: &Progress,
    mut consume: impl FnMut(&[u8], bool) -> Result<usize>,
) -> Result<FeedResult> {
    // WebAssembly has no threads.
    if cfg!(target_arch = "wasm32") {
        return feed_gzip_in_turn(packed, progress, &mut consume);
    }
    let mut inflater = Inflater::new(packed);
    std::thread::scope(|scope| {
        let (full_sender, full) = sync_channel::<FeedPiece>(BUFFERS);
        let (empty, empty_receiver) = sync_channel::<Vec<u8>>(BUFFERS);
        for _ in 0..BUFFERS {
            let _ = empty.send(vec![0; HEADROOM + PIECE]);
        }
        let worker = std::thread::Builder::new()
            .name("inflate".into())
            .spawn_scoped(scope, move || {
                inflate(&mut inflater, &full_sender, &empty_receiver, progress)?;
                Ok::<_, ImportError>(FeedResult {
                    bytes: inflater.unpacked,
                    damage: inflater.damage(),
                })
            })?;
        let put_back = |buffer| drop(empty.try_send(buffer));
        let consumed = consume_pieces(|| full.recv().ok(), put_back, &mut consume);
        // Without a receiver, the worker stops at its next piece.
        drop((full, empty));
        let fed = worker
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the inflate thread failed").into()));
        consumed?;
        fed
    })
}

/// Inflates and consumes on the same thread.
fn feed_gzip_in_turn(
    packed: &[u8],
    progress: &Progress,
    consume: &mut impl FnMut(&[u8], bool) -> Result<usize>,
) -> Result<FeedResult> {
    let mut inflater = Inflater::new(packed);
    let unused = RefCell::new(Vec::new());
    let mut failed = None;
    let inflated = || {
        if inflater.ended() {
            return None;
        }
        let mut buffer = unused
            .borrow_mut()
            .pop()
            .unwrap_or_else(|| vec![0; HEADROOM + PIECE]);
        let filled = progress
            .check()
            .and_then(|()| inflater.fill(&mut buffer[HEADROOM..], progress));
        match filled {
            Ok(len) => (len > 0).then_some(FeedPiece { buffer, len }),
            Err(error) => {
                failed = Some(error);
                None
            }
        }
    };
    let consumed = consume_pieces(inflated, |buffer| unused.borrow_mut().push(buffer), consume);
    match failed {
        Some(error) => Err(error),
        None => consumed.map(|()| FeedResult {
            bytes: inflater.unpacked,
            damage: inflater.damage(),
        }),
    }
}

fn inflate(
    inflater: &mut Inflater<'_>,
    full: &SyncSender<FeedPiece>,
    empty: &Receiver<Vec<u8>>,
    progress: &Progress,
) -> Result<()> {
    while !inflater.ended() {
        progress.check()?;
        let Ok(mut buffer) = empty.recv() else {
            return Ok(());
        };
        let len = inflater.fill(&mut buffer[HEADROOM..], progress)?;
        if len > 0 && full.send(FeedPiece { buffer, len }).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Runs until `next_piece` has no more; its last piece is the last window.
fn consume_pieces(
    mut next_piece: impl FnMut() -> Option<FeedPiece>,
    put_back: impl Fn(Vec<u8>),
    consume: &mut impl FnMut(&[u8], bool) -> Result<usize>,
) -> Result<()> {
    let mut rest: Vec<u8> = Vec::new();
    // The rest is passed again only after it has grown to this size.
    let mut enough = 0;
    let mut next = next_piece();
    while let Some(FeedPiece { mut buffer, len }) = next.take() {
        next = next_piece();
        let last = next.is_none();
        if rest.len() <= HEADROOM {
            let start = HEADROOM - rest.len();
            buffer[start..HEADROOM].copy_from_slice(&rest);
            let window = &buffer[start..HEADROOM + len];
            let used = consume(window, last)?.min(window.len());
            rest.clear();
            rest.extend_from_slice(&window[used..]);
            enough = 2 * rest.len();
        } else {
            rest.extend_from_slice(&buffer[HEADROOM..HEADROOM + len]);
            if rest.len() > MAX_ITEM {
                return Err(too_large_item());
            }
            if last || rest.len() >= enough {
                let used = consume(&rest, last)?.min(rest.len());
                rest.drain(..used);
                enough = 2 * rest.len();
            }
        }
        put_back(buffer);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sample_traces::write::gzip;

    use super::*;

    /// Consumes whole lines and returns them.
    fn lines(source: &InputSource) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let fed = source.feed(&Progress::new(), |window, last| {
            let mut used = 0;
            while let Some(end) = memchr::memchr(b'\n', &window[used..]) {
                lines.push(window[used..used + end].to_vec());
                used += end + 1;
            }
            if last {
                lines.push(window[used..].to_vec());
                used = window.len();
            }
            Ok(used)
        });
        assert_eq!(fed.unwrap().damage, None);
        lines
    }

    #[test]
    fn items_across_chunks_are_delivered_whole() {
        let mut text = Vec::new();
        for (i, len) in [
            10,
            PIECE - 5,
            3,
            5 * PIECE + 17,
            0,
            HEADROOM + 1,
            2 * PIECE,
            1,
        ]
        .into_iter()
        .enumerate()
        {
            text.extend(std::iter::repeat_n(b'a' + i as u8, len));
            text.push(b'\n');
        }
        text.extend_from_slice(b"end");
        let expected: Vec<Vec<u8>> = text
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        assert!(lines(&InputSource::from_bytes("plain", text.clone()).unwrap()) == expected);
        assert!(lines(&InputSource::from_bytes("packed", gzip(&text)).unwrap()) == expected);
        let (packed, mut there) = (gzip(&text), Vec::new());
        let mut keep = |window: &[u8], _: bool| {
            there.extend_from_slice(window);
            Ok(window.len())
        };
        let fed = feed_gzip_in_turn(&packed, &Progress::new(), &mut keep).unwrap();
        assert!(
            there == text && fed.damage.is_none() && fed.bytes == text.len() as u64,
            "without threads"
        );
    }

    #[test]
    fn progress_counts_compressed_bytes_and_cancel_stops() {
        let source = InputSource::from_bytes("packed", gzip(vec![b'x'; 4 * PIECE])).unwrap();
        let progress = Progress::new();
        source
            .feed(&progress, |window, _| Ok(window.len()))
            .unwrap();
        assert_eq!(progress.bytes().0, source.packed_len());
        let progress = Progress::new();
        progress.cancel();
        let fed = source.feed(&progress, |window, _| Ok(window.len()));
        assert!(matches!(fed, Err(ImportError::Cancelled)));
    }

    #[test]
    fn importer_error_is_returned() {
        let source = InputSource::from_bytes("packed", gzip(vec![b'x'; 40 * PIECE])).unwrap();
        let fed = source.feed(&Progress::new(), |_, _| Err(ImportError::Cancelled));
        assert!(matches!(fed, Err(ImportError::Cancelled)));
    }
}
