//! What a change leaves as it was, and what is not known of that.

use facts::prelude::*;

use super::change::Scenario;
use super::schedule::{CoreSchedule, ReplaySchedule};

/// The transfers of this kind that a simulator ran and of which the replay knows no start, or nothing at all.
pub(super) fn unawaited(cx: &Context<'_>, recorded: &ReplaySchedule, change: &Scenario) -> usize {
    let Some(is_wanted) = change
        .transfers()
        .filter(|_| cx.model.simulator().is_some())
    else {
        return 0;
    };
    let of_core = |core: &CoreSchedule| {
        let tracks = cx.model.track_ids().filter(|&track| {
            let track = cx.model.track(track);
            track.group == core.group && track.kind == TrackKind::AsyncOps
        });
        let slices = tracks.flat_map(|track| cx.model.slices_on(track));
        let ran = slices.filter(|slice| {
            let is_here = slice.measured_range().overlaps(core.window);
            is_here && is_wanted(cx.classes().class_of(slice.op()))
        });
        let whole = core
            .flights
            .iter()
            .filter(|flight| !flight.is_sync() && is_wanted(core.piece(flight.awaits).class));
        ran.count().saturating_sub(whole.count())
    };
    recorded.cores.iter().map(of_core).sum()
}

/// That transfers ran, but none of which it is known what awaits them.
pub(super) fn require_awaited(
    cx: &Context<'_>,
    recorded: &ReplaySchedule,
    changes: &[Scenario],
) -> Result<()> {
    match changes.iter().find(|change| {
        change
            .transfers()
            .is_some_and(|is_wanted| !ran(recorded, is_wanted))
            && unawaited(cx, recorded, change) > 0
    }) {
        Some(change) => Err(format!(
            "what if {}: transfers are in flight, but no op is known to await them, so what another length of them changes is \
             not known",
            change.title()
        )
        .into()),
        None => Ok(()),
    }
}

fn ran(recorded: &ReplaySchedule, is_wanted: fn(OpClass) -> bool) -> bool {
    let mut pieces = recorded.cores.iter().flat_map(CoreSchedule::pieces);
    pieces.any(|piece| is_wanted(piece.class))
}

/// Changes of transfers that did not run.
pub(super) fn without_effect(recorded: &ReplaySchedule, changes: &[Scenario]) -> Vec<String> {
    let what = changes
        .iter()
        .filter(|change| {
            let is_wanted = change.transfers();
            is_wanted.is_some_and(|is_wanted| !ran(recorded, is_wanted))
        })
        .map(|change| {
            if change.is_about_collectives() {
                "No collective"
            } else {
                "No asynchronous copy"
            }
        });
    what.map(|what| format!("{what} ran here: another length of it changes nothing"))
        .collect()
}

/// Ops that start collectives are worth a note from this share of the window on.
const WORTH_A_NOTE: f64 = 0.01;

/// Starts of collectives are no transfers: they keep their time.
pub(super) fn starts_that_stay(cx: &Context<'_>, core: &CoreSchedule) -> Option<String> {
    let starts = core
        .pieces()
        .iter()
        .filter(|piece| piece.class.is_collective() && piece.class.is_start());
    let time: Picos = starts.map(|piece| piece.range.dur()).sum();
    let is_much = time.as_ps_f64() >= WORTH_A_NOTE * core.window.dur().as_ps_f64();
    is_much.then(|| {
        let name = cx.model.device_name(core.group);
        format!(
            "Ops that start asynchronous collectives keep their time, {time} on {name}: they may do other work, too"
        )
    })
}
