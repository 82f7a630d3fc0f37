//! The duty cycle as `XProf` defines it.
//!
//! Cores of a chip count together: the chip is busy while an op of any of its `TensorCores` or `SparseCores` runs,
//! except infeed and other off-duty ops; the denominator is the hull of all their ops and programs. Loops count from
//! start to end, including waits inside. Everything is on the timeline, as in `XProf`.

use device_reports::CoreOps;
use facts::prelude::*;
use facts::window::{hull_of_window, slices_of_window};
use math::intervals::UnionBuilder;
use trace_model::{SliceSpans, SourceId};

/// A chip, by its number in one capture, or the only core of an unnumbered chip.
type ChipKey = (SourceId, Result<i64, GroupId>);

/// What one `TensorCore` and its `SparseCores` contribute to their chip.
pub(super) struct CoreDuty {
    chip: ChipKey,
    busy: BusyTime,
    hull: Option<TimeRange>,
}

/// When a core was busy.
enum BusyTime {
    /// Only how long: its chip has no other core.
    Total(Picos),
    /// The times, for a union with those of other cores.
    Times(IntervalSet),
}

impl BusyTime {
    fn total(&self) -> Picos {
        match self {
            Self::Total(total) => *total,
            Self::Times(times) => times.measure(),
        }
    }

    fn times(&self) -> Option<&IntervalSet> {
        match self {
            Self::Total(_) => None,
            Self::Times(times) => Some(times),
        }
    }
}

/// The duty cycle of the chips that `cores` belong to.
pub(super) fn xprof_duty_cycle(cores: &[CoreDuty]) -> Metric {
    let chips = grouped(cores.iter().map(|core| (core.chip, core)));
    let mut busy = Picos::ZERO;
    let mut span = Picos::ZERO;
    for cores in chips.values() {
        busy += if let [core] = cores[..] {
            core.busy.total()
        } else {
            let times = cores.iter().filter_map(|core| core.busy.times());
            times
                .fold(IntervalSet::new(), |all, times| all.union(times))
                .measure()
        };
        let hull = cores
            .iter()
            .filter_map(|core| core.hull)
            .reduce(TimeRange::hull);
        span += hull.map_or(Picos::ZERO, TimeRange::dur);
    }
    Metric {
        id: "duty_cycle_xprof_percent",
        title: "Duty cycle as XProf defines it",
        value: Percent::of(busy, span).map(|share| share.0),
        is_lower_bound: false,
        unit: Unit::Percent,
        of: format!(
            "first op or program to the end of the last, {}",
            counted(chips.len(), "chip")
        ),
        provenance: Provenance::Measured,
        note: Some("loops count as busy from start to end, including waits inside".to_owned()),
    }
}

impl CoreDuty {
    /// The duty of each core.
    pub fn of_all(cx: &Context<'_>, cores: &[CoreOps]) -> Result<Vec<Self>> {
        let chips: Vec<ChipKey> = cores
            .iter()
            .map(|core| chip_of(cx.model, core.core))
            .collect();
        let of_core = |(core, &chip): (&CoreOps, &ChipKey)| {
            let is_alone = chips.iter().filter(|&&other| other == chip).count() == 1;
            Self::of(
                cx,
                core,
                chip,
                is_alone && sparse_cores(cx.model, core.core).next().is_none(),
            )
        };
        cores.iter().zip(&chips).map(of_core).collect()
    }

    fn of(cx: &Context<'_>, ops: &CoreOps, chip: ChipKey, is_alone: bool) -> Result<Self> {
        let model = cx.model;
        let core = ops.core;
        let classes = cx.classes();
        let mut busy = UnionBuilder::default();
        let mut hull = None::<TimeRange>;
        for group in std::iter::once(core).chain(sparse_cores(model, core)) {
            let is_sparse = group != core;
            let Some(window) = cx.window(group)? else {
                continue;
            };
            for track in model.tracks_of(group) {
                let kind = model.track(track).kind;
                let counts = kind == TrackKind::Ops || (kind == TrackKind::Modules && !is_sparse);
                if !counts {
                    continue;
                }
                hull = [hull, hull_of_window(cx, track, window)]
                    .into_iter()
                    .flatten()
                    .reduce(TimeRange::hull);
                if is_alone || kind != TrackKind::Ops {
                    continue;
                }
                for SliceSpans { slice, shown, .. } in
                    cx.watched(slices_of_window(cx, track, window))
                {
                    if is_sparse || !classes.class_of(slice.op()).is_off_duty() {
                        busy.add(shown);
                    }
                }
            }
        }
        let busy = if is_alone {
            BusyTime::Total(ops.on_duty_ps)
        } else {
            BusyTime::Times(busy.finish())
        };
        Ok(Self { chip, busy, hull })
    }
}

