//! Finds what limits the loop: the part of its steps about which a hint saves most.

use device_reports::communication::sparse_cores::SparseCores;
use device_reports::ops::kernels::CostLimit;
use device_reports::{Balance, Kernels, OpRow, OpsReport, Steps};
use facts::prelude::*;
use trace_model::{Caveat, short_device_name};

use super::outside::outside;
use super::parts;
use crate::hints::CountedDevices;
use crate::hints::facts::HintFacts;
use crate::hints::limit::{LoopLimit, TimePart};

/// Words of the sentence.
const MOST_WORDS: usize = 20;
/// A cause is named for the whole if it makes up more than this part of it.
const MOST: f64 = 0.5;
/// A limit is named for all ops if it is that of this part of their time.
const NEARLY_ALL: f64 = 0.9;
/// Steps differ if their mean is this much longer than their median: then shares are of the mean step.
const VARIES: f64 = 1.05;
/// What loses less than this part of a step does not limit it.
const LIMITS: f64 = 0.1;

/// A step on a device, mean over the counted steps and their devices; without steps, the window of a device.
pub(super) struct Loop<'a> {
    facts: &'a HintFacts<'a>,
    ops: &'a OpsReport,
    /// Those whose time it is.
    devices: CountedDevices,
    /// The longest first.
    parts: Vec<TimePart>,
}

impl<'a> Loop<'a> {
    /// The counted steps; the whole scope where there are none. `None` without ops of devices.
    pub(super) fn of(facts: &'a HintFacts<'a>) -> Result<Option<Self>> {
        let Ok(ops) = facts.ops() else {
            return Ok(None);
        };
        let devices = CountedDevices::all(ops);
        let all = Self {
            facts,
            ops,
            parts: parts::of_devices(facts, &devices)?,
            devices,
        };
        Ok((!all.parts.is_empty()).then_some(all))
    }

    /// The part of the devices that take part in the whole run; `None` where all do.
    fn of_busy(&self) -> Option<Self> {
        let devices = self
            .facts
            .devices()
            .ok()
            .filter(|devices| devices.are_busy)?;
        let parts = parts::of_devices(self.facts, devices).ok()?;
        (!parts.is_empty()).then(|| Self {
            devices: devices.clone(),
            parts,
            ..*self
        })
    }

    /// What limits the loop. That of the devices that take part in the whole run, unless the others' idle time is it: hints
    /// save time of those.
    pub(super) fn limit(self, saving: impl Fn(TimeUse) -> Option<Picos>) -> Option<LoopLimit> {
        let busy = self.of_busy();
        let limit = self.limit_of_devices(&saving)?;
        let is_idle = |part: &TimePart| part.id == limit.id && part.idle_ps() > MOST * part.time_ps;
        let of_busy = busy.filter(|_| !limit.parts.iter().any(is_idle));
        of_busy
            .and_then(|busy| busy.limit_of_devices(&saving))
            .or(Some(limit))
    }

    /// Whether a step spends at least this share on a use of time; on any of its causes where it is idle time.
    pub(super) fn has(&self, id: TimeUse, least: Percent) -> bool {
        let part_ps: f64 = self
            .parts
            .iter()
            .map(|part| match id {
                _ if part.id == id => part.time_ps,
                // The verdict counts infeed ops so.
                TimeUse::HostIo => part.in_ops_ps,
                _ if id.is_idle() => part.idle_ps(),
                _ => 0.0,
            })
            .sum();
        Percent::ratio(part_ps, self.whole_ps()).is_some_and(|share| share >= least)
    }

