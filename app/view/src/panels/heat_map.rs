//! Devices × steps: how long each device took in each step, and how much of that it worked, communicated or was idle.
//!
//! A straggler is a row, a slow step a column. Collectives make all devices take equally long, so a straggler does not
//! show in the time of its steps but in its work.

use crate::prelude::*;
use analysis::facts::Step;
use analysis::math::quantile::in_place;
use analysis::reports::steps::step_parts::CoreParts;
use analysis::reports::{StepPart, StepPartsReport};

/// Ranges narrower than this part of the median of what is shown, or than this part of the median step, are drawn as if
/// they were that wide.
const LEAST_SPAN: [i64; 2] = [50, 1_000];

/// What the colour of a cell means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeatQuantity {
    /// Time in which the device works, without communication, waiting and idle time.
    #[default]
    Work,
    /// Length of the step on the device.
    Time,
    /// Communication during which it computes nothing.
    Exposed,
    /// Time in which it does nothing.
    Idle,
}

impl HeatQuantity {
    /// All of them, with their names and what they mean.
    pub const ALL: [(Self, &'static str, &'static str); 4] = [
        (
            Self::Work,
            "work",
            "Time of the step in which the device computes or moves data: a straggler has more",
        ),
        (Self::Time, "time", "Length of the step on the device"),
        (
            Self::Exposed,
            "exposed comm",
            "Time of the step in which the device only communicates or waits for others",
        ),
        (
            Self::Idle,
            "idle",
            "Time of the step in which the device runs nothing",
        ),
    ];

    /// Its name.
    pub fn title(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(mode, ..)| *mode == self)
            .map_or("", |(_, title, _)| title)
    }

    /// Its value for a device in a step.
    fn of(self, core: &CoreParts) -> Picos {
        match self {
            Self::Time => core.time_ps,
            Self::Exposed => core.parts.get(StepPart::ExposedComm),
            Self::Idle => core.parts.get(StepPart::Idle),
            Self::Work => core.parts.work(),
        }
    }
}

/// One device in one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatCell {
    /// The quantity.
    pub value: Picos,
    /// Length of the step on this device.
    pub time: Picos,
    /// The quantity relative to the range of all counted cells: 0 is the minimum, 1 the maximum of [`HeatMap::scale`].
    pub heat: f32,
}

/// A column.
#[derive(Debug)]
pub struct HeatStep {
    /// Number of the step.
    pub number: u32,
    pub label: String,
    /// Its range on the timeline.
    pub range: Option<TimeRange>,
    /// Whether the statistics include it.
    pub is_counted: bool,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatDevice {
    pub group: GroupId,
    pub name: String,
    /// By column; `None` if the device recorded nothing in the step.
    pub cells: Vec<Option<HeatCell>>,
    /// Median of its counted steps; `None` without one.
    pub median: Option<Picos>,
}

/// Devices × steps.
#[derive(Debug)]
pub struct HeatMap {
    pub quantity: HeatQuantity,
    /// The columns, in time order.
    pub steps: Vec<HeatStep>,
    /// The rows, in the order of the trace.
    pub devices: Vec<HeatDevice>,
    /// Minimum and maximum of the counted cells.
    pub range: (Picos, Picos),
    /// The values of the first and the last colour: the range, unless it is so narrow that it tells nothing.
    pub scale: (Picos, Picos),
    /// The row that stands out: its median is above that of all others by more than a tenth of the range, and by more
    /// than half a percent of the median step.
    pub hottest: Option<usize>,
}

impl HeatMap {
    /// From the parts of all steps; `None` without any.
    pub fn of(
        steps: &StepsReport,
        parts: &StepPartsReport,
        quantity: HeatQuantity,
    ) -> Option<Self> {
        let columns: Vec<HeatStep> = parts
            .steps
            .iter()
            .map(|step| {
                let known = steps.steps.iter().find(|known| known.number == step.step);
                let label =
                    known.map_or_else(|| step.step.to_string(), |known| known.label.clone());
                let range = known.and_then(Step::range);
                HeatStep {
                    number: step.step,
                    label,
                    range,
                    is_counted: step.is_counted,
                }
            })
            .collect();
        let mut rows: BTreeMap<GroupId, HeatDevice> = BTreeMap::new();
        for (column, step) in parts.steps.iter().enumerate() {
            for core in &step.cores {
                let row = rows.entry(core.group).or_insert_with(|| HeatDevice {
                    group: core.group,
                    name: core.core.to_string(),
                    cells: vec![None; columns.len()],
                    median: None,
                });
                if let Some(slot) = row.cells.get_mut(column) {
                    *slot = Some(HeatCell {
                        value: quantity.of(core),
                        time: core.time_ps,
                        heat: 0.0,
                    });
                }
            }
        }
        let mut devices: Vec<HeatDevice> = rows.into_values().collect();
        let is_counted: Vec<bool> = columns.iter().map(|step| step.is_counted).collect();
        let counted = |device: &HeatDevice| -> Vec<Picos> {
            device
                .cells
                .iter()
                .zip(&is_counted)
                .filter(|(_, counted)| **counted)
                .filter_map(|(cell, _)| Some(cell.as_ref()?.value))
                .collect()
        };
        for device in &mut devices {
            device.median = median(counted(device));
        }
        let all: Vec<Picos> = devices.iter().flat_map(counted).collect();
        let range = (all.iter().copied().min()?, all.iter().copied().max()?);
        let time = median(
            devices
                .iter()
                .flat_map(|row| &row.cells)
                .flatten()
                .map(|cell| cell.time)
                .collect(),
        )
        .unwrap_or_default();
        let shown = median(all).unwrap_or_default();
        let span = span(range, shown, time);
        for cell in devices
            .iter_mut()
            .flat_map(|device| &mut device.cells)
            .flatten()
        {
            cell.heat = ((cell.value - range.0).ps() as f32 / span as f32).clamp(0.0, 1.0);
        }
        let hottest = hottest(&devices, range, time);
        Some(Self {
            quantity,
            steps: columns,
            devices,
            range,
            scale: (range.0, range.0 + Picos::from_ps(span)),
            hottest,
        })
    }
}

/// How much the colours span: nearly equal devices must have the same colour.
fn span((least, most): (Picos, Picos), shown: Picos, step: Picos) -> i64 {
    let [of_shown, of_step] = LEAST_SPAN;
    let range = (most - least).ps().max(1);
    range.max(shown.ps() / of_shown).max(step.ps() / of_step)
}

/// The device that stands out, if one does.
fn hottest(devices: &[HeatDevice], (least, most): (Picos, Picos), time: Picos) -> Option<usize> {
    // A device without counted steps is neither slow nor fast.
    let mut medians: Vec<(Picos, usize)> = (0..)
        .zip(devices)
        .filter_map(|(index, one)| Some((one.median?, index)))
        .collect();
    medians.sort_by_key(|&(median, _)| Reverse(median));
    let [(highest, first), (second, _), _, ..] = medians[..] else {
        return None;
    };
    let above = (highest - second).ps();
    let is_clear = above > (most - least).ps() / 10 && above > time.ps() / 200;
    is_clear.then_some(first)
}

/// The median to the picosecond; `None` without times.
fn median(times: Vec<Picos>) -> Option<Picos> {
    let mut times: Vec<f64> = times.into_iter().map(Picos::as_ps_f64).collect();
    in_place(&mut times, 0.5).map(Picos::rounded)
}

#[cfg(test)]
mod tests {
    use analysis::reports::{StepParts, Steps};
    use analysis::{Options, Scope};

