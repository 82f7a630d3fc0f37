//! Steps from executions of the dominant program.

use engine::prelude::*;
use math::quantile::quantile;
use math::summed;

use super::marks::{MarkedSteps, NO_NEXT, StepMark, join, top_slices};

/// Largest interquartile range of the durations of a step function, as a share of their median.
const MAX_SPREAD: f64 = 0.5;
/// Minimum share of the device's module time of a function that ran once and counts as a step.
const SINGLE_SHARE: f64 = 0.5;

/// `jit_f` of `jit_f(123)`.
pub fn function_of(module: &str) -> &str {
    let base = module
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once('('));
    base.filter(|(_, id)| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(module, |(name, _)| name)
}

/// Steps from program executions.
pub(super) fn find(model: &TraceModel, devices: &[GroupId]) -> Result<MarkedSteps, String> {
    let executions: Vec<(GroupId, Vec<SliceRef<'_>>)> = devices
        .iter()
        .map(|&device| {
            let tracks = model.tracks_of_kind(device, TrackKind::Modules);
            let slices = tracks.flat_map(|track| top_slices(model, track));
            (device, slices.collect::<Vec<_>>())
        })
        .filter(|(_, slices)| !slices.is_empty())
        .collect();
    if executions.is_empty() {
        return Err("no device recorded program executions".to_owned());
    }
    let total: Picos = executions
        .iter()
        .flat_map(|(_, slices)| slices)
        .map(|slice| slice.measured_dur())
        .sum();
    let verdict = judge(
        &executions,
        &dominant(&executions, function_of),
        function_of,
        total,
    )
    .or_else(|first| {
        // Different functions may share a name such as `jit_fn`: try single programs.
        let by_program = dominant(&executions, |name| name);
        judge(&executions, &by_program, |name| name, total).map_err(|_second| first)
    });
    let (marker, why, is_program) = verdict?;
    let key = if is_program { |name| name } else { function_of };
    let steps = join(
        model,
        executions
            .iter()
            .map(|(group, slices)| (*group, program_steps(slices, &marker, key)))
            .collect(),
    );
    Ok(MarkedSteps { marker, steps, why })
}

type ExecutionsOnCores<'a> = [(GroupId, Vec<SliceRef<'a>>)];

/// The key with the most device time.
pub(super) fn dominant<'a>(
    executions: &ExecutionsOnCores<'a>,
    key: impl Fn(&'a str) -> &'a str,
) -> String {
    let slices = executions.iter().flat_map(|(_, slices)| slices);
    let totals = summed(slices.map(|slice| (key(slice.name()), slice.measured_dur())));
    let best = totals
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)));
    best.map(|(name, _)| name.to_owned()).unwrap_or_default()
}

/// Checks whether the executions of `marker` are regular enough to be steps.
fn judge<'a>(
    executions: &ExecutionsOnCores<'a>,
    marker: &str,
    key: impl Fn(&'a str) -> &'a str,
    total: Picos,
) -> Result<(String, String, bool), String> {
    let is_step = |slice: &&SliceRef<'a>| key(slice.name()) == marker;
    let runs = executions
        .iter()
        .map(|(_, slices)| slices.iter().filter(is_step).count())
        .max()
        .unwrap_or(0);
    let durations: Vec<f64> = executions
        .iter()
        .flat_map(|(_, s)| s.iter().filter(is_step))
        .map(|s| s.measured_dur().as_ps_f64())
        .collect();
    let share = durations.iter().sum::<f64>() / (total.as_ps_f64()).max(1.0);
    let is_program = function_of(marker) != marker;
    let quarter = |share| quantile(&durations, share).unwrap_or_default();
    let spread = (quarter(0.75) - quarter(0.25)) / quarter(0.5).max(1.0);
    let percent = Percent(100.0 * share);
    if runs < 2 && share < SINGLE_SHARE {
        return Err(format!(
            "the dominant program {marker} ran once and has only {percent:.0} of the module time"
        ));
    }
    if spread >= MAX_SPREAD {
        let spread = 100.0 * spread;
        return Err(format!(
            "executions of {marker} differ too much to be steps (interquartile range {spread:.0})",
            spread = Percent(spread)
        ));
    }
    let times = if runs == 1 {
        "once; there are no statistics".to_owned()
    } else {
        format!("{runs} times")
    };
    Ok((
        marker.to_owned(),
        format!("{marker} has {percent:.0} of the module time and ran {times}"),
        is_program,
    ))
}

/// From the start of one execution to the start of the next. The last one ends with its program, because later ops may
/// belong to something else. The gap after it is not in the capture, so it is partial if there are others.
fn program_steps<'a>(
    slices: &[SliceRef<'a>],
    marker: &str,
    key: impl Fn(&'a str) -> &'a str,
) -> Vec<StepMark> {
    let begins: Vec<&SliceRef<'a>> = slices
        .iter()
        .filter(|slice| key(slice.name()) == marker)
        .collect();
    let mark = |(k, slice): (usize, &&SliceRef<'a>)| {
        let next = begins.get(k + 1).map(|next| next.start());
        let until = next.unwrap_or_else(|| slice.range().end);
        StepMark {
            number: None,
            label: slice.name().to_owned(),
            range: TimeRange::new(slice.start(), until),
            partial: (next.is_none() && k > 0).then_some(NO_NEXT),
        }
    };
    begins.iter().enumerate().map(mark).collect()
}