    /// The part about which a hint saves most; where savings are not known, the one that loses most. `saving`: what the
    /// hints about a use save at most, 0 if unknown; `None` without a hint. The longest part if no hint is about one that
    /// loses much.
    fn limit_of_devices(mut self, saving: &impl Fn(TimeUse) -> Option<Picos>) -> Option<LoopLimit> {
        let of_ps = self.whole_ps();
        // A cause has the name that a hint gives it.
        parts::divide_idle(&mut self.parts, self.facts, &self.devices, |part| {
            part.time_ps >= LIMITS * of_ps || saving(part.id).is_some()
        });
        largest_number_first(&mut self.parts, |part| part.time_ps, |part| &part.id);
        let lossy = self.parts.iter().filter_map(|part| {
            let lost = part.time_ps * self.lost(part.id);
            let saving = saving(part.id).filter(|_| lost >= LIMITS * of_ps)?;
            Some((part, saving, lost))
        });
        let most = lossy.max_by(|(_, one, lost), (_, other, other_lost)| {
            one.cmp(other).then_with(|| lost.total_cmp(other_lost))
        });
        let part = most.map(|(part, ..)| part).or(self.parts.first())?;
        // What work may save is nothing to begin with while most of the time is in kernels that nobody knows anything of.
        let kernels = self
            .parts
            .iter()
            .find(|part| part.time_ps > MOST * of_ps && self.is_unknown_kernel(part.id));
        let part = kernels.filter(|_| part.id.is_work()).unwrap_or(part);
        let percent = Percent(100.0 * part.time_ps / of_ps);
        let of = self.denominator();
        let subject = self.subject(part);
        let mut limit = LoopLimit {
            statement: String::new(),
            share: format!("{subject} {percent:.1} of {of}"),
            is_of_loop: !self.runs_once(),
            devices: self.devices.count(),
            are_busy: self.devices.are_busy,
            id: part.id,
            time_ps: part.time_ps,
            of_ps,
            percent,
            // A cause is what the host did meanwhile.
            provenance: if part.id != TimeUse::Idle && part.idle_ps() > 0.0 {
                Provenance::Inferred
            } else {
                Provenance::Measured.in_trace(self.facts.cx.model)
            },
            of,
            parts: self.parts.clone(),
            outside: outside(self.facts, &self.devices),
        };
        let sentence = |limit: &LoopLimit| limit.sentence(|time| time.to_string());
        let words = sentence(&limit).split_whitespace().count();
        if let Some((remark, provenance)) = self.remark(part.id)
            && words + remark.split_whitespace().count() <= MOST_WORDS
        {
            limit.share += &remark;
            limit.provenance = provenance;
        }
        limit.statement = sentence(&limit);
        Some(limit)
    }

    /// The time of all parts.
    fn whole_ps(&self) -> f64 {
        self.parts.iter().map(|part| part.time_ps).sum()
    }

    /// The time that is lost: all of a wait, and of work what is above its roofline, as far as that is known.
    fn lost(&self, id: TimeUse) -> f64 {
        match Efficiency::of(self.ops, id) {
            Some(efficiency) => efficiency.lost(),
            None if id.is_work() => 0.0,
            None => 1.0,
        }
    }

    /// Whether these are custom kernels for most of whose time nobody knows what they do: the compiler cannot see into them.
    fn is_unknown_kernel(&self, id: TimeUse) -> bool {
        let known = || Efficiency::of(self.ops, id).map_or(0.0, |of| of.known_ps / of.all_ps);
        id == TimeUse::CustomKernel && known() < MOST
    }

    /// The part of the time of custom kernels in those whose costs follow exactly from the shapes of their operands.
    fn known_by_shapes(&self) -> f64 {
        let Ok(kernels) = self.facts.report::<Kernels>() else {
            return 0.0;
        };
        let exact = kernels
            .costs
            .iter()
            .filter(|cost| {
                cost.limit == CostLimit::Exact && cost.flops_percent.or(cost.hbm_percent).is_some()
            })
            .map(|cost| cost.mean_time_ps * cost.occurrences as f64);
        (exact.sum::<f64>() / kernels.time_ps.as_ps_f64().max(1.0)).min(1.0)
    }

