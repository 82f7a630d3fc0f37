//! A synthetic run, recorded by hosts whose clocks disagree.

use trace_model::Picos;

use super::run::SyntheticRun;
use crate::session::{SampleSession, SampleValue};

/// Error of a host's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostClock {
    /// How far the clock was ahead of true time at the start of the session.
    pub ahead: Picos,
    /// Clock drift in microseconds per second. It also affects devices, because the host's clock maps them to the
    /// timeline.
    pub drift_ppm: f64,
}

impl SyntheticRun {
    /// The capture of `host`. The run happened at the same true time on all hosts.
    pub fn host_session(&self, host: &str, clock: HostClock) -> SampleSession {
        let mut session = SampleSession {
            host: host.to_owned(),
            ..self.session()
        };
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
                    let (start, end) = (
                        origin + event.offset_ps,
                        origin + event.offset_ps + event.duration_ps,
                    );
                    event.offset_ps += gains(start);
                    event.duration_ps += gains(end) - gains(start);
                }
            }
        }
        session
    }
}