fn chip_of(model: &TraceModel, core: GroupId) -> ChipKey {
    let group = model.group(core);
    (
        group.source,
        group
            .device
            .as_ref()
            .and_then(|device| device.local_chip_id)
            .ok_or(core),
    )
}

fn sparse_cores(model: &TraceModel, core: GroupId) -> impl Iterator<Item = GroupId> {
    model
        .child_groups(Some(core))
        .into_iter()
        .filter(|&group| matches!(model.group(group).kind, GroupKind::SparseCore { .. }))
}

#[cfg(test)]
mod tests {
    use device_reports::Ops;
    use engine::{Options, ReportCache, Scope};
    use trace_model::{DeviceInfo, Op, SliceSpec, Timestamp, TraceBuilder};

    use super::*;

    /// Two cores, the first with infeed inside a loop and outside it, and a `SparseCore` of the first.
    ///
    /// ```text
    /// core 0     WWWWWWWW..ii........     W loop, i infeed, f fusion, s sparse op
    ///              iii
    /// core 1     ....ffffff..........
    /// sparse     ............sss.....
    /// programs   PPPPPPPPPPPPPPPPPPPP
    /// ```
    fn model(chips: [i64; 2]) -> TraceModel {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let op = |builder: &mut TraceBuilder, name: &str, category: &str| {
            let (name_id, category) = (builder.intern(name), Some(builder.intern(category)));
            let op = builder.op(Op {
                name: name_id,
                category,
                ..Op::default()
            });
            builder.label(name, Some(op))
        };
        let [around, infeed, fusion, sparse] = [
            ("while.1", "while"),
            ("infeed.1", "infeed"),
            ("fusion.1", "loop fusion"),
            ("gather.1", "gather"),
        ]
        .map(|(name, category)| op(&mut builder, name, category));
        let program = builder.label("jit_f(1)", None);
        let range = |from, to| TimeRange::new(Timestamp::from_ps(from), Timestamp::from_ps(to));
        let ops = [
            vec![(around, 0, 8), (infeed, 2, 5), (infeed, 10, 12)],
            vec![(fusion, 4, 10)],
        ];
        for (ordinal, (ops, chip)) in ops.into_iter().zip(chips).enumerate() {
            let kind = GroupKind::TensorCore {
                ordinal: ordinal as u32,
            };
            let core = builder.group(Some(host), kind, &format!("/device:TPU:{ordinal}"));
            builder.set_device(
                core,
                DeviceInfo {
                    local_chip_id: Some(chip),
                    ..DeviceInfo::default()
                },
            );
            let track = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
            let programs = builder.track(core, TrackKind::Modules, 2, "XLA Modules");
            builder.add_slice(programs, SliceSpec::new(range(0, 20), program));
            for (label, from, to) in ops {
                builder.add_slice(track, SliceSpec::new(range(from, to), label));
            }
            if ordinal == 0 {
                let kind = GroupKind::SparseCore { ordinal: 0 };
                let core = builder.group(Some(core), kind, "/device:TPU:0 SparseCore 0");
                let track = builder.track(core, TrackKind::Ops, 3, "Sparse Core Ops");
                builder.add_slice(track, SliceSpec::new(range(12, 15), sparse));
            }
        }
        builder.finish()
    }

    #[test]
    fn duty_cycle_merges_cores_of_a_chip() {
        let duty = |chips| {
            let model = model(chips);
            let (options, reports) = (Options::default(), ReportCache::default());
            let cx = Context {
                model: &model,
                scope: Scope::WholeTrace,
                options: &options,
                reports: &reports,
            };
            let ops = cx.report::<Ops>().unwrap();
            let metric = xprof_duty_cycle(&CoreDuty::of_all(&cx, &ops.cores).unwrap());
            (metric.value.unwrap(), metric.of)
        };
        // One chip: 0..10 and 12..15 of 20. Two chips: 8 + 3 and 6 of 20 each.
        let of = |chips| {
            format!(
                "first op or program to the end of the last, {}",
                counted(chips, "chip")
            )
        };
        assert_eq!(duty([0, 0]), (65.0, of(1)));
        assert_eq!(duty([0, 1]), (42.5, of(2)));
    }
}