    /// What shares are of.
    fn denominator(&self) -> &'static str {
        match self.facts.steps() {
            None => "device time",
            Some(steps) if vary(&steps) => "the mean step",
            Some(steps) if steps.steps.len() == 1 => "the step",
            Some(_) => "each step",
        }
    }

    /// Whether the program ran once in the whole trace: that is no loop.
    fn runs_once(&self) -> bool {
        let all = self.facts.cx.whole();
        let steps = all.report::<Steps>();
        steps.is_ok_and(|steps| steps.has_steps() && steps.steps.len() == 1)
    }

    /// Subject and verb.
    fn subject(&self, part: &TimePart) -> String {
        let subject = self.subject_in_loop(part);
        if self.runs_once() {
            return subject.replacen("The loop", "The program", 1);
        }
        subject
    }

    fn subject_in_loop(&self, part: &TimePart) -> String {
        match part.id {
            TimeUse::MatMul => "Matrix products take",
            TimeUse::Vector => "Element-wise work takes",
            TimeUse::DataMovement => "Copies and layout changes take",
            id if self.is_unknown_kernel(id) && self.known_by_shapes() <= 0.0 => {
                "Custom kernels of unknown efficiency take"
            }
            TimeUse::CustomKernel => "Custom kernels take",
            TimeUse::SparseCore => "SparseCore work takes",
            _ if self.is_loops_apart(part.id) => "Loops, whose bodies appear as separate ops, take",
            TimeUse::Control => "Loop overhead takes",
            TimeUse::HostIo => "Outfeed and host transfers take",
            TimeUse::AsyncWait if self.waits_for_host() => "The loop waits for host memory",
            TimeUse::AsyncWait if self.waits_for_sparse_cores() => "The loop waits for SparseCores",
            TimeUse::AsyncWait => "The loop waits for copies",
            TimeUse::Collective => return self.communication(part),
            TimeUse::Compile => "The loop waits for compilation",
            TimeUse::Input => "The loop waits for input",
            TimeUse::Upload => "The loop waits for transfers to the device",
            TimeUse::Results => "The loop stalls while the host waits for results",
            TimeUse::Launch => "The loop waits for programs to be launched",
            TimeUse::Idle if self.devices.count() == 1 => "The device is idle",
            TimeUse::Idle => return self.idle(part),
            TimeUse::Other | TimeUse::SlowSteps => "Loops and other ops take",
        }
        .to_owned()
    }

    fn is_loops_apart(&self, id: TimeUse) -> bool {
        let is_loop = matches!(id, TimeUse::Control | TimeUse::Other);
        is_loop && self.facts.cx.model.has_caveat(Caveat::LoopsApart)
    }

    /// The devices, and those that run nothing, or only a part of the run, while others work where most of the idle time
    /// is theirs.
    fn idle(&self, part: &TimePart) -> String {
        let absent = || {
            let balance = self.facts.report::<Balance>().ok()?;
            let absent: Vec<_> = balance
                .devices
                .iter()
                .filter(|device| device.absence.is_some())
                .collect();
            let waited = absent
                .iter()
                .map(|device| match device.busy_percent {
                    Some(busy) if !device.is_unused => 1.0 - busy.0 / 100.0,
                    _ => 1.0,
                })
                .sum::<f64>()
                * self.whole_ps();
            let all = part.time_ps * self.devices.count() as f64;
            let names = match &absent[..] {
                _ if waited <= MOST * all => return None,
                [] => return None,
                [only] => short_device_name(&only.core).to_owned(),
                several => format!("{} of them", several.len()),
            };
            let all_do = |what: &str| {
                let mut kinds = absent.iter().filter_map(|device| device.absence.as_deref());
                kinds.all(|kind| kind.starts_with(what))
            };
            Some(if all_do("joins") {
                format!("{names} (joined late)")
            } else if all_do("stops") {
                format!("{names} (stopped early)")
            } else {
                names
            })
        };
        match absent() {
            Some(devices) => format!("The devices, mostly {devices}, are idle"),
            None => "The devices are idle".to_owned(),
        }
    }

    fn communication(&self, part: &TimePart) -> String {
        let last = || {
            let balance = self.facts.in_steps::<Balance>().ok()?;
            let steps = self.facts.step().ok()?.count;
            let each = balance.skew_wait_ps()? / (self.devices.count() * steps).max(1) as f64;
            (each > MOST * part.time_ps).then_some(())?;
            let late = balance.late().filter(|late| late.share.0 > 100.0 * MOST);
            Some(match late.as_ref().map(|late| (late, &late.devices[..])) {
                Some((_, [only])) => short_device_name(&only.core).to_owned(),
                Some((late, _)) => late.count(),
                None => "the last device".to_owned(),
            })
        };
        match last() {
            Some(device) => format!("The loop waits for communication, mostly for {device},"),
            None => "The loop waits for communication".to_owned(),
        }
    }

    /// How close work comes to the limits of the chip, and how well these are known.
    fn remark(&self, id: TimeUse) -> Option<(String, Provenance)> {
        if self.is_unknown_kernel(id) {
            let part = self.parts.iter().find(|part| part.id == id)?;
            let known = self.known_by_shapes();
            let unknown = Percent::ratio(part.time_ps * (1.0 - known), self.whole_ps())?;
            return (known > 0.0 && known < NEARLY_ALL).then(|| {
                let remark = format!(" ({unknown:.1} of unknown efficiency)");
                (remark, Provenance::Inferred)
            });
        }
        let efficiency = Efficiency::of(self.ops, id)?;
        let reached = efficiency.reached()?;
        let is_least = self.facts.cx.model.has_caveat(Caveat::LeastBytes)
            && efficiency.bound_by != Some(BoundBy::Compute);
        let least = if is_least { "at least " } else { "" };
        let peaks = &self.ops.peaks;
        let (of, peak) = match efficiency.bound_by {
            Some(BoundBy::Compute) => ("peak FLOP/s", peaks.flops),
            Some(BoundBy::Hbm) => ("peak HBM bandwidth", peaks.hbm),
            _ => ("their roofline", peaks.flops.or(peaks.hbm)),
        };
        let provenance =
            if self.ops.hbm_is_estimated && efficiency.bound_by != Some(BoundBy::Compute) {
                Provenance::Inferred
            } else {
                Provenance::of_peak(peak)
            };
        Some((format!(" at {least}{reached:.1} of {of}"), provenance))
    }

    fn waits_for_host(&self) -> bool {
        self.waits_mostly(|row| row.waits_for_host == Some(true))
    }

    fn waits_for_sparse_cores(&self) -> bool {
        let Ok(report) = self.facts.report::<SparseCores>() else {
            return false;
        };
        self.waits_mostly(|row| row.op.is_some_and(|op| report.awaits(op)))
    }

    /// Whether most of the time in ops that wait for others is in these.
    fn waits_mostly(&self, is_one: impl Fn(&OpRow) -> bool) -> bool {
        let time = |is_counted: &dyn Fn(&OpRow) -> bool| -> Picos {
            let waits = self.ops.rows.iter();
            let waits = waits.filter(|row| row.group == OpGroup::AsyncWait && is_counted(row));
            waits.map(|row| row.self_time_ps).sum()
        };
        time(&is_one).as_ps_f64() > MOST * time(&|_| true).as_ps_f64()
    }
}

