//! How long kernels take on the chip: each execution by the clock of the device, so that dispatch does not count.

use std::slice;

use facts::prelude::*;
use hlo::ArrayShape;
use math::quantile::quantile;
use math::resample::{FEWEST, ResampledMedians};
use math::stats::{Stats, median};

/// Moments of a kernel whose times are kept, evenly spread.
const MOST_SAMPLES: usize = 4096;
/// Operands whose shapes tell two kernels apart.
const MOST_OPERANDS: usize = 8;

/// The executions of one kernel with operands of the same shapes.
#[engine::row(measured)]
pub struct KernelTiming {
    /// Name given by its author, often with the sizes of its blocks.
    #[column]
    pub kernel: String,
    /// Types and sizes of its operands; absent if they are not recorded.
    #[column(recorded)]
    pub operands: Option<String>,
    /// Executions.
    #[column("Runs")]
    pub occurrences: u64,
    /// Median time of an execution. Those of several cores at the same moment do the same work and count once, with their
    /// median: here, in the interval and in the spread.
    #[column("Median on chip")]
    pub median_ps: f64,
    /// 95 % confidence interval of the median; absent for executions at fewer than six moments.
    #[column("From")]
    pub low_ps: Option<f64>,
    /// Upper end of the interval.
    #[column("To")]
    pub high_ps: Option<f64>,
    /// The range of the middle half, of the median; absent for executions at fewer than six moments.
    #[column(derived)]
    pub spread_percent: Option<Percent>,
    /// Median time since the end of what ran before on the same core: dispatch, if nothing else waits.
    #[column("Gap before")]
    pub gap_ps: Option<f64>,
    /// How much longer than the fastest of the kernels that differ from it in numbers of their names only and have the
    /// same operands.
    #[column(derived)]
    pub over_fastest_percent: Option<Percent>,
    /// Whether that is more than chance.
    #[column(derived)]
    pub verdict: Option<String>,
    /// The time at each moment, in time order.
    #[serde(skip)]
    pub samples: Vec<f64>,
}

/// Times that are collected.
#[derive(Default)]
struct KernelExecutions {
    all: Vec<Execution>,
    gaps: Vec<f64>,
}

/// One execution.
#[derive(Clone, Copy)]
struct Execution {
    core: GroupId,
    /// When, on the timeline.
    range: TimeRange,
    /// How long, by the clock of the device.
    time_ps: f64,
}

impl KernelExecutions {
    /// The time at each moment at which it ran: the median of what overlaps on several cores.
    fn moments(mut self) -> Vec<f64> {
        self.all
            .sort_by_key(|one| (one.range.start, one.core, one.range.end));
        // Executions of a moment follow each other: where each moment begins says all.
        let mut starts: Vec<usize> = Vec::new();
        for (index, one) in self.all.iter().enumerate() {
            let is_same = starts.last().is_some_and(|&start| {
                let moment = &self.all[start..index];
                one.range.start < self.all[start].range.end
                    && moment.iter().all(|other| other.core != one.core)
            });
            if !is_same {
                starts.push(index);
            }
        }
        let every = starts.len().div_ceil(MOST_SAMPLES).max(1);
        let ends = starts.iter().skip(1).copied().chain([self.all.len()]);
        let kept = starts.iter().zip(ends).step_by(every);
        kept.filter_map(|(&start, end)| {
            let moment = &self.all[start..end];
            let times: Vec<f64> = moment.iter().map(|one| one.time_ps).collect();
            median(&times)
        })
        .collect()
    }
}

