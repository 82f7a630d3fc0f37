//! How busy the threads of folded groups are, in columns of the least width of a box.

use crate::prelude::*;

use super::boxes::{LayoutWindow, MIN_WIDTH, heading_box};
use crate::timeline::scene::DrawnTrace;
use crate::timeline::tree::TrackRow;

/// A part of a column.
#[derive(Clone, Copy, Debug)]
pub struct LoadBox {
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub bottom: f32,
    /// Whether it is the background of another one.
    pub is_faint: bool,
}

/// How many threads of a folded group are busy, in front of the share of time in which any of them is.
pub(super) fn busy(
    scene: DrawnTrace<'_>,
    window: &LayoutWindow<'_>,
    row: TrackRow,
    out: &mut Vec<LoadBox>,
) {
    let Some(busy) = scene.tree.busy(row.node) else {
        return;
    };
    let (inset, height) = heading_box(row);
    let bottom = row.y + inset + height;
    for column in 0..(window.width / MIN_WIDTH).ceil() as u32 {
        let left = column as f32 * MIN_WIDTH;
        let start = window.time_at(left);
        let share = busy.share(TimeRange::new(
            start,
            window
                .time_at(left + MIN_WIDTH)
                .max(start + Picos::from_ps(1)),
        ));
        if share.any <= 0.0 {
            continue;
        }
        let of_most = share.threads / f64::from(busy.most().max(1));
        for (share, is_faint) in [(share.any, true), (of_most, false)] {
            let top = bottom - tall(share as f32, height);
            out.push(LoadBox {
                left,
                right: left + MIN_WIDTH,
                top,
                bottom,
                is_faint,
            });
        }
    }
}

/// A little work stays visible.
fn tall(share: f32, height: f32) -> f32 {
    (share * height).max(1.0)
}
