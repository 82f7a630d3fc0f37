//! What limits the loop, in one short sentence: what to read first.

use std::sync::Arc;

use device_reports::communication::overlap::Overlap;
use device_reports::ops::op_stats::{OpRow, Ops, OpsReport};
use device_reports::steps::balance::Balance;
use engine::{Percent, Scope};
use facts::category::OpGroup;
use facts::steps::StepsReport;
use facts::sum_over::SumOver;
use facts::time_use::TimeUse;
use hardware::limits::BoundBy;
use run_reports::host::compile::Compile;
use run_reports::host::gaps::{Gaps, IdleCause};
use serde::Serialize;
use trace_model::Picos;

use super::HintFacts;

/// A cause is named for the whole if it makes up more than this part of it.
const MOST: f64 = 0.5;
/// A limit is named for all ops if it is that of this part of their time.
const NEARLY_ALL: f64 = 0.9;
/// Steps differ if their mean is this much longer than their median: then shares are of the mean step.
const VARIES: f64 = 1.05;
/// What loses less than this part of a step does not limit it.
const LIMITS: f64 = 0.1;
/// What lies outside the loop is worth a line from this share of the capture.
const WORTH_A_LINE: f64 = 0.05;

/// What limits the loop. Times are of one step on one device, means over the counted steps and their devices; where no
/// steps are known, of the window of a device.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LoopLimit {
    /// One sentence of at most 20 words, without full stop.
    pub statement: String,
    /// The use of the time.
    pub id: TimeUse,
    /// Its time.
    pub time_ps: f64,
    /// What it is a share of.
    pub of_ps: f64,
    /// That share.
    pub percent: Percent,
    /// What it is a share of, in words: `each step`, `the mean step`, `device time`.
    pub of: &'static str,
    /// What else the time goes to, this included, the longest first. They add up to `of_ps`.
    pub parts: Vec<TimePart>,
    /// What happens once, before and after the loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideLoop>,
}

/// One use of the time of a step on a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TimePart {
    /// The use.
    pub id: TimeUse,
    /// Its time.
    pub time_ps: f64,
}

/// Time of the capture outside the loop.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct OutsideLoop {
    /// The capture without the counted steps.
    pub time_ps: Picos,
    /// The capture.
    pub of_ps: Picos,
    /// Compilation on the host, of the whole capture.
    pub compile_ps: Option<Picos>,
    /// Between the first and the last op, outside the loop: mean idle time of the devices.
    pub idle_ps: Picos,
}

/// One use of the time of the loop: sums over devices and steps.
struct LoopPart {
    id: TimeUse,
    ps: f64,
    /// What could be gained at most: all of a wait, of work what is above the roofline.
    lost_ps: f64,
}

/// The loop, before the sentence.
pub(super) struct Loop<'a> {
    facts: &'a HintFacts<'a>,
    ops: Arc<OpsReport>,
    over: SumOver,
    parts: Vec<LoopPart>,
    idle_cause: Option<IdleCause>,
}

impl<'a> Loop<'a> {
    /// The counted steps; the whole scope where there are none. `None` without ops of devices.
    pub(super) fn of(facts: &'a HintFacts<'a>) -> Option<Self> {
        let ops = facts
            .in_steps::<Ops>()
            .ok()
            .filter(|ops| ops.total_time_ps > Picos::ZERO)?;
        let idle_cause = facts
            .in_steps::<Gaps>()
            .ok()
            .and_then(|gaps| gaps.most_common());
        // Time in flight without an op is communication, not idle time.
        let exposed = facts.in_steps::<Overlap>().ok().map(|overlap| {
            let cores = overlap.cores.iter();
            cores.map(|core| core.exposed_ps).sum::<Picos>().ps() as f64
        });
        let blocking = ops.group_self(OpGroup::Collective).ps() as f64;
        let in_flight = exposed.map_or(0.0, |exposed| (exposed - blocking).max(0.0));
        let mut parts: Vec<LoopPart> = ops
            .groups
            .iter()
            .map(|row| {
                let ps = row.self_time_ps.ps() as f64;
                LoopPart::new(&ops, row.group, ps)
            })
            .collect();
        let idle = TimeUse::from(OpGroup::Idle);
        let idle = if idle_cause == Some(IdleCause::Compile) {
            TimeUse::Compile
        } else {
            idle
        };
        let idle_ps = (ops.idle_ps.ps() as f64 - in_flight).max(0.0);
        parts.push(LoopPart {
            id: idle,
            ps: idle_ps,
            lost_ps: idle_ps,
        });
        match parts.iter_mut().find(|part| part.id == TimeUse::Collective) {
            Some(part) => {
                part.ps += in_flight;
                part.lost_ps = part.ps;
            }
            None => parts.push(LoopPart {
                id: TimeUse::Collective,
                ps: in_flight,
                lost_ps: in_flight,
            }),
        }
        parts.retain(|part| part.ps > 0.0);
        parts.sort_by(|a, b| {
            b.lost_ps
                .total_cmp(&a.lost_ps)
                .then_with(|| a.id.cmp(&b.id))
        });
        let over = ops.sums_over;
        Some(Self {
            facts,
            ops,
            over,
            parts,
            idle_cause,
        })
    }

