//! The devices that keep the others waiting in collectives: often one, sometimes all of a host or of a rack.

use facts::prelude::*;
use math::stats::median;

use super::{BalanceReport, DeviceLoad};

/// The device that causes more than this of all waiting is the one that the others wait for.
const MOST_OF_WAITING: Percent = Percent(50.0);
/// Of two devices, one causes at least half of all waiting, by chance, too.
const MOST_OF_TWO: Percent = Percent(75.0);
/// Devices are late together if they are awaited, or work longer than the median device, at least this part as long as
/// the first of them.
const AS_LATE: f64 = 0.5;
/// Among more than this part of all, whoever comes last is chance.
const MOST_LATE: f64 = 0.25;
/// More devices are counted, not named.
const NAMED: usize = 8;

/// The devices that come last.
pub struct LateDevices<'a> {
    /// In the order of the report.
    pub devices: Vec<&'a DeviceLoad>,
    /// Their share of all waiting in collectives.
    pub share: Percent,
    all: usize,
}

impl LateDevices<'_> {
    /// How many they are.
    pub fn count(&self) -> String {
        format!("{} of {} devices", self.devices.len(), self.all)
    }

    /// Their names; with several, how many they are.
    pub fn names(&self) -> String {
        if let [only] = &self.devices[..] {
            return only.core.clone();
        }
        let named: Vec<&str> = self
            .devices
            .iter()
            .take(NAMED)
            .map(|device| device.core.as_str())
            .collect();
        let rest = engine::and_more(self.devices.len() - named.len());
        format!("{} ({}{rest})", self.count(), named.join(", "))
    }
}

impl BalanceReport {
    /// The devices that the others wait for most of the time; `None` if nobody waits for long, if it is not known, or if
    /// the one that comes last changes.
    pub fn late(&self) -> Option<LateDevices<'_>> {
        let (first, _) = self.awaited()?;
        let waits = |device: &DeviceLoad| device.of_window(device.skew_wait_ps);
        let waits_long = |device| waits(device).is_some_and(|part| part >= self.least_wait);
        self.devices.iter().find(|device| waits_long(device))?;
        let works: Vec<f64> = self
            .devices
            .iter()
            .filter_map(|device| device.work_ps)
            .collect();
        let middle = median(&works)?;
        let excess = |device: &DeviceLoad| device.work_ps.map_or(0.0, |work| work - middle);
        let is_late = |device: &&DeviceLoad| {
            let as_awaited = device.awaited_ps >= first.awaited_ps.map(|time| time * AS_LATE);
            let as_slow = first.is_straggler && device.is_straggler;
            as_awaited || (as_slow && excess(device) >= excess(first) * AS_LATE)
        };
        let together: Vec<&DeviceLoad> = self.devices.iter().filter(is_late).collect();
        let is_few = together.len() as f64 <= MOST_LATE * works.len() as f64;
        let devices = if is_few { together } else { vec![first] };
        let of = |devices: &mut dyn Iterator<Item = &DeviceLoad>| -> f64 {
            devices.filter_map(|device| device.awaited_ps).sum()
        };
        let all = of(&mut self.devices.iter());
        let share = Percent(100.0 * of(&mut devices.iter().copied()) / all);
        let least = match works.len() {
            2 => MOST_OF_TWO,
            _ => MOST_OF_WAITING,
        };
        (share > least).then_some(LateDevices {
            devices,
            share,
            all: works.len(),
        })
    }
}
