//! Rows of framework scopes and of source lines: neighbouring ops that have the same one are merged.
//!
//! ```text
//! ops      [fusion.1][fusion.2][fusion.3][copy.4]
//! scopes   [jit(f)                      ]
//!          [layer_0           ][layer_1 ]
//! ```

use std::collections::HashMap;

use crate::prelude::*;
use analysis::facts::framework::scopes_of;
use analysis::reports::Ops;
use analysis::{AnalysisError, Context, TraceFacts as _};

use super::{DerivedData, DerivedLane, DerivedName, DerivedSlice};
use crate::palette::ColorKey;

/// Deeper scopes have no row.
const DEEPEST: usize = 16;

/// The scopes of the ops of a device: their framework names without the last part, which is the op.
pub fn scopes(cx: &Context<'_>, core: GroupId) -> Result<DerivedData, AnalysisError> {
    let mut names = NestedNames::default();
    let mut is_cut = false;
    let op = |op: OpId| cx.model.op(op).framework_name;
    let levels = |op_id: OpId| -> Vec<u32> {
        let Some(name) = op(op_id) else {
            return Vec::new();
        };
        let mut parts = scopes_of(cx.model.str(name));
        parts.pop();
        is_cut |= parts.len() > DEEPEST;
        parts.truncate(DEEPEST);
        names.levels(&parts)
    };
    let lanes = merged(cx, core, levels)?;
    let mut data = data(lanes, names.names);
    if data.is_empty() {
        return Ok(DerivedData::unknown(
            "no op of this device records the scope of the framework that it comes from",
        ));
    }
    if is_cut {
        data.note = format!("scopes below the {DEEPEST}th level have no row");
    }
    Ok(data)
}

/// The source lines of the ops of a device, as the report on ops tells them.
pub fn source_lines(cx: &Context<'_>, core: GroupId) -> Result<DerivedData, AnalysisError> {
    let ops = cx.report::<Ops>()?;
    let sources = ops.rows.iter().filter_map(|row| {
        Some((
            row.op?,
            row.source.as_deref().filter(|line| !line.is_empty())?,
        ))
    });
    let sources: HashMap<OpId, &str> = sources.collect();
    let mut names = NestedNames::default();
    let levels = |op: OpId| match sources.get(&op) {
        Some(line) => names.levels(&[line]),
        None => Vec::new(),
    };
    let lanes = merged(cx, core, levels)?;
    let mut names = names.names;
    for name in &mut names {
        // The name of the file without its folders.
        name.from = name.whole.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    }
    let data = data(lanes, names);
    if data.is_empty() {
        return Ok(DerivedData::unknown(
            "no op of this device records the source line that it comes from",
        ));
    }
    Ok(data)
}

/// Names within each other.
#[derive(Default)]
struct NestedNames<'a> {
    names: Vec<DerivedName>,
    numbers: HashMap<(Option<u32>, &'a str), u32>,
}

