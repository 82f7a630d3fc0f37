//! The programs of a capture.

use facts::ARE_SUMS;
use facts::prelude::*;
use math::summed;

use super::times::ProgramTimes;
use super::{ProgramOrigin, TimedProgram};
use device_reports::Ops;

/// The programs of a capture.
#[engine::reported]
pub struct ProgramList {
    /// Those with most self time first, then the largest, then by name.
    pub rows: Vec<ProgramRow>,
}

impl ProgramList {
    /// Whether the capture holds at least one of them, or a part.
    pub fn can_be_read(&self) -> bool {
        self.rows.iter().any(|row| row.origin.is_some())
    }
}

/// One program.
#[engine::row(recorded)]
pub struct ProgramRow {
    /// Which.
    #[serde(skip)]
    pub id: ProgramId,
    /// Name with its id.
    #[column]
    pub program: String,
    /// Where it can be read; absent if the capture holds nothing of it.
    #[column("HLO", id = "known_from")]
    pub origin: Option<ProgramOrigin>,
    /// Executions over all devices in the capture; absent if none was recorded.
    #[column(measured)]
    pub runs: Option<u64>,
    /// Self time of its ops in the scope; absent if none was recorded.
    #[column(measured)]
    pub self_time_ps: Option<Picos>,
    /// That self time as a share of the self time of all ops of the scope.
    #[column("of op time", measured)]
    pub self_of_op_time_percent: Option<Percent>,
}

/// The programs of the capture of `cx`, with their times in its scope.
pub fn programs(cx: &Context<'_>) -> ProgramList {
    let (mut self_times, mut whole) = (BTreeMap::<ProgramId, Picos>::new(), Picos::ZERO);
    if let Ok(ops) = cx.report::<Ops>() {
        whole = ops.op_time_ps;
        self_times = summed(
            ops.rows
                .iter()
                .filter_map(|row| Some((cx.model.op(row.op?).program?, row.self_time_ps))),
        );
    }
    let runs = runs(cx);
    let row = |id: ProgramId| ProgramRow {
        id,
        program: cx.model.program_title(id),
        origin: origin(cx, id),
        runs: runs.get(&cx.model.program_title(id)).copied(),
        self_time_ps: self_times.get(&id).copied(),
        self_of_op_time_percent: self_times
            .get(&id)
            .and_then(|&time| Percent::of(time, whole)),
    };
    let mut rows: Vec<ProgramRow> = cx.model.program_ids().map(row).collect();
    rows.sort_by(|a, b| {
        // Of programs that did not run, the largest is the one that matters.
        let size = |row: &ProgramRow| {
            cx.model
                .program(row.id)
                .hlo
                .as_ref()
                .filter(|_| row.self_time_ps.is_none())
                .map(|blob| blob.bytes().len())
        };
        b.self_time_ps
            .cmp(&a.self_time_ps)
            .then_with(|| size(b).cmp(&size(a)))
            .then_with(|| a.program.cmp(&b.program))
    });
    ProgramList { rows }
}

/// Whether and where a program can be read; those of a capture are not read for it.
fn origin(cx: &Context<'_>, program: ProgramId) -> Option<ProgramOrigin> {
    let is_held = cx
        .model
        .program(program)
        .hlo
        .as_ref()
        .is_some_and(|blob| !blob.bytes().is_empty());
    let has_line = || {
        cx.model
            .ops()
            .iter()
            .any(|op| op.program == Some(program) && op.hlo_text.is_some())
    };
    // Programs alone are few: whether one is cut shows when it is read.
    let is_cut =
        || cx.model.has_programs_only() && cx.hlo(program).is_ok_and(|it| it.cut.is_some());
    if is_held && is_cut() {
        Some(ProgramOrigin::Cut)
    } else if is_held {
        Some(ProgramOrigin::Program)
    } else {
        has_line().then_some(ProgramOrigin::OpTexts)
    }
}

/// Executions by the name that their slices have.
fn runs(cx: &Context<'_>) -> BTreeMap<String, u64> {
    let mut runs = BTreeMap::new();
    for track in cx.model.track_ids() {
        let is_core = matches!(
            cx.model.group(cx.model.track(track).group).kind,
            GroupKind::TensorCore { .. }
        );
        if is_core && cx.model.track(track).kind == TrackKind::Modules {
            for slice in cx.model.slices_on(track) {
                *runs.entry(slice.name().to_owned()).or_insert(0) += 1;
            }
        }
    }
    runs
}

impl Tabular for ProgramList {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("programs", "Programs", &self.rows)
            .remaining()
            .note(ARE_SUMS)
            .note("of op time: self time of all ops, idle time left out");
        let table = if self.rows.is_empty() {
            table.note(super::NO_PROGRAMS)
        } else {
            table
        };
        vec![table.build()]
    }
}

impl TimedProgram {
    /// Self time of its ops; `None` if none was recorded.
    pub fn self_time_ps(&self) -> Option<Picos> {
        ProgramTimes::sum(&self.times)
    }
}
