//! The main cause of idle time, as a clause.

use super::IdleCause;
use super::report::{DeviceGaps, GapsReport};

impl GapsReport {
    /// Where more than half of the idle time is: within programs, or between them with one cause and the host event
    /// that shows it. `None` if no single part is that large.
    pub(crate) fn main_cause(&self) -> Option<String> {
        let within: i64 =
            self.devices.iter().filter_map(|device| Some(device.inside.as_ref()?.idle_ps)).fold(0, i64::saturating_add);
        let between = self.devices.iter().map(DeviceGaps::between_ps).fold(0, i64::saturating_add);
        let is_most = |time: i64| time.saturating_mul(2) > within.saturating_add(between);
        if is_most(within) {
            return Some("within programs".to_owned());
        }
        IdleCause::ALL.into_iter().find_map(|cause| {
            let parts = || self.devices.iter().flat_map(|device| &device.between).filter(|part| part.cause == cause);
            let longest = parts().max_by_key(|part| part.time_ps)?;
            let event = longest.event().map_or_else(String::new, |event| format!(" ({event})"));
            let time = parts().map(|part| part.time_ps).fold(0, i64::saturating_add);
            is_most(time).then(|| Some(format!("{}{event}", cause.meanwhile()?))).flatten()
        })
    }
}
