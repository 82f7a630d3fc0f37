//! The rows of a list of tracks: where each lies.

use session::number::counted;

/// Space below the last row, so that it can be scrolled clear of the edge.
const BELOW: f32 = 48.0;

/// The position of a node on the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackRow {
    /// Index of the node.
    pub node: usize,
    /// Top, relative to its part of the list (scrolled or pinned).
    pub y: f32,
    /// Height, including the gap.
    pub height: f32,
    /// How many lanes are shown.
    pub lanes: usize,
    /// Whether some of it is hidden.
    pub folded: bool,
    /// How many lanes of the track are hidden that have something to show.
    pub hidden: usize,
    /// Whether the row below belongs to it: its counterpart of another trace.
    pub is_joined: bool,
}

impl TrackRow {
    /// `14 more lanes`; `None` if none is hidden.
    pub fn hidden_text(&self) -> Option<String> {
        (self.hidden > 0).then(|| counted(self.hidden as u64, "more lane"))
    }
}

/// All rows: the pinned ones, and below them those that scroll.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VisibleRows {
    pub scrolled: Vec<TrackRow>,
    /// Pinned rows, from the top of the canvas.
    pub pinned: Vec<TrackRow>,
    /// Ends of both parts, if they differ from the ends of their last rows.
    pub(super) ends: Option<(f32, f32)>,
    /// Row of each node: values below [`PINNED`] are indices into `scrolled`, values from there on into `pinned`.
    pub(super) place: Vec<u32>,
}

/// No row shows the node.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Values from here on refer to pinned rows.
pub(super) const PINNED: u32 = 1 << 31;

impl VisibleRows {
    /// Height of all rows that scroll.
    pub fn height(&self) -> f32 {
        self.ends
            .map_or_else(|| end(&self.scrolled), |(scrolled, _)| scrolled)
    }

    pub fn pinned_height(&self) -> f32 {
        self.ends
            .map_or_else(|| end(&self.pinned), |(_, pinned)| pinned)
    }

    /// Rows with given positions, interleaved with those of another trace; each part is in
    /// display order. `ends` are the ends of both parts, `nodes` is the number of nodes of the list.
    pub fn placed(
        scrolled: Vec<TrackRow>,
        pinned: Vec<TrackRow>,
        ends: (f32, f32),
        nodes: usize,
    ) -> Self {
        let mut place = vec![NOWHERE; nodes];
        for (rows, offset) in [(&scrolled, 0), (&pinned, PINNED)] {
            for (index, row) in rows.iter().enumerate() {
                place[row.node] = offset | index as u32;
            }
        }
        Self {
            scrolled,
            pinned,
            ends: Some(ends),
            place,
        }
    }

    /// Largest scroll position for a canvas of this height; rows that fit do not scroll.
    pub fn max_scroll(&self, canvas: f32) -> f32 {
        let beyond = self.height() - (canvas - self.pinned_height()).max(0.0);
        // Heights are sums of fractions.
        if beyond < 0.5 { 0.0 } else { beyond + BELOW }
    }

    /// The row of a node with its top on the canvas, and whether it is pinned.
    pub(super) fn on_canvas(&self, node: usize, scroll: f32) -> Option<(TrackRow, bool)> {
        let place = *self.place.get(node)?;
        if place == NOWHERE {
            None
        } else if place >= PINNED {
            self.pinned
                .get((place - PINNED) as usize)
                .map(|&row| (row, true))
        } else {
            let row = *self.scrolled.get(place as usize)?;
            Some((
                TrackRow {
                    y: row.y - scroll + self.pinned_height(),
                    ..row
                },
                false,
            ))
        }
    }
}

fn end(rows: &[TrackRow]) -> f32 {
    rows.last().map_or(0.0, |row| row.y + row.height)
}

/// Appends a row below the last one.
pub(super) fn push(rows: &mut Vec<TrackRow>, row: TrackRow) {
    let y = rows.last().map_or(0.0, |last| last.y + last.height);
    rows.push(TrackRow { y, ..row });
}
