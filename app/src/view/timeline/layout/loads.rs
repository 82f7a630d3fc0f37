//! The load of folded groups, in columns of the least width of a box.

use std::collections::BTreeMap;

use trace_model::{LabelId, Picos, TimeRange};

use super::boxes::{LayoutWindow, MIN_WIDTH, heading_box};
use crate::view::timeline::scene::DrawnTrace;
use crate::view::timeline::tiles::{LaneTiles, TilePiece};
use crate::view::timeline::tree::TrackRow;

/// A part of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadBox {
    /// Left edge.
    pub left: f32,
    /// Right edge.
    pub right: f32,
    /// Top edge.
    pub top: f32,
    /// Bottom edge.
    pub bottom: f32,
    /// The label whose colour it has; none for busy time.
    pub label: Option<LabelId>,
    /// Whether it is the background of another one.
    pub is_faint: bool,
}

/// How many threads of a folded group are busy, in front of the share of time in which any of them is.
pub(super) fn busy(scene: DrawnTrace<'_>, window: &LayoutWindow<'_>, row: TrackRow, out: &mut Vec<LoadBox>) {
    let Some(busy) = scene.tree.busy(row.node) else { return };
    let (inset, height) = heading_box(row);
    let bottom = row.y + inset + height;
    let at = |x: f32| window.time.time_at(f64::from(x / window.width.max(1.0)));
    for column in 0..(window.width / MIN_WIDTH).ceil() as u32 {
        let left = column as f32 * MIN_WIDTH;
        let start = at(left);
        let share = busy.share(TimeRange::new(start, at(left + MIN_WIDTH).max(start + Picos::from_ps(1))));
        if share.any <= 0.0 {
            continue;
        }
        let of_most = share.threads / f64::from(busy.most().max(1));
        for (share, is_faint) in [(share.any, true), (of_most, false)] {
            let top = bottom - tall(share as f32, height);
            out.push(LoadBox { left, right: left + MIN_WIDTH, top, bottom, label: None, is_faint });
        }
    }
}

/// A little work stays visible.
fn tall(share: f32, height: f32) -> f32 {
    (share * height).max(1.0)
}

/// The work of several cores on top of each other: of all their time in a column, the shares of the ops that run.
#[expect(clippy::too_many_arguments, reason = "what a row is made from")]
pub(super) fn cores(
    scene: DrawnTrace<'_>,
    window: &LayoutWindow<'_>,
    tiles: &mut LaneTiles,
    row: TrackRow,
    lanes: &[usize],
    level: u32,
    pieces: &mut Vec<TilePiece>,
    out: &mut Vec<LoadBox>,
) {
    let (inset, height) = heading_box(row);
    let width = f64::from(window.width);
    let columns = (window.width / MIN_WIDTH).ceil() as usize;
    let mut shares: Vec<BTreeMap<LabelId, f32>> = vec![BTreeMap::new(); columns];
    for &lane in lanes {
        pieces.clear();
        tiles.pieces(scene, lane, window.time.range(), level, pieces);
        for piece in &*pieces {
            let covered = piece.occupied.ps() as f64 / (piece.range.dur().ps() as f64).max(1.0);
            let x = |at| window.time.fraction(at) * width / f64::from(MIN_WIDTH);
            let [from, to] = [x(piece.range.start), x(piece.range.end)].map(|at| at.clamp(0.0, columns as f64));
            let own = shares.iter_mut().enumerate().take((to.ceil() as usize).min(columns)).skip(from as usize);
            for (column, shares) in own {
                let part = (to.min(column as f64 + 1.0) - from.max(column as f64)).max(0.0);
                *shares.entry(piece.label).or_default() += (part * covered) as f32 / lanes.len() as f32;
            }
        }
    }
    for (column, shares) in shares.into_iter().enumerate() {
        let (left, mut bottom) = (column as f32 * MIN_WIDTH, row.y + inset + height);
        for (label, share) in shares {
            let top = (bottom - share.min(1.0) * height).max(row.y + inset);
            out.push(LoadBox { left, right: left + MIN_WIDTH, top, bottom, label: Some(label), is_faint: false });
            bottom = top;
        }
    }
}
