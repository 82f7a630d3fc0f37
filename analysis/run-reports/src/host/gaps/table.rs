//! The tables of gaps.

use std::collections::BTreeMap;

use engine::{Table, TableBuilder, Tabular, counted};
use math::stats::percent;
use math::unit::Unit;
use trace_model::Picos;

use super::IdleCause;
use super::report::{CauseTime, DeviceGaps, Gap, GapPlace, GapsReport, StepGaps};

/// Number of gaps listed per device.
const SHOWN: usize = 10;
/// Other activities with a smaller share of a gap are not named.
const NAMED: f64 = 0.01;

impl Tabular for GapsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.cause_table()];
        if self.devices.len() > 1 {
            tables.push(self.device_table());
        }
        tables.push(self.gap_table());
        if self.devices.iter().any(|device| !device.steps.is_empty()) {
            tables.push(self.step_table());
        }
        if self.devices.iter().any(|device| device.inside.is_some()) {
            tables.push(self.inside_table());
        }
        tables
    }
}

/// A column for each cause.
fn with_causes<'a, R: Copy + 'a>(
    table: TableBuilder<'a, R>,
    time: impl Fn(R, IdleCause) -> i64 + Copy + 'a,
) -> TableBuilder<'a, R> {
    IdleCause::ALL.into_iter().fold(table, |table, cause| {
        let id = match cause {
            IdleCause::Compile => "compile_ps",
            IdleCause::Input => "input_ps",
            IdleCause::HostToDevice => "host_to_device_ps",
            IdleCause::DeviceToHost => "device_to_host_ps",
            IdleCause::Dispatch => "dispatch_ps",
            IdleCause::User => "user_ps",
            IdleCause::Wait => "wait_ps",
            IdleCause::Queued => "queued_ps",
            IdleCause::Unknown => "unknown_ps",
        };
        table.inferred(id, cause.title(), Unit::Picoseconds, move |row| {
            time(row, cause)
        })
    })
}

impl GapsReport {
    /// All devices together, by place and cause.
    fn cause_table(&self) -> Table {
        let window = self
            .devices
            .iter()
            .map(|device| device.window_ps)
            .sum::<Picos>()
            .ps();
        let count = self.devices.len().max(1) as i64;
        let row = |place: GapPlace, cause: IdleCause| {
            let parts = self
                .devices
                .iter()
                .flat_map(|device| device.at(place))
                .filter(|part| part.cause == cause);
            let time = parts.clone().map(|part| part.time_ps).sum::<Picos>().ps();
            Some((place, time, parts.max_by_key(|part| part.event_ps())?))
        };
        let places = [
            GapPlace::BeforeFirst,
            GapPlace::Between,
            GapPlace::AfterLast,
        ];
        let rows = places.into_iter().flat_map(|place| {
            IdleCause::ALL
                .into_iter()
                .filter_map(move |cause| row(place, cause))
        });
        Table::of("gap_causes", "What the host does while no program runs", rows)
            .measured("place", "Where", Unit::None, |(place, ..)| place.title())
            .inferred("cause", "Host", Unit::None, |(.., top)| top.cause.title())
            .measured("time_ps", "Time", Unit::Picoseconds, |(_, time, _)| time / count)
            .measured("percent", "Of window", Unit::Percent, |(_, time, _)| percent(time, window))
            .inferred("event", "Mostly", Unit::None, |(.., top)| top.event())
            .measured("event_ps", "for", Unit::Picoseconds, |(.., top)| top.event_ps())
            .note(format!("{}.", self.statement))
            .note(format!(
                "Before, between and after programs; means over {}. At each instant the highest-ranked activity of any thread counts: compiling, then input, transfers, dispatch, user code, waiting; none once the next program is queued. “Mostly” is the event with most of that time, and how much.",
                counted(count, "device")
            ))
            .build()
    }

    /// One row per device, one column per cause.
    fn device_table(&self) -> Table {
        let table = Table::of("gap_devices", "By device", &self.devices)
            .measured("core", "Device", Unit::None, |device| &device.core)
            .measured("window_ps", "Window", Unit::Picoseconds, |device| {
                device.window_ps
            })
            .measured("programs", "Programs", Unit::Count, |device| {
                device.programs
            })
            .measured("idle_ps", "No program", Unit::Picoseconds, |device| {
                device.idle_ps
            });
        with_causes(table, DeviceGaps::time_ps)
            .note("The causes of a device add up to its time without a running program.")
            .build()
    }

