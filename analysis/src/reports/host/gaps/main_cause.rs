//! The main cause of idle time, as a clause.

use super::IdleCause;
use super::report::{DeviceGaps, GapsReport, time_of};
use crate::engine::Percent;
use crate::math::stats::percent;

impl GapsReport {
    /// Where more than half of the idle time is: within programs, or between them with one cause and the host event
    /// that shows it. If nothing was recorded for more than half, it also names the longest cause that was. `None` if no
    /// single part is that large.
    pub(crate) fn main_cause(&self) -> Option<String> {
        let sum = |time: &dyn Fn(&DeviceGaps) -> i64| self.devices.iter().map(time).fold(0, i64::saturating_add);
        let within = sum(&|device| device.inside.as_ref().map_or(0, |inside| inside.idle_ps));
        let idle = within.saturating_add(sum(&DeviceGaps::between_ps));
        let is_most = |time: i64| time.saturating_mul(2) > idle;
        if is_most(within) {
            return Some("within programs".to_owned());
        }
        let time = |cause| sum(&|device| time_of(&device.between, cause));
        let most = IdleCause::ALL.into_iter().find(|&cause| is_most(time(cause)))?;
        if most != IdleCause::Unknown {
            return self.clause(most);
        }
        let share = |cause| Percent(percent(time(cause), idle).unwrap_or_default());
        let recorded = IdleCause::ALL.into_iter().filter(|&cause| cause != most && time(cause) > 0);
        let longest = recorded.min_by_key(|&cause| std::cmp::Reverse(time(cause)));
        let longest = longest.and_then(|cause| Some(format!("; {:.1} {}", share(cause), self.clause(cause)?)));
        let longest = longest.unwrap_or_default();
        Some(format!("with nothing recorded on the host ({:.1} of it{longest})", share(most)))
    }

    /// A cause with the event that shows it.
    fn clause(&self, cause: IdleCause) -> Option<String> {
        let parts = self.devices.iter().flat_map(|device| &device.between).filter(|part| part.cause == cause);
        let event = parts.max_by_key(|part| part.time_ps).and_then(|longest| longest.event());
        let event = event.map_or_else(String::new, |event| format!(" ({event})"));
        Some(format!("{}{event}", cause.meanwhile()?))
    }
}