    /// The part that loses most among those for which `is_answered`; the longest if none of them loses much.
    pub(super) fn limit(&self, is_answered: impl Fn(TimeUse) -> bool) -> Option<LoopLimit> {
        let least = LIMITS * self.ops.total_time_ps.ps() as f64;
        let mut lossy = self.parts.iter().filter(|part| part.lost_ps >= least);
        let answered = lossy.find(|part| is_answered(part.id));
        let longest = || self.parts.iter().max_by(|a, b| a.ps.total_cmp(&b.ps));
        let part = answered.or_else(longest)?;
        let each = |ps: f64| self.over.each(ps);
        let (time_ps, of_ps) = (each(part.ps), each(self.ops.total_time_ps.ps() as f64));
        let (percent, of) = (Percent(100.0 * time_ps / of_ps), self.denominator());
        let length = |ps: f64| Picos::from_ps(ps.round() as i64).to_string();
        let statement = format!(
            "{} {percent:.1} of {of}{}: {} of {}{}",
            self.subject(part),
            self.remark(part),
            length(time_ps),
            length(of_ps),
            if self.over.devices > 1 {
                " per device"
            } else {
                ""
            }
        );
        let mut parts: Vec<TimePart> = self
            .parts
            .iter()
            .map(|part| TimePart {
                id: part.id,
                time_ps: each(part.ps),
            })
            .collect();
        parts.sort_by(|a, b| b.time_ps.total_cmp(&a.time_ps));
        Some(LoopLimit {
            statement,
            id: part.id,
            time_ps,
            of_ps,
            percent,
            of,
            parts,
            outside: self.outside(),
        })
    }