    fn gap_table(&self) -> Table {
        let rows = self
            .devices
            .iter()
            .flat_map(|device| device.gaps.iter().take(SHOWN).map(move |gap| (device, gap)));
        let between: u64 = self.devices.iter().map(|device| device.count).sum();
        let also = |gap: &Gap| {
            let part = |part: &CauseTime| {
                let event = part
                    .event()
                    .map_or_else(String::new, |event| format!(" ({event})"));
                format!(
                    "{} {}{event}",
                    part.cause.title(),
                    Picos::from_ps(part.time_ps)
                )
            };
            gap.others(NAMED).map(part).collect::<Vec<_>>().join(", ")
        };
        Table::of("gaps", "Longest gaps", rows)
            .measured("core", "Device", Unit::None, |(device, _)| &device.core)
            .measured("start_ps", "Begin", Unit::Picoseconds, |(_, gap)| gap.start_ps)
            .measured("length_ps", "Length", Unit::Picoseconds, |(_, gap)| gap.length_ps)
            .inferred("cause", "Host", Unit::None, |(_, gap)| gap.main().map_or(IdleCause::Unknown, |top| top.cause).title())
            .measured("cause_percent", "Of gap", Unit::Percent, |(_, gap)| percent(gap.main()?.time_ps, gap.length_ps))
            .measured("unexplained_percent", "Unexplained", Unit::Percent, |(_, gap)| {
                percent(gap.unexplained_ps(), gap.length_ps)
            })
            .inferred("event", "Mostly", Unit::None, |(_, gap)| gap.main()?.event())
            .inferred("also", "Also", Unit::None, |(_, gap)| Some(also(gap)).filter(|also| !also.is_empty()))
            .measured("step", "Step", Unit::None, |(_, gap)| gap.step)
            .measured("after", "After", Unit::None, |(_, gap)| gap.after.as_deref())
            .measured("before", "Before", Unit::None, |(_, gap)| gap.before.as_deref())
            .note(format!(
                "{between} gaps between programs on {}. Host: what it does for the longest part of the gap, with its \
                 share and the share that no recorded event explains; also: other parts of at least a hundredth. Begin \
                 is on the timeline as recorded; gaps without a program before or after reach to the end of the window.",
                counted(self.devices.len(), "device")
            ))
            .build()
    }

    /// Means over the devices, one row per step.
    fn step_table(&self) -> Table {
        let mut steps: BTreeMap<u32, Vec<&StepGaps>> = BTreeMap::new();
        for step in self.devices.iter().flat_map(|device| &device.steps) {
            steps.entry(step.step).or_default().push(step);
        }
        let mean = |own: &[&StepGaps], get: &dyn Fn(&StepGaps) -> i64| {
            own.iter().map(|step| get(step)).sum::<Picos>().ps() / own.len().max(1) as i64
        };
        let table = Table::of("gap_steps", "Time without a program in each step", &steps)
            .measured("step", "Step", Unit::None, |(&number, _)| number)
            .measured("length_ps", "Length", Unit::Picoseconds, |(_, own)| {
                mean(own, &|step| step.length_ps)
            })
            .measured("idle_ps", "No program", Unit::Picoseconds, |(_, own)| {
                mean(own, &StepGaps::idle_ps)
            });
        with_causes(table, |(_, own), cause| {
            mean(own, &|step| step.time_ps(cause))
        })
        .note("Means over the devices that ran the step, on the clock of the host.")
        .build()
    }

    fn inside_table(&self) -> Table {
        let rows = self
            .devices
            .iter()
            .filter_map(|device| Some((device, device.inside.as_ref()?)));
        Table::of("gaps_inside", "Time without an op within programs", rows)
            .measured("core", "Device", Unit::None, |(device, _)| &device.core)
            .measured(
                "program_ps",
                "Programs",
                Unit::Picoseconds,
                |(_, inside)| inside.program_ps,
            )
            .measured("idle_ps", "No op", Unit::Picoseconds, |(_, inside)| {
                inside.idle_ps
            })
            .measured("idle_percent", "Of programs", Unit::Percent, |(_, it)| {
                percent(it.idle_ps, it.program_ps)
            })
            .measured(
                "edges_ps",
                "At begin and end",
                Unit::Picoseconds,
                |(_, inside)| inside.edges_ps,
            )
            .measured("long_gaps", "Over 1 µs", Unit::Count, |(_, inside)| {
                inside.long_gaps
            })
            .measured(
                "long_gaps_ps",
                "together",
                Unit::Picoseconds,
                |(_, inside)| inside.long_gaps_ps,
            )
            .measured("longest_ps", "Longest", Unit::Picoseconds, |(_, inside)| {
                inside.longest_ps
            })
            .measured("longest_after", "After", Unit::None, |(_, inside)| {
                inside.longest_after.as_deref()
            })
            .measured("longest_before", "Before", Unit::None, |(_, inside)| {
                inside.longest_before.as_deref()
            })
            .note("By the device clock that timed the ops; independent of the host.")
            .build()
    }
}
