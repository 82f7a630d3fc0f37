//! Rows of the report on ops, apart from [`OpRow`](super::OpRow).

use facts::prelude::*;
use hardware::limits::OpWork;
use hardware::peaks::{DIFFERENT_PEAKS, NO_PEAK};

use super::row::OpRow;

/// Every op, and the sums.
#[engine::reported]
pub struct OpsReport {
    /// By self time, the largest first; ties by name, then program. Idle time is
    /// not among them.
    pub rows: Vec<OpRow>,
    /// The time of each group, the largest first; groups without time are left out.
    pub groups: Vec<GroupRow>,
    /// Each core by itself, in the order of the trace.
    pub cores: Vec<CoreOps>,
    /// Sum of the windows of all cores, each at least as long as its ops: the denominator of `…_of_total_percent`.
    pub total_time_ps: Picos,
    /// Self time of all ops of all cores: the denominator of `…_of_op_time_percent`.
    pub op_time_ps: Picos,
    /// The rest of the windows.
    pub idle_ps: Picos,
    /// Peaks of the first core, which rows refer to.
    pub peaks: Peaks,
    /// Whether HBM traffic is inferred from shapes, because the format lost it.
    pub hbm_is_estimated: bool,
    /// What the times and costs of rows and groups are sums over.
    pub sums_over: SumOver,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Totals over the steady steps; of the whole trace only, and if any device recorded ops in them.
    #[serde(skip)]
    pub steady: Option<Arc<SteadyOps>>,
}

/// Totals over the longest run of steady steps ([`facts::steps::StepsReport::steady`]).
#[derive(Debug, PartialEq)]
pub struct SteadyOps {
    /// Number of its first step.
    pub first: u32,
    /// Number of its last step.
    pub last: u32,
    /// How many steps it has.
    pub steps: u32,
    /// The cores, without duty.
    pub cores: Vec<CoreOps>,
}

/// One group of ops.
#[engine::row(measured)]
pub struct GroupRow {
    /// The group.
    #[column]
    pub group: OpGroup,
    /// Distinct ops.
    #[column]
    pub ops: u64,
    /// Executions.
    #[column("Executions")]
    pub occurrences: u64,
    /// Self time.
    #[column("Self time (sum)")]
    pub self_time_ps: Picos,
    /// Share of all self time.
    #[column("of op time")]
    pub self_of_op_time_percent: Option<Percent>,
    /// Share of the windows of all cores.
    #[column("of window")]
    pub self_of_total_percent: Option<Percent>,
}

/// Totals of the ops of one core. Work is that of leaf ops only (spec D.5.1), so that nothing inside a loop counts
/// twice.
#[engine::row(measured)]
pub struct CoreOps {
    /// The core.
    #[serde(skip)]
    pub core: GroupId,
    /// Its name (`/device:TPU:0`), see [`trace_model::TraceColumns::device_name`].
    #[column(id = "device")]
    pub name: String,
    /// The `N` in that name.
    pub ordinal: u32,
    /// Chip on its host, if recorded.
    pub chip: Option<i64>,
    /// The window; extended to the ops if they reach beyond it.
    #[column("Window")]
    pub total_time_ps: Picos,
    /// Self time of all ops.
    #[column]
    pub op_time_ps: Picos,
    /// The rest of the window.
    #[column]
    pub idle_ps: Picos,
    /// Union of leaf ops that keep the core on duty.
    #[column]
    pub busy_ps: Picos,
    /// Union of all ops that keep it on duty, containers too, on the shared timeline (as `XProf`).
    pub on_duty_ps: Picos,
    /// Work of the leaf ops.
    pub work: OpWork,
    /// Operations of the algorithm.
    pub model_flops: Option<f64>,
    /// Operations of the algorithm, with narrow types converted to the bf16 operations that take as long.
    pub model_flops_as_bf16: Option<f64>,
    /// Bytes to and from all memories.
    pub bytes: Option<f64>,
    /// Time × ratio of the actual clock to the default one, of ops that record it.
    pub scaled_time_ps: Option<f64>,
    /// Total time of these ops.
    pub scale_recorded_ps: Picos,
    /// Self time of matrix ops: the group [`OpGroup::MatMul`], and custom calls that declare operations.
    pub mxu_time_ps: Picos,
    /// Time of those whose operations `mxu_flops` counts, and of those of unknown operations.
    pub mxu_rated_ps: Picos,
    /// Their operations; those of the algorithm if only these are known.
    pub mxu_flops: Option<f64>,
    /// Those of the group [`OpGroup::MatMul`].
    #[serde(skip)]
    pub matmuls: MatrixWork,
    /// The custom calls among them.
    #[serde(skip)]
    pub matrix_kernels: MatrixWork,
    /// Ops whose rates are impossible: their work at these limits is in no sum here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beyond_peak: Vec<BeyondPeak>,
    /// Self time of matrix products and custom calls without recorded operations.
    pub undeclared_ps: Picos,
    /// Self time of leaf ops whose HBM traffic is unknown, without halves of asynchronous ops.
    pub unknown_traffic_ps: Picos,
    /// Self time by group, of all groups.
    pub group_self_ps: BTreeMap<OpGroup, Picos>,
    /// Self time of ops that only wait: `-done` halves, of collectives too.
    #[column("Waiting")]
    pub wait_ps: Picos,
    /// The peaks that its numbers refer to.
    pub peaks: Peaks,
}