/// The timing of the kernels whose ops are in `names`; the longest first.
pub(super) fn timings(
    cx: &Context<'_>,
    names: &BTreeMap<OpId, String>,
) -> Result<Vec<KernelTiming>> {
    let mut by_kernel: BTreeMap<(&str, Option<String>), KernelExecutions> = BTreeMap::new();
    let operands: BTreeMap<OpId, Option<String>> =
        names.keys().map(|&op| (op, operands(cx, op))).collect();
    for core in cx.tensor_cores() {
        let Some(window) = cx.window(core)? else {
            continue;
        };
        // Lane by lane: what ran before at the same depth.
        let mut before: Option<TimeRange> = None;
        for call in cx.model.slices_of_kind(core, TrackKind::Ops) {
            let range = call.range();
            let last = before.replace(call.range());
            let gap = last
                .filter(|last| last.start <= range.start && last.end <= range.start)
                .map(|last| (range.start - last.end).as_ps_f64());
            let Some(name) = call.op().and_then(|op| names.get(&op)) else {
                continue;
            };
            if call.range().intersect(window.range) != Some(call.range()) {
                continue;
            }
            let shapes = call.op().and_then(|op| operands.get(&op)?.clone());
            let key = (name.as_str(), shapes);
            let executions = by_kernel.entry(key).or_default();
            executions.gaps.extend(gap);
            executions.all.push(Execution {
                core,
                range: call.range(),
                time_ps: call.measured_range().dur().as_ps_f64(),
            });
        }
    }
    let mut timings: Vec<KernelTiming> = by_kernel
        .into_iter()
        .filter_map(|((kernel, operands), executions)| timing(kernel, operands, executions))
        .collect();
    rank(&mut timings);
    let time = |one: &KernelTiming| one.median_ps * one.occurrences as f64;
    timings.sort_by(|a, b| {
        time(b)
            .total_cmp(&time(a))
            .then_with(|| (&a.kernel, &a.operands).cmp(&(&b.kernel, &b.operands)))
    });
    Ok(timings)
}

fn timing(
    kernel: &str,
    operands: Option<String>,
    executions: KernelExecutions,
) -> Option<KernelTiming> {
    let occurrences = executions.all.len() as u64;
    let gap_ps = median(&executions.gaps);
    let times = executions.moments();
    let stats = Stats::of(&times)?;
    let (low, high) = stats.median_range.unzip();
    let middle_ps = stats.median;
    let middle = quantile(&times, 0.75)? - quantile(&times, 0.25)?;
    Some(KernelTiming {
        kernel: kernel.to_owned(),
        operands,
        occurrences,
        median_ps: middle_ps,
        low_ps: low,
        high_ps: high,
        spread_percent: (middle_ps > 0.0 && times.len() >= FEWEST)
            .then(|| Percent(100.0 * middle / middle_ps)),
        gap_ps,
        over_fastest_percent: None,
        verdict: None,
        samples: times,
    })
}

/// Compares kernels that could stand for each other with the fastest of them.
fn rank(timings: &mut [KernelTiming]) {
    let groups = grouped(timings.iter().enumerate().filter_map(|(index, one)| {
        let key = (without_numbers(&one.kernel), one.operands.clone()?);
        Some((key, index))
    }));
    for mut group in groups.into_values().filter(|group| group.len() > 1) {
        group.sort_by(|&a, &b| timings[a].median_ps.total_cmp(&timings[b].median_ps));
        let Some((&first, others)) = group.split_first() else {
            continue;
        };
        let fastest_ps = timings[first].median_ps;
        timings[first].verdict = Some("fastest".to_owned());
        for &index in others {
            let over = timings[index].median_ps - fastest_ps;
            let verdict = verdict(&timings[first], &timings[index], over);
            timings[index].over_fastest_percent = Percent::ratio(over, fastest_ps);
            timings[index].verdict = Some(verdict.to_owned());
        }
    }
}

fn verdict(fastest: &KernelTiming, other: &KernelTiming, over: f64) -> &'static str {
    let sides = [fastest, other];
    if sides.iter().any(|one| one.samples.len() < FEWEST) {
        return "? too few";
    }
    let [fastest, other] = sides.map(|one| ResampledMedians::new(slice::from_ref(&one.samples)));
    let noise = |side: &ResampledMedians<'_>| side.noise().unwrap_or(0.0);
    match fastest.change_range(&other) {
        Some((low, _)) if low > 0.0 && over > noise(&fastest).max(noise(&other)) => "slower",
        _ => "~",
    }
}

