//! Tooltips of slices, arrows, counters and steps.

use crate::prelude::*;
use analysis::measured_range;
use egui::{PopupAnchor, Tooltip};

use crate::keys::hint;
use crate::times::{self, time};
use view::panels::op_facts::{self, KnownReports};
use view::timeline::bands::{heading_of, step_of};
use view::timeline::counter_text::counter_value;
use view::timeline::group_load::GroupLoad;
use view::timeline::layout::{FlowArrow, LaneHit};
use view::timeline::tree::TrackRow;

/// A slice, or a summary of several that are too narrow to distinguish.
pub fn slice_ui(
    ui: &Ui,
    trace: &OpenTrace,
    hit: &LaneHit,
    (steps, reports): (&[StepBand], KnownReports<'_>),
) {
    let slice = trace.model.slice(hit.drawn.slice);
    show(ui, "slice", |ui| {
        if hit.drawn.count > 1 {
            column_ui(ui, trace, hit);
        }
        ui.strong(heading_of(slice));
        if let Some(op) = slice.op() {
            ui.weak(format!(
                "{} · {}",
                trace.classes.class(op).group.title(),
                trace.classes.category(op)
            ));
        }
        let dur = measured_range(slice, &trace.model).dur();
        let timing = if slice.has_children() {
            format!("{}, self {}", time(dur), time(slice.self_dur()))
        } else {
            time(dur)
        };
        ui.label(timing);
        drawn_as_ui(ui, slice.dur(), dur);
        let step = step_of(steps, &trace.model, slice)
            .map_or_else(String::new, |step| format!(", {step}"));
        ui.weak(format!("at {}{step}", time(slice.start().since_origin())));
        for line in op_facts::facts(&trace.model, slice, reports, times::format()) {
            ui.label(line);
        }
    });
}

/// The slices of a column of pixels: how many, and the shares of its time.
fn column_ui(ui: &mut Ui, trace: &OpenTrace, hit: &LaneHit) {
    let count = group_digits(u64::from(hit.drawn.count));
    let (covered, kinds) = trace.shares_of(&[hit.lane], hit.range);
    ui.label(format!(
        "{count} slices in {}, {:.0} of it covered",
        time(hit.range.dur()),
        Percent(100.0 * covered)
    ));
    shares_ui(ui, &kinds);
    ui.weak("The longest:");
}

/// The kinds of work of a time, and their shares.
fn shares_ui(ui: &mut Ui, kinds: &[(&str, f64)]) {
    const MOST: usize = 5;
    for (title, share) in kinds.iter().take(MOST) {
        ui.label(format!("{title} {:.1}", Percent(100.0 * share)));
    }
}

/// A flow between two slices: where it leads, and how long the second waits for the first or the first for it.
pub fn arrow_ui(ui: &Ui, trace: &OpenTrace, arrow: &FlowArrow) {
    let [from, to] = arrow.slices.map(|slice| trace.model.slice(slice));
    show(ui, "arrow", |ui| {
        ui.strong(format!("{} → {}", from.name(), to.name()));
        let track = |slice: SliceRef<'_>| {
            let track = slice.track_ref();
            format!(
                "{}, {}",
                trace.model.str(track.name),
                trace.model.device_name(track.group)
            )
        };
        let tracks = [from, to].map(track);
        if tracks[0] != tracks[1] {
            ui.weak(tracks.join(" → "));
        }
        let (later, gap) = (to.start() - from.start(), to.start() - from.range().end);
        ui.label(if later < Picos::ZERO {
            format!("begins {} before the beginning", time(-later))
        } else if gap < Picos::ZERO {
            format!(
                "begins {} after the beginning, {} before the end",
                time(later),
                time(-gap)
            )
        } else {
            format!("begins {} after the end", time(gap))
        });
        let end = if arrow.outgoing {
            "follow"
        } else {
            "follow-back"
        };
        ui.weak(hint(ui.ctx(), "Show the other end", end));
    });
}

/// The value of a counter.
pub fn counter_ui(ui: &Ui, trace: &OpenTrace, row: &TrackRow, instant: Timestamp) {
    let TreeItem::Track(track) = trace.tree.node(row.node).item else {
        return;
    };
    let Some(series) = trace.model.counter(track) else {
        return;
    };
    let Some(value) = series.value_at(instant) else {
        return;
    };
    let unit = series.unit().map_or("", |unit| trace.model.str(unit));
    show(ui, "counter", |ui| {
        ui.strong(&trace.tree.node(row.node).title);
        ui.label(counter_value(value, unit))
            .on_hover_text(format!("{value} {unit}"));
        ui.weak(format!("at {}", time(instant.since_origin())));
    });
}

/// What a folded group shows of a time.
pub fn load_ui(ui: &Ui, trace: &OpenTrace, row: &TrackRow, range: TimeRange) {
    let node = trace.tree.node(row.node);
    let text = match (&node.load, trace.tree.busy(row.node)) {
        (GroupLoad::Busy, Some(busy)) if row.folded && !range.is_empty() => {
            let share = busy.share(range);
            let (any, threads) = (Percent(share.any * 100.0), share.threads);
            let most = busy.most();
            format!(
                "of {}, {any:.0} with a slice; {threads:.1} threads busy, at most {most} at once",
                time(range.dur())
            )
        }
        (GroupLoad::Cores(cores), _) if row.folded => {
            format!("what {} cores run, as shares of their time", cores.len())
        }
        _ => return,
    };
    show(ui, "load", |ui| {
        ui.strong(&node.title);
        ui.label(text);
        if let GroupLoad::Cores(cores) = &node.load {
            shares_ui(ui, &trace.shares_of(cores, range).1);
        }
        ui.weak(format!(
            "at {}; click to unfold",
            time(range.start.since_origin())
        ));
    });
}

/// The step below the pointer.
pub fn step_ui(ui: &Ui, band: &StepBand) {
    show(ui, "step", |ui| {
        ui.strong(band.name());
        if band.title != band.short_name() {
            ui.weak(&band.title);
        }
        ui.label(time(band.time));
        if time(band.range.dur()) != time(band.time) {
            ui.weak(format!(
                "of the core that took longest; all cores, on the timeline: {}",
                time(band.range.dur())
            ));
        }
        ui.weak(format!("at {}", time(band.range.start.since_origin())));
        if band.is_outlier {
            ui.label("unusually long");
        }
    });
}

/// The length on the timeline, if the device clock gives another one.
fn drawn_as_ui(ui: &mut Ui, drawn: Picos, measured: Picos) {
    if time(drawn) != time(measured) {
        let drawn = time(drawn);
        ui.weak(format!(
            "by the device's clock, as in reports; drawn {drawn} long, as the profiler placed it on the timeline"
        ));
    }
}

pub(super) fn show(ui: &Ui, what: &str, content: impl FnOnce(&mut Ui)) {
    let id = Id::unique(("timeline tooltip", what));
    Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, PopupAnchor::Pointer)
        .gap(14.0)
        .show(|ui| {
            ui.set_max_width(460.0);
            content(ui);
        });
}