    /// What shares are of.
    fn denominator(&self) -> &'static str {
        match self.facts.steps() {
            None => "device time",
            Some(steps) if vary(&steps) => "the mean step",
            Some(_) => "each step",
        }
    }

    /// Subject and verb.
    fn subject(&self, part: &LoopPart) -> String {
        match part.id {
            TimeUse::MatMul => "Matrix products take",
            TimeUse::Vector => "Element-wise work and reductions take",
            TimeUse::DataMovement => "Copies and layout changes take",
            TimeUse::CustomKernel => "Custom kernels take",
            TimeUse::SparseCore => "SparseCore work takes",
            TimeUse::Control => "Loop overhead takes",
            TimeUse::HostIo => "Infeed, outfeed and host transfers take",
            TimeUse::AsyncWait if self.waits_for_host() => "The loop waits for host memory",
            TimeUse::AsyncWait => "The loop waits for copies",
            TimeUse::Collective => return self.communication(),
            TimeUse::Compile => "The loop waits for compilation",
            TimeUse::Idle => match self.idle_cause {
                Some(IdleCause::Input) => "The loop waits for input",
                Some(IdleCause::HostToDevice) => "The loop waits for transfers to the device",
                Some(IdleCause::DeviceToHost) => "The loop waits while the host reads results",
                Some(IdleCause::Dispatch) => "The loop waits for programs to be launched",
                _ if self.over.devices == 1 => "The device is idle",
                _ => "The devices are idle",
            },
            TimeUse::Other | TimeUse::Input | TimeUse::SlowSteps => "Ops of unknown category take",
        }
        .to_owned()
    }

    fn communication(&self) -> String {
        let last = || {
            let balance = self.facts.in_steps::<Balance>().ok()?;
            let part = self
                .parts
                .iter()
                .find(|part| part.id == TimeUse::Collective)?;
            (balance.skew_wait_ps()? > MOST * part.ps).then_some(())?;
            let (device, share) = balance.awaited()?;
            let name = device.core.strip_prefix("/device:").unwrap_or(&device.core);
            Some(if share.0 > 100.0 * MOST {
                name.to_owned()
            } else {
                "the last device".to_owned()
            })
        };
        match last() {
            Some(device) => format!("Communication, most of it waiting for {device}, takes"),
            None => "Exposed communication takes".to_owned(),
        }
    }

    /// How close work comes to the limits of the chip.
    fn remark(&self, part: &LoopPart) -> String {
        let Some((efficiency, bound_by)) = efficiency(&self.ops, part.id) else {
            return String::new();
        };
        let of = match bound_by {
            Some(BoundBy::Compute) => "peak FLOP/s",
            Some(BoundBy::Hbm) => "peak HBM bandwidth",
            _ => "their roofline",
        };
        format!(" at {:.1} of {of}", Percent(100.0 * efficiency))
    }

    fn waits_for_host(&self) -> bool {
        let waits = || {
            self.ops
                .rows
                .iter()
                .filter(|row| row.group == OpGroup::AsyncWait)
        };
        let time = |host: bool| {
            let rows = waits().filter(|row| !host || row.waits_for_host);
            rows.map(|row| row.self_time_ps).sum::<Picos>().ps() as f64
        };
        time(true) > MOST * time(false)
    }

    /// What happens once; nothing without steps, or where it is short.
    fn outside(&self) -> Option<OutsideLoop> {
        let steps = self.over.steps?;
        let facts = self.facts;
        let is_whole = facts.cx.scope == Scope::WholeTrace;
        let capture = is_whole.then(|| facts.cx.model.extent().dur())?;
        let in_loop = self.over.each(self.ops.total_time_ps.ps() as f64) * steps as f64;
        let time_ps = capture - Picos::from_ps(in_loop.round() as i64);
        let whole = facts.ops().ok()?;
        let devices = self.over.devices.max(1) as f64;
        let idle = (whole.idle_ps.ps() as f64 - self.ops.idle_ps.ps() as f64) / devices;
        let compile_ps = facts
            .report::<Compile>()
            .ok()
            .and_then(|report| report.wall_ps);
        (time_ps.ps() as f64 >= WORTH_A_LINE * capture.ps() as f64).then_some(OutsideLoop {
            time_ps,
            of_ps: capture,
            compile_ps: compile_ps.filter(|&time| time > Picos::ZERO),
            idle_ps: Picos::from_ps(idle.max(0.0).round() as i64),
        })
    }
}

/// Whether the mean step is much longer than the median one, so that a time `a step` says which is meant.
pub(super) fn vary(steps: &StepsReport) -> bool {
    steps
        .time
        .is_some_and(|time| time.mean > VARIES * time.median)
}

impl LoopPart {
    fn new(ops: &OpsReport, group: OpGroup, ps: f64) -> Self {
        let id = TimeUse::from(group);
        let lost_ps = match efficiency(ops, id) {
            Some((part, _)) => ps * (1.0 - part),
            None if id.is_work() => 0.0,
            None => ps,
        };
        Self { id, ps, lost_ps }
    }
}

/// The least time that the limits of the chip allow ÷ the time taken, where it is known for most of the ops, and the limit
/// if it is the same for nearly all of that time.
fn efficiency(ops: &OpsReport, id: TimeUse) -> Option<(f64, Option<BoundBy>)> {
    let is_part = |row: &&OpRow| TimeUse::from(row.group) == id && id.is_work();
    let known = |row: &&OpRow| row.rates.ideal_time_ps.is_some() && row.rates.beyond_peak.is_none();
    let rows: Vec<&OpRow> = ops.rows.iter().filter(is_part).collect();
    let time_of = |wanted: &dyn Fn(&&OpRow) -> bool| {
        let rows = rows.iter().copied().filter(wanted);
        rows.map(|row| row.total_time_ps).sum::<Picos>().ps() as f64
    };
    let time = time_of(&known);
    let known_rows = || rows.iter().copied().filter(known);
    let ideal: f64 = known_rows().filter_map(|row| row.rates.ideal_time_ps).sum();
    let limit = known_rows()
        .max_by_key(|row| row.total_time_ps)?
        .rates
        .bound_by;
    let of_limit = time_of(&|row| known(row) && row.rates.bound_by == limit);
    (time > MOST * time_of(&|_| true)).then(|| {
        let limit = limit.filter(|_| of_limit >= NEARLY_ALL * time);
        ((ideal / time).min(1.0), limit)
    })
}