/// The name of a kernel without its numbers, which are often the sizes of its blocks: `RPA-bq_#-bkvp_#` of
/// `RPA-bq_32-bkvp_64`.
pub fn without_numbers(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            other => out.push(other),
        }
    }
    out
}

/// Types and sizes of the operands of a kernel: `bf16[8,128], s8[128,512]`.
fn operands(cx: &Context<'_>, op: OpId) -> Option<String> {
    let text = |array: &ArrayShape<'_>| format!("{}{:?}", array.dtype, array.dims).replace(' ', "");
    let instruction = cx.instruction(op)?;
    let operands = instruction.operands().take(MOST_OPERANDS);
    let shapes: Vec<String> = operands
        .map(|it| it.arrays().first().map(|array| text(array)))
        .collect::<Option<_>>()?;
    (!shapes.is_empty()).then(|| shapes.join(", "))
}

#[cfg(test)]
mod tests {
    use trace_model::{GroupKind, Timestamp, TraceBuilder};

    use super::*;

    fn timed(kernel: &str, times: &[f64]) -> KernelTiming {
        timed_on(kernel, times, 1)
    }

    /// Executions of these lengths one after the other, on each core at the same time.
    fn timed_on(kernel: &str, times: &[f64], cores: usize) -> KernelTiming {
        let mut builder = TraceBuilder::new();
        let groups: Vec<GroupId> = (0..cores)
            .map(|core| builder.group(None, GroupKind::Host, &core.to_string()))
            .collect();
        let mut found = KernelExecutions::default();
        for core in groups {
            let mut now = 0;
            for &time_ps in times {
                let end = now + time_ps as i64;
                let range = TimeRange::new(Timestamp::from_ps(now), Timestamp::from_ps(end));
                now = end;
                found.all.push(Execution {
                    core,
                    range,
                    time_ps,
                });
            }
        }
        timing(kernel, Some("bf16[8,128]".to_owned()), found).unwrap()
    }

    #[test]
    fn variants_are_compared_with_the_fastest() {
        let around = |middle: f64| -> Vec<f64> {
            (0..40).map(|at| middle + f64::from(at * 7 % 5)).collect()
        };
        let mut all = [
            timed("k_128", &around(1000.0)),
            timed("k_256", &around(800.0)),
            timed("k_512", &around(800.2)),
            timed("k_64", &[900.0; 3]),
            timed("other", &around(1.0)),
        ];
        rank(&mut all);
        let said: Vec<_> = all.iter().map(|one| one.verdict.as_deref()).collect();
        let expected = [
            Some("slower"),
            Some("fastest"),
            Some("~"),
            Some("? too few"),
            None,
        ];
        assert_eq!(said, expected);
        let over = all[0].over_fastest_percent.unwrap().0;
        assert!((over - 100.0 * 200.0 / 802.0).abs() < 1e-9, "{over}");
        let (low, high) = (all[0].low_ps.unwrap(), all[0].high_ps.unwrap());
        assert!(low <= all[0].median_ps && all[0].median_ps <= high);
    }

    #[test]
    fn executions_at_the_same_moment_are_no_more_proof_than_one() {
        let times: Vec<f64> = (0..40).map(|at| 1000.0 + f64::from(at * 7 % 40)).collect();
        let (one, eight) = (timed("k", &times), timed_on("k", &times, 8));
        assert_eq!((one.occurrences, eight.occurrences), (40, 320));
        assert_eq!(
            (one.median_ps, one.low_ps, one.high_ps, one.spread_percent),
            (
                eight.median_ps,
                eight.low_ps,
                eight.high_ps,
                eight.spread_percent
            )
        );
        assert_eq!(timed_on("k", &times[..5], 8).low_ps, None);
    }

    #[test]
    fn kernels_that_differ_in_numbers_have_one_name() {
        for (name, expected) in [
            ("RPA-bq_32-bkvp_64-p_64-", "RPA-bq_#-bkvp_#-p_#-"),
            ("matmul_kernel_512_6400", "matmul_kernel_#_#"),
            ("flash_attention", "flash_attention"),
        ] {
            assert_eq!(without_numbers(name), expected);
        }
    }
}