    use super::*;
    use session::Session;

    #[test]
    fn device_without_counted_steps_highlights_no_other() {
        let any = map(HeatQuantity::Work).devices[0].clone();
        let hottest_of = |medians: &[Option<i64>]| {
            let devices: Vec<_> = medians
                .iter()
                .map(|median| HeatDevice {
                    median: median.map(Picos::from_ps),
                    ..any.clone()
                })
                .collect();
            let range = (Picos::ZERO, Picos::from_ps(90));
            hottest(&devices, range, Picos::from_ps(100))
        };
        assert_eq!(hottest_of(&[Some(90), Some(88), None, None]), None);
        assert_eq!(hottest_of(&[Some(90), Some(10), Some(11), None]), Some(0));
        assert_eq!(
            hottest_of(&[Some(90), None, None]),
            None,
            "there is nothing to compare it with"
        );
    }

    #[test]
    fn the_scale_ends_near_what_occurs() {
        let ms = |time: f64| Picos::rounded(time * 1e9);
        let of_work = span((ms(24.03), ms(24.13)), ms(24.1), ms(784.0));
        assert!(of_work < ms(1.0).ps(), "{of_work}");
        assert_eq!(span((ms(0.0), ms(0.0)), ms(0.0), ms(784.0)), ms(0.784).ps());
    }

    #[test]
    fn median_of_an_even_count_is_between_the_middle_two() {
        let median_of = |times: &[i64]| {
            let times = times.iter().copied().map(Picos::from_ps).collect();
            median(times).map(Picos::ps)
        };
        assert_eq!(median_of(&[40, 10, 30, 20]), Some(25));
        assert_eq!(median_of(&[3, 1, 2]), Some(2));
        assert_eq!(median_of(&[]), None);
    }

    fn map(quantity: HeatQuantity) -> HeatMap {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../assets/samples/synthetic_v5e_8chip_straggler.xplane.pb"
        );
        let options = importers::ImportOptions::default();
        let session = Session::open(
            path.as_ref(),
            &options,
            Options::default(),
            &Progress::default(),
        )
        .unwrap();
        let steps = session.report::<Steps>(Scope::WholeTrace).unwrap();
        let parts = session.report::<StepParts>(Scope::WholeTrace).unwrap();
        HeatMap::of(&steps, &parts, quantity).unwrap()
    }

    #[test]
    fn straggler_row_is_highlighted_by_work() {
        let work = map(HeatQuantity::Work);
        assert_eq!(work.devices.len(), 8);
        assert_eq!(work.scale, work.range);
        let name = |map: &HeatMap| map.hottest.map(|at| map.devices[at].name.clone());
        assert_eq!(
            name(&work).as_deref(),
            Some("/device:TPU:5"),
            "{:?}",
            work.devices
        );
        assert_eq!(
            name(&map(HeatQuantity::Time)),
            None,
            "collectives make all of them take equally long"
        );
        let time = map(HeatQuantity::Time);
        assert_eq!(time.scale.0, time.range.0);
        assert!(time.scale.1 > time.range.1, "equal steps have one colour");
        for device in &work.devices {
            for cell in device.cells.iter().flatten() {
                assert!(
                    cell.value <= cell.time && (0.0..=1.0).contains(&cell.heat),
                    "{cell:?}"
                );
            }
        }
    }
}
