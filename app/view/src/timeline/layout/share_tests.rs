//! What is painted of a lane are the shares of its time, at any width and zoom.

use trace_model::{Picos, TimeRange, TraceModel};

use super::tests::{Drawn, model};
use super::*;
use crate::state::ViewState;
use crate::timeline::columns::ColumnCell;

/// Slices of eight labels on three levels, of lengths from 0 to hundreds, dense and sparse, with stretches that repeat.
fn random_model(seed: u64) -> TraceModel {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below) as i64
    };
    let mut slices = Vec::new();
    let mut at = 1_000_000_000_000 + next(1_000);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    while slices.len() < 30_000 {
        let (mean, gap, repeats) = ([3, 40, 900][next(3) as usize], [1, 10, 2_000][next(3) as usize], next(3) == 0);
        let fixed: Vec<_> = (0..4).map(|_| (next(mean), next(gap), names[next(8) as usize])).collect();
        for i in 0..next(600) {
            let (length, pause, name) =
                if repeats { fixed[i as usize % 4] } else { (next(mean), next(gap), names[next(8) as usize]) };
            slices.push((name, at, at + length));
            if length > 20 {
                slices.push((names[next(8) as usize], at + next(10), at + 10 + next(10)));
            }
            at += length + pause;
        }
    }
    model(&slices)
}

/// By lane and colour: the share of the time in view that slices cover.
fn true_shares(drawn: &Drawn<'_>, view: TimeRange) -> Vec<[f64; 8]> {
    let lane = |lane| {
        let mut shares = [0.0; 8];
        for slice in drawn.model.slices_in(lane, view) {
            if let Some(part) = slice.range().intersect(view) {
                let color = drawn.keys[slice.label_id().index()];
                shares[usize::from(color.0)] += part.dur().ps() as f64 / view.dur().ps() as f64;
            }
        }
        shares
    };
    drawn.model.all_lanes().iter().map(lane).collect()
}

#[test]
fn painted_shares_are_shares_of_time() {
    for seed in 1..=4 {
        let model = random_model(seed);
        let drawn = Drawn::new(&model);
        let extent = model.extent();
        for (i, width) in [300.0_f32, 477.0, 640.0, 1_280.0, 1_919.0, 2_560.0, 4_000.0].into_iter().enumerate() {
            for zoom in [1.0, 1.7, 5.3, 40.0, 333.3, 5_000.0] {
                let span = Picos::from_ps((extent.dur().ps() as f64 / zoom) as i64);
                let from = Picos::from_ps((extent.dur() - span).ps() / 7 * i as i64);
                let view = TimeRange::at(extent.start + from, span);
                let list = drawn.list(view, (width, 10_000.0));
                let mut bars = vec![[0.0; 8]; model.all_lanes().len()];
                let mut rows = bars.clone();
                let tops: Vec<f32> = (0..bars.len()).map(|lane| 28.0 + lane as f32 * (LANE + GAP)).collect();
                for columns in &list.scrolled.columns {
                    let lane = tops.iter().position(|top| (top - columns.top).abs() < 0.5).expect("a lane");
                    for bar in columns.bars().iter().filter(|bar| !bar.is_mark) {
                        let seen = (bar.right.min(width) - bar.left.max(0.0)).max(0.0);
                        let area = f64::from(seen) * f64::from(bar.bottom - bar.top);
                        bars[lane][usize::from(bar.color.0)] += area / f64::from(width * LANE);
                    }
                    columns.tile.draw_rows(LANE as usize, |column, _, cell| {
                        let left = columns.left + column as f32 * columns.column;
                        let seen = (left + columns.column).min(columns.shown.1.min(width)) - left.max(0.0);
                        if let ColumnCell::Work(color) = cell {
                            rows[lane][usize::from(color.0)] += f64::from(seen.max(0.0)) / f64::from(width * LANE);
                        }
                    });
                }
                let about = format!("seed {seed}, {width} points, zoom {zoom}");
                for (lane, wanted) in true_shares(&drawn, view).iter().enumerate() {
                    for color in 0..8 {
                        let [bars, rows] = [bars[lane][color], rows[lane][color]].map(|share| share - wanted[color]);
                        let pixel = 1.0 / f64::from(width);
                        assert!(bars.abs() < 0.5 * pixel, "{about}: {} pixels of bars", bars / pixel);
                        // A stretch that few columns show is rounded to whole rows once per column.
                        assert!(rows.abs() < 2.0 * pixel, "{about}: {} pixels of rows", rows / pixel);
                    }
                }
            }
        }
    }
}

#[test]
fn columns_are_the_same_wherever_the_view_begins() {
    let model = random_model(9);
    let drawn = Drawn::new(&model);
    let extent = model.extent();
    let rows = drawn.tree.rows(&ViewState::new(&model));
    let view = TimeRange::at(extent.start, Picos::from_ps(extent.dur().ps() / 5));
    let shares = |panned: f64| {
        let mut list = DrawList::default();
        let mut window = drawn.window(view, &rows, (1_000.0, 300.0));
        window.time = window.time.panned(panned);
        list.fill(drawn.scene(), &window, &mut LaneTiles::default());
        list.scrolled
            .columns
            .into_iter()
            .map(|columns| (columns.tile.range, columns.top as i32, columns.tile))
            .collect::<Vec<_>>()
    };
    let first = shares(0.0);
    for panned in [0.000_3, 0.01, 0.37] {
        let same = shares(panned);
        let known = |range, top| first.iter().find(|(of, at, _)| (*of, *at) == (range, top));
        let pairs: Vec<_> = same.iter().filter_map(|(range, top, tile)| Some((known(*range, *top)?, tile))).collect();
        assert!(pairs.len() >= 3, "{} tiles", pairs.len());
        assert!(pairs.iter().all(|((_, _, one), other)| one.shares == other.shares && one.colors == other.colors));
    }
}
