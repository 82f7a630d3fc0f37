//! The tables of gaps.

use engine::TableBuilder;
use facts::prelude::*;
use math::summed;

use super::IdleCause;
use super::report::{DeviceGaps, GapPlace, GapsReport, StepGaps};

/// Number of gaps listed per device.
const SHOWN: usize = 10;

impl Tabular for GapsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.cause_table()];
        if self.devices.len() > 1 {
            tables.push(self.device_table());
        }
        tables.push(self.gap_table());
        tables.extend(Table::filled([self.step_table(), self.inside_table()]));
        tables
    }
}

/// A column for each cause.
fn with_causes<'a, R: Copy + 'a>(
    table: TableBuilder<'a, R>,
    time: impl Fn(R, IdleCause) -> Option<Picos> + Copy + 'a,
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

fn mean(sum: Picos, count: usize) -> Picos {
    Picos::from_ps(sum.ps() / count.max(1) as i64)
}

impl GapsReport {
    /// All devices together, by place and cause.
    fn cause_table(&self) -> Table {
        let window = self
            .devices
            .iter()
            .map(|device| device.window_ps)
            .sum::<Picos>();
        let count = self.devices.len().max(1);
        let row = |place: GapPlace, cause: IdleCause| {
            let parts = self
                .devices
                .iter()
                .flat_map(|device| device.at(place))
                .filter(|part| part.cause == cause);
            let events = summed(
                parts
                    .clone()
                    .filter_map(|part| part.event.as_deref().zip(part.event_ps)),
            );
            // Of equal ones the first by name.
            let most = events.into_iter().rev().max_by_key(|(_, time)| *time);
            parts.clone().next()?;
            let time = parts.map(|part| part.time_ps).sum::<Picos>();
            Some((place, cause, time, most))
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
            .measured("place", "Where", Unit::None, |(place, ..)| place)
            .inferred("cause", "Host", Unit::None, |(_, cause, ..)| cause)
            .measured("time_ps", "Time", Unit::Picoseconds, |(_, _, time, _)| mean(time, count))
            .measured("percent", "Of window", Unit::Percent, |(_, _, time, _)| Percent::of(time, window))
            .inferred("event", "Mostly", Unit::None, |(.., most)| Some(most?.0))
            .measured("event_ps", "for", Unit::Picoseconds, |(.., most)| Some(mean(most?.1, count)))
            .note(format!("{}.", self.statement))
            .note(format!(
                "Before, between and after programs; means over {}. At each instant the highest-ranked activity of any thread counts: compiling, then input, transfers, dispatch, user code, waiting; none once the next program is queued. “Mostly” is the event with most of that time, and how much, of the devices where it comes first.",
                counted(count, "device")
            ))
            .build()
    }

    /// One row per device, one column per cause.
    fn device_table(&self) -> Table {
        let table = Table::of("gap_devices", "By device", &self.devices).declared([
            "core",
            "window_ps",
            "programs",
            "idle_ps",
        ]);
        with_causes(table, |device: &DeviceGaps, cause| {
            cause
                .is_known(device.has_host)
                .then(|| device.time_ps(cause))
        })
        .note("The causes of a device add up to its time without a running program.")
        .build()
    }

    fn gap_table(&self) -> Table {
        let rows = self
            .devices
            .iter()
            .flat_map(|device| device.gaps.iter().take(SHOWN).map(move |gap| (device, gap)));
        let between: u64 = self.devices.iter().map(|device| device.count).sum();
        Table::of("gaps", "Longest gaps", rows)
            .declared_by(|(device, _)| device, ["core"])
            .declared_by(
                |(_, gap)| gap,
                [
                    "start_ps",
                    "length_ps",
                    "cause",
                    "cause_percent",
                    "unexplained_percent",
                    "event",
                    "also",
                    "step",
                    "after",
                    "before",
                ],
            )
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
        let steps = grouped(
            self.devices
                .iter()
                .flat_map(|device| &device.steps)
                .map(|step| (step.step, step)),
        );
        let mean = |of_step: &[&StepGaps], get: &dyn Fn(&StepGaps) -> Picos| {
            mean(of_step.iter().map(|step| get(step)).sum(), of_step.len())
        };
        let table = Table::of("gap_steps", "Time without a program in each step", &steps)
            .measured("step", "Step", Unit::None, |(&number, _)| number)
            .measured("length_ps", "Length", Unit::Picoseconds, |(_, of_step)| {
                mean(of_step, &|step| step.length_ps)
            })
            .measured(
                "idle_ps",
                "No program",
                Unit::Picoseconds,
                |(_, of_step)| mean(of_step, &StepGaps::idle_ps),
            );
        let has_host = self.devices.iter().any(|device| device.has_host);
        with_causes(table, |(_, of_step), cause| {
            cause
                .is_known(has_host)
                .then(|| mean(of_step, &|step| step.time_ps(cause)))
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
            .declared_by(|(device, _)| device, ["core"])
            .declared_by(
                |(_, inside)| inside,
                [
                    "program_ps",
                    "idle_ps",
                    "idle_percent",
                    "edges_ps",
                    "long_gaps",
                    "long_gaps_ps",
                    "longest_ps",
                    "longest_after",
                    "longest_before",
                ],
            )
            .note("By the device clock that timed the ops; independent of the host.")
            .build()
    }
}