/// Whether the mean step, or with it the time up to the next one, is much longer than the median, so that a time `a step`
/// says which is meant.
pub(super) fn vary(steps: &StepsReport) -> bool {
    let mut times = [steps.time, steps.interval].into_iter().flatten();
    times.any(|time| time.mean > VARIES * time.median)
}

/// How close ops of a kind come to the limits of the chip; times are sums over all executions.
struct Efficiency {
    /// The least time that the limits allow.
    ideal_ps: f64,
    /// The time that they took, of the ops for which that is known.
    known_ps: f64,
    /// The time of all.
    all_ps: f64,
    /// The limit, if it is the same for nearly all of the known time.
    bound_by: Option<BoundBy>,
}

impl Efficiency {
    /// `None` for waits, and where it is not known for any op.
    fn of(ops: &OpsReport, id: TimeUse) -> Option<Self> {
        let is_part = |row: &&OpRow| TimeUse::from(row.group) == id && id.is_work();
        let is_known =
            |row: &&OpRow| row.rates.ideal_time_ps.is_some() && row.rates.beyond_peak.is_none();
        let mut ideal_ps = 0.0;
        let mut known_ps = 0.0;
        let mut all_ps = 0.0;
        for row in ops.rows.iter().filter(is_part) {
            let time = row.total_time_ps.as_ps_f64();
            all_ps += time;
            if let Some(ideal) = row.rates.ideal_time_ps.filter(|_| is_known(&row)) {
                (ideal_ps, known_ps) = (ideal_ps + ideal, known_ps + time);
            }
        }
        let known = || ops.rows.iter().filter(is_part).filter(is_known);
        let longest = known().max_by_key(|row| row.total_time_ps)?.rates.bound_by;
        let of_longest: Picos = known()
            .filter(|row| row.rates.bound_by == longest)
            .map(|row| row.total_time_ps)
            .sum();
        let is_same = of_longest.as_ps_f64() >= NEARLY_ALL * known_ps;
        (known_ps > 0.0).then_some(Self {
            ideal_ps,
            known_ps,
            all_ps,
            bound_by: longest.filter(|_| is_same),
        })
    }

    /// The part of the time above the roofline, as far as it is known.
    fn lost(&self) -> f64 {
        (self.known_ps - self.ideal_ps).max(0.0) / self.all_ps
    }

    /// What nearly all of the time reaches of the limits; `None` if much of it is not known.
    fn reached(&self) -> Option<Percent> {
        let is_of_all = self.known_ps >= NEARLY_ALL * self.all_ps;
        is_of_all.then(|| Percent(100.0 * (self.ideal_ps / self.known_ps).min(1.0)))
    }
}
