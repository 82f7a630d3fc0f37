//! What the op of the selected slice costs, and how close it comes to its limits.

use crate::panels::prelude::*;
use analysis::reports::Overlap;

use super::rows::{STATIC, section, static_row};
use crate::panels::tabs::source;
use crate::panels::widgets::{value_grid, value_row};
use view::panels::source::SourcePlace;
use view::panels::transfer::{transfer, transfer_of};

const ACHIEVED: &str = "static amount divided by the measured duration of this execution";

const SLOTS: &str = "issue slots of the unit that the code of the op uses; each bundle counts once, however often it runs";

pub(super) fn op_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    slice: SliceRef<'_>,
    out: &mut ViewCommands,
) {
    let Some(id) = slice.op() else { return };
    if limits_ui(ui, context, slice, id) {
        ui.add_space(8.0);
    }
    let trace = context.trace;
    let (model, op) = (&trace.model, trace.model.op(id));
    section(ui, "Op");
    value_grid(ui, "op", |ui| {
        value_row(ui, "Category", trace.classes.category(id), "");
        if let Some(program) = op.program {
            value_row(ui, "Program", model.str(model.program(program).name), "");
        }
        let seconds = slice.measured_dur().as_secs_f64();
        // The rate of a transfer is above: the time of one of its two ops says nothing about it.
        let moves = transfer(model, slice, None, times::format()).is_some();
        let rate = |amount: u64, unit: Unit| {
            (seconds > 0.0 && !(moves && unit == Unit::Bytes)).then(|| amount as f64 / seconds)
        };
        for (title, amount, unit, per_second) in [
            ("FLOPs", op.flops, Unit::Flop, Unit::FlopPerSecond),
            (
                "Bytes accessed",
                op.bytes_accessed,
                Unit::Bytes,
                Unit::BytesPerSecond,
            ),
        ] {
            let Some(amount) = amount else { continue };
            static_row(ui, title, &number(amount as f64, unit), STATIC);
            if let Some(rate) = rate(amount, unit) {
                value_row(ui, "  achieved", number(rate, per_second), ACHIEVED);
            }
        }
        for (title, text) in [("Shape", op.shape), ("Framework", op.framework_name)] {
            if let Some(text) = text {
                value_row(ui, title, model.str(text), model.str(text));
            }
        }
        if let Some(source) = op.source {
            ui.weak("Source");
            let text = model.str(source);
            let short =
                SourcePlace::parse(text).map_or_else(|| text.to_owned(), |place| place.short());
            ui.link(short)
                .on_hover_text(format!("{text}\nClick to see the line and its stack"))
                .sends(out, source::TAB.show());
            ui.end_row();
        }
        if let Some(bundles) = &op.bundles {
            static_row(
                ui,
                "Bundles",
                &number(bundles.count as f64, Unit::Count),
                STATIC,
            );
            for unit in bundles.units.iter().filter(|unit| unit.used > 0) {
                let Some(percent) = unit.percent(bundles.count) else {
                    continue;
                };
                let title = format!("  {}", model.str(unit.unit));
                value_row(ui, &title, number(percent, Unit::Percent), SLOTS);
            }
        }
    });
}

/// How close the op comes to the hardware limits, and its exposed time. Returns whether anything was shown.
fn limits_ui(ui: &mut Ui, context: PanelContext<'_>, slice: SliceRef<'_>, op: OpId) -> bool {
    let ops = context
        .reports
        .ready::<Ops>()
        .and_then(|report| Some((report, report.rows.iter().find(|row| row.op == Some(op))?)));
    let overlap = context.reports.ready::<Overlap>();
    let transfer = overlap.and_then(|report| transfer_of(&context.trace.model, report, slice));
    if ops.is_none() && transfer.is_none() {
        return false;
    }
    section(ui, "Against its limits");
    value_grid(ui, "limits", |ui| {
        if let Some((report, of_op)) = ops {
            let (flops, hbm) = (report.peaks.flops_text(), report.peaks.hbm_text());
            if let Some(bound) = of_op.rates.bound_by {
                value_row(
                    ui,
                    "Bound by",
                    bound.title(),
                    &format!("The limit that the op comes closest to. Peaks: {flops}; {hbm}"),
                );
            }
            if let Some((limit, reached)) = of_op.rates.beyond_peak {
                let text = format!("{} of {}", number(reached, Unit::Percent), limit.title());
                value_row(
                    ui,
                    "Impossible rate",
                    &text,
                    "The costs of the op or the peak are wrong; see systole doctor.",
                );
            }
            // An execution of zero duration has no meaningful rate.
            let dur = Some(slice.measured_dur().ps()).filter(|&ps| ps > 0);
            if let Some((all, dur)) = of_op.rates.efficiency_percent.zip(dur) {
                let percent = all.0 * of_op.mean_time_ps / dur as f64;
                let about = format!(
                    "Least time that the tightest known limit allows for its work (by the compiler's cost model), of \
                     the time of this execution; of all {} executions: {}",
                    of_op.occurrences,
                    number(all.0, Unit::Percent),
                );
                value_row(
                    ui,
                    "  of that limit",
                    number(percent, Unit::Percent),
                    &about,
                );
            }
            if let Some(share) = of_op.self_of_op_time_percent {
                let about = format!(
                    "Self time of all {} executions, as a share of the self time of all ops",
                    of_op.occurrences
                );
                value_row(
                    ui,
                    "Share of op time",
                    number(share.0, Unit::Percent),
                    &about,
                );
            }
        }
        if let Some(transfer) = transfer {
            let each = |sum: Picos| {
                time(Picos::from_ps(
                    sum.ps() / i64::try_from(transfer.occurrences.max(1)).unwrap_or(1),
                ))
            };
            let value = format!(
                "{} of {}",
                each(transfer.exposed_ps),
                each(transfer.time_ps)
            );
            let about = format!(
                "Time in flight that no compute hides, of the time in flight: mean of {} executions on {} devices",
                transfer.occurrences, transfer.cores
            );
            value_row(ui, "Exposed", &value, &about);
        }
    });
    true
}