impl<'a> NestedNames<'a> {
    /// The numbers of parts, the outermost first. The same part of another one has another number.
    fn levels(&mut self, parts: &[&'a str]) -> Vec<u32> {
        let mut outer = None;
        parts
            .iter()
            .map(|&part| {
                let names = &mut self.names;
                let number = *self.numbers.entry((outer, part)).or_insert_with(|| {
                    let around = outer
                        .and_then(|outer: u32| names.get(outer as usize))
                        .map_or_else(String::new, |outer| format!("{}/", outer.whole));
                    names.push(DerivedName {
                        from: around.len(),
                        whole: Arc::from(around + part),
                    });
                    (names.len() - 1) as u32
                });
                outer = Some(number);
                number
            })
            .collect()
    }
}

/// A slice that may still grow.
struct OpenScope {
    name: u32,
    start: Timestamp,
    end: Timestamp,
    time: Picos,
    first: SliceId,
}

/// Merges ops of the same levels that follow each other within the execution of a program; by level.
fn merged(
    cx: &Context<'_>,
    core: GroupId,
    mut levels: impl FnMut(OpId) -> Vec<u32>,
) -> Result<Vec<Vec<OpenScope>>, AnalysisError> {
    let Some(time) = cx.core_time(core)? else {
        return Ok(Vec::new());
    };
    let model = cx.model;
    let mut runs: Vec<Timestamp> = model
        .slices_of_kind(core, TrackKind::Modules)
        .map(SliceRef::start)
        .collect();
    runs.sort_unstable();
    let mut known: Vec<Option<Arc<[u32]>>> = vec![None; model.ops().len()];
    let none: Arc<[u32]> = Arc::default();
    let mut lanes: Vec<Vec<OpenScope>> = Vec::new();
    let (mut before, mut run) = (Arc::clone(&none), 0);
    for segment in cx.watched(&time.segments) {
        let names = match model.slice(segment.slice).op() {
            Some(op) => match known.get_mut(op.index()) {
                Some(known) => Arc::clone(known.get_or_insert_with(|| levels(op).into())),
                None => Arc::clone(&none),
            },
            None => Arc::clone(&none),
        };
        if names.is_empty() && segment.class.may_have_inner_ops() {
            // A loop without a scope separates nothing: what is inside of it may go on.
            continue;
        }
        let range = on_timeline(model, segment.slice, segment.range);
        let last_run = run;
        while runs.get(run).is_some_and(|&start| start <= range.start) {
            run += 1;
        }
        let mut goes_on = run == last_run;
        for (level, &name) in names.iter().enumerate() {
            goes_on &= before.get(level) == Some(&name);
            if lanes.len() <= level {
                lanes.push(Vec::new());
            }
            let lane = &mut lanes[level];
            match lane.last_mut().filter(|_| goes_on) {
                Some(last) => {
                    last.end = last.end.max(range.end);
                    last.time += segment.range.dur();
                }
                None => lane.push(OpenScope {
                    name,
                    start: range.start,
                    end: range.end,
                    time: segment.range.dur(),
                    first: segment.slice,
                }),
            }
        }
        before = names;
    }
    cx.reports.check(cx.scope)?;
    Ok(lanes)
}

/// A part of a slice by the clock that timed it, on the timeline.
pub(super) fn on_timeline(model: &TraceModel, slice: SliceId, part: TimeRange) -> TimeRange {
    let slice = model.slice(slice);
    let (shown, measured) = (slice.range(), slice.measured_range());
    if part == measured {
        return shown;
    }
    let shown_at =
        |time: Timestamp| (shown.start + (time - measured.start)).clamp(shown.start, shown.end);
    TimeRange::new(shown_at(part.start), shown_at(part.end))
}

fn data(lanes: Vec<Vec<OpenScope>>, names: Vec<DerivedName>) -> DerivedData {
    let colors: Vec<ColorKey> = names
        .iter()
        .map(|name| ColorKey::of_name(name.short()))
        .collect();
    let slice = |open: OpenScope| DerivedSlice {
        range: TimeRange::new(open.start, open.end),
        time: open.time,
        name: open.name,
        color: colors
            .get(open.name as usize)
            .copied()
            .unwrap_or(ColorKey(0)),
        slice: Some(open.first),
    };
    let lanes = lanes.into_iter().map(|lane| {
        let slices: Vec<DerivedSlice> = lane.into_iter().map(slice).collect();
        DerivedLane::from(slices)
    });
    DerivedData {
        lanes: lanes.collect(),
        names,
        ..DerivedData::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{Options, Scope};
    use sample_traces::text_trace;
    use session::Session;

    /// `name start-end self time`, in ns, by level.
    fn found(picture: &str) -> Vec<String> {
        let session = Session::from_model(text_trace(picture), Options::default());
        let cx = session.context(Scope::WholeTrace);
        let data = scopes(&cx, cx.model.tensor_cores()[0]).unwrap();
        if data.is_empty() {
            return vec![data.note];
        }
        let text = |slice: &DerivedSlice| {
            let (start, end) = (slice.range.start.ps() / 1000, slice.range.end.ps() / 1000);
            let time = slice.time.ps() / 1000;
            let name = data.name(slice).unwrap();
            format!("{} {start}-{end} {time}", name.whole)
        };
        let lanes = data.lanes.iter().map(|lane| {
            let slices: Vec<String> = lane.slices().iter().map(text).collect();
            slices.join(", ")
        });
        lanes.collect()
    }

    #[test]
    fn neighbours_of_a_scope_are_one_slice() {
        let found = found(
            "
            ops: AB.CAD
            A = fusion.1 tf=jit(f)/a/x/add
            B = fusion.2 tf=jit(f)/a/y/add
            C = fusion.3 tf=jit(f)/b/x/add
            D = copy.1
            ",
        );
        assert_eq!(
            found,
            [
                "jit(f) 0-5 4",
                "jit(f)/a 0-2 2, jit(f)/b 3-4 1, jit(f)/a 4-5 1",
                "jit(f)/a/x 0-1 1, jit(f)/a/y 1-2 1, jit(f)/b/x 3-4 1, jit(f)/a/x 4-5 1"
            ]
        );
    }

    #[test]
    fn executions_of_a_program_are_apart_and_loops_count_once() {
        let found = found(
            "
            modules: MMMM.MMMM
            ops    : WWWW.WWWW
                   : .AA...AA.
            M = jit_f(1)
            W = while.1 [while] tf=jit(f)/while
            A = fusion.1 tf=jit(f)/while/body/add
            ",
        );
        assert_eq!(
            found,
            [
                "jit(f) 0-4 4, jit(f) 5-9 4",
                "jit(f)/while 1-3 2, jit(f)/while 6-8 2",
                "jit(f)/while/body 1-3 2, jit(f)/while/body 6-8 2"
            ]
        );
    }

    #[test]
    fn a_loop_without_a_scope_separates_nothing() {
        let found = found(
            "
            ops: WWWWWWWW
               : .AA..AA.
            W = while.1 [while]
            A = fusion.1 tf=f/body/add
            ",
        );
        assert_eq!(found, ["f 1-7 4", "f/body 1-7 4"]);
    }

    #[test]
    fn without_scopes_the_reason_is_said() {
        let found = found("ops: AB\nA = fusion.1\nB = fusion.2");
        assert!(
            found[0].contains("no op of this device records"),
            "{found:?}"
        );
    }
}
