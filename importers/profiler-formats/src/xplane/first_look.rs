//! What a window shows first of a large file: devices in their order, each whole, then threads of hosts, as far as a
//! number of bytes goes. Of all other lines only the heads stay, because their times say where the timeline begins.

use std::ops::Range;

use importer_common::names::{PlaneKind, plane_kind};
use trace_model::wire::WireCursor;

use super::lines::EVENTS;
use super::space::RawSpace;

impl RawSpace {
    /// Leaves the events of the lines that are shown first, of about so many bytes. Answers whether these are at most half
    /// of all bytes of events: else the whole file is there soon, too.
    pub fn keep_first(&mut self, file: &[u8], bytes: u64) -> bool {
        let mut planes: Vec<_> = self
            .planes
            .iter_mut()
            .map(|plane| (place(plane_kind(&plane.name)), plane))
            .collect();
        planes.sort_by_key(|(place, _)| place.unwrap_or(u32::MAX));
        let (mut left, mut kept, mut all) = (bytes, 0, 0);
        let mut keep = |lines: &mut [&mut Range<usize>], is_first: bool| {
            let size: usize = lines.iter().map(ExactSizeIterator::len).sum();
            all += size;
            if is_first || size as u64 <= left {
                left = left.saturating_sub(size as u64);
                kept += size;
                return;
            }
            left = 0;
            for line in lines {
                line.end = end_of_head(file, line);
            }
        };
        for (index, (place, plane)) in planes.into_iter().enumerate() {
            let mut lines: Vec<_> = plane.lines.iter_mut().collect();
            if place.is_some() {
                // A device of which a part was left out would look idle.
                keep(&mut lines, index == 0);
                continue;
            }
            // Each thread is a row of its own. Most are short.
            lines.sort_by_key(ExactSizeIterator::len);
            for line in lines {
                keep(&mut [line], false);
            }
        }
        kept <= all / 2
    }
}

/// The place of a plane of a device; what belongs to a device comes with it. `None` for all others, which come last.
fn place(kind: PlaneKind) -> Option<u32> {
    match kind {
        PlaneKind::TensorCore { ordinal } | PlaneKind::Gpu { ordinal } => Some(ordinal),
        PlaneKind::SparseCore { device, .. } => Some(device),
        _ => None,
    }
}

/// Where the first event of a line begins.
fn end_of_head(file: &[u8], line: &Range<usize>) -> usize {
    let mut cursor = WireCursor::new(file, line.clone());
    let mut end = line.start;
    while let Ok(Some(tag)) = cursor.tag() {
        if tag == EVENTS || cursor.field(tag, end).is_err() {
            break;
        }
        end = cursor.position();
    }
    end
}
