//! The same run as seen by hosts whose clocks disagree.

use trace_model::Picos;

use super::run::SyntheticRun;
use crate::session::{SampleSession, SampleValue};

/// How the clock of a host is wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostClock {
    /// Ahead of true time when the session started.
    pub ahead: Picos,
    /// Clock drift in microseconds per second, also for devices, because they are put on the timeline by the host's
    /// clock.
    pub drift_ppm: f64,
}

impl SyntheticRun {
    /// The capture of `host`, on which the whole run happened at the same true time
    /// as on all others.
    pub fn host_session(&self, host: &str, clock: HostClock) -> SampleSession {
        let mut session = SampleSession { host: host.to_owned(), ..self.session() };
        let gains = |ps: i64| (ps as f64 * clock.drift_ppm * 1e-6) as i64;
        for plane in &mut session.planes {
            for stat in &mut plane.stats {
                if let ("profile_start_time" | "profile_stop_time", SampleValue::Uint(ns)) =
                    (&*stat.name, &mut stat.value)
                {
                    *ns = ns.saturating_add_signed(clock.ahead.ps() / 1000);
                }
            }
            for line in &mut plane.lines {
                let origin = line.timestamp_ns * 1000;
                for event in &mut line.events {
                    let (start, end) = (origin + event.offset_ps, origin + event.offset_ps + event.duration_ps);
                    event.offset_ps += gains(start);
                    event.duration_ps += gains(end) - gains(start);
                }
            }
        }
        session
    }
}
