//! The main cause of idle time, as a clause.

use facts::prelude::*;

use super::IdleCause;
use super::report::{DeviceGaps, GapsReport, time_of};

impl GapsReport {
    /// Where more than half of the idle time is: within programs, or between them with one cause and the host event
    /// that shows it. If nothing was recorded for more than half, it also names the longest cause that was. `None` if no
    /// single part is that large.
    pub fn main_cause(&self) -> Option<String> {
        let within = self.within_ps();
        let idle = self.idle_ps();
        if within + within > idle {
            return Some("within programs".to_owned());
        }
        let most = self.most_common()?;
        if most != IdleCause::Unknown {
            return self.clause(most);
        }
        let time = |cause| self.time_of(cause);
        let share = |cause| Percent::of(time(cause), idle).unwrap_or_default();
        let recorded = IdleCause::ALL
            .into_iter()
            .filter(|&cause| cause != most && time(cause) > Picos::ZERO);
        let longest = recorded
            .min_by_key(|&cause| Reverse(time(cause)))
            .and_then(|cause| Some(format!("; {:.1} {}", share(cause), self.clause(cause)?)))
            .unwrap_or_default();
        Some(format!(
            "with nothing recorded on the host ({:.1} of it{longest})",
            share(most)
        ))
    }

    /// What most of the idle time passes with, as a clause; where no cause has so much, the two longest with their shares
    /// of it. `None` without idle time.
    pub fn leading_causes(&self) -> Option<String> {
        if let Some(cause) = self.main_cause() {
            return Some(format!("mostly {cause}"));
        }
        let idle = self.idle_ps();
        let within = self.within_ps();
        let causes = IdleCause::ALL.into_iter().map(|cause| {
            let clause = cause
                .meanwhile()
                .unwrap_or("with nothing recorded on the host");
            (self.time_of(cause), clause)
        });
        let mut longest: Vec<(Picos, &str)> = causes
            .chain([(within, "within programs")])
            .filter(|(time, _)| *time > Picos::ZERO)
            .collect();
        longest.sort_by_key(|(time, _)| Reverse(*time));
        let share = |time| Percent::of(time, idle).unwrap_or_default();
        let (first, clause) = *longest.first()?;
        let mut text = format!("{:.1} of it {clause}", share(first));
        if let Some((second, clause)) = longest.get(1) {
            text = format!("{text}, {:.1} {clause}", share(*second));
        }
        Some(text)
    }

    /// Whether more than half of the idle time has one cause on the host.
    pub fn has_known_cause(&self) -> bool {
        self.most_common()
            .is_some_and(|cause| cause != IdleCause::Unknown)
    }

    /// The cause of more than half of the idle time.
    fn most_common(&self) -> Option<IdleCause> {
        let idle = self.idle_ps();
        IdleCause::ALL
            .into_iter()
            .find(|&cause| self.time_of(cause) + self.time_of(cause) > idle)
    }

    /// Idle time between programs with a cause.
    pub fn time_of(&self, cause: IdleCause) -> Picos {
        self.sum(|device| time_of(&device.between, cause))
    }

    fn within_ps(&self) -> Picos {
        self.sum(|device| {
            let inside = device.inside.as_ref();
            inside.map_or(Picos::ZERO, |inside| inside.idle_ps)
        })
    }

    fn idle_ps(&self) -> Picos {
        self.within_ps() + self.sum(DeviceGaps::between_ps)
    }

    fn sum(&self, time: impl Fn(&DeviceGaps) -> Picos) -> Picos {
        self.devices.iter().map(time).sum()
    }

    /// A cause with the event that shows it.
    fn clause(&self, cause: IdleCause) -> Option<String> {
        let parts = self
            .devices
            .iter()
            .flat_map(|device| &device.between)
            .filter(|part| part.cause == cause);
        let event = parts
            .max_by_key(|part| part.time_ps)
            .and_then(|longest| longest.event.as_ref());
        let event = event.map_or_else(String::new, |event| format!(" ({event})"));
        Some(format!("{}{event}", cause.meanwhile()?))
    }
}