/// Work of one core over a window.
pub(crate) struct CoreWork {
    /// Work of the leaf ops.
    pub work: OpWork,
    /// Bytes to and from all memories.
    pub bytes: Option<f64>,
    /// The window.
    pub time_ps: Picos,
    pub peaks: Peaks,
}

/// Time and operations of some of the matrix ops of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MatrixWork {
    /// Total time of all of them.
    pub time_ps: Picos,
    /// Total time of those whose operations are known, and possible in their time.
    pub rated_ps: Picos,
    /// The operations of these.
    pub flops: f64,
}

impl CoreOps {
    /// The work of the core. If operations at the bf16 rate are unknown, those of the algorithm are used, as in rows.
    pub(crate) fn core_work(&self) -> CoreWork {
        CoreWork {
            work: OpWork {
                flops: self.work.flops.or(self.model_flops_as_bf16),
                ..self.work
            },
            bytes: self.bytes,
            time_ps: self.total_time_ps,
            peaks: self.peaks.clone(),
        }
    }

    /// Self time of one group.
    pub fn group_self(&self, group: OpGroup) -> Picos {
        self.group_self_ps.get(&group).copied().unwrap_or_default()
    }
}

impl OpsReport {
    /// Why rows have no share of a peak; `None` if they have one.
    pub fn why_no_peaks(&self) -> Option<&'static str> {
        let differ = self
            .cores
            .iter()
            .any(|core| core.peaks.flops.is_some() || core.peaks.hbm.is_some());
        let is_missing = self.peaks.flops.is_none() && self.peaks.hbm.is_none();
        is_missing.then_some(if differ { DIFFERENT_PEAKS } else { NO_PEAK })
    }

    /// Self time of one group on all cores.
    pub fn group_self(&self, group: OpGroup) -> Picos {
        self.cores.iter().map(|core| core.group_self(group)).sum()
    }
}

/// Ops of one core that exceed a limit.
#[engine::reported]
#[derive(Copy)]
pub struct BeyondPeak {
    /// The limit.
    pub limit: BoundBy,
    /// Number of ops.
    pub ops: u64,
    /// Their self time.
    pub self_time_ps: Picos,
}

impl BeyondPeak {
    /// Adds an op to the list of a core.
    pub(super) fn add(list: &mut Vec<Self>, limit: BoundBy, self_time_ps: Picos) {
        match list.iter_mut().find(|listed| listed.limit == limit) {
            Some(listed) => {
                listed.ops += 1;
                listed.self_time_ps += self_time_ps;
            }
            None => list.push(Self {
                limit,
                ops: 1,
                self_time_ps,
            }),
        }
    }

    /// Self time of ops that exceed `limit`, over these cores.
    pub fn time_of(cores: &[&CoreOps], limit: BoundBy) -> Picos {
        let all = cores
            .iter()
            .flat_map(|core| &core.beyond_peak)
            .filter(|beyond| beyond.limit == limit);
        all.map(|beyond| beyond.self_time_ps).sum()
    }
}
