//! The state of the devices of a running program, as its profiler server tells it.

use std::io;
use std::time::Duration;

use super::address::ServerAddress;
use super::client::{ProfilerClient, ServerError};
use super::gather;
use super::messages::{MonitorRequest, MonitorResponse, MonitorResult};

/// What to ask for.
#[derive(Clone, Copy, Debug)]
pub struct MonitorOptions {
    /// How long the server watches for one answer.
    pub duration: Duration,
    /// 1: utilization; 2: idle time, step times and infeed, too.
    pub level: u8,
    /// Whether its text begins with the time.
    pub timestamp: bool,
    /// How long a server may take beyond the duration.
    pub timeout: Duration,
}

/// The state of the devices of one program. What the server does not tell is missing.
#[derive(Debug, Default, PartialEq, serde::Serialize)]
pub struct DeviceState {
    /// Share of the time in which the devices do nothing.
    pub idle_percent: Option<f64>,
    /// Share of the peak of the matrix units.
    pub mxu_percent: Option<f64>,
    /// Time of a step.
    pub step_ms: Option<Spread>,
    /// Share of a step in which devices wait for input.
    pub infeed_percent: Option<Spread>,
    /// What the server says, for reading.
    pub text: String,
}

/// A mean with its extremes.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Spread {
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

impl DeviceState {
    fn of(response: MonitorResponse) -> Self {
        let result = response.monitor_result.unwrap_or_default();
        // The type says how many of the numbers are filled in: unset ones are 0 like measured ones.
        let told = |least: i32, what: fn(&MonitorResult) -> f64| {
            (result.response_type >= least)
                .then(|| what(&result))
                .filter(|number| number.is_finite())
        };
        let spread = |numbers: [fn(&MonitorResult) -> f64; 3]| {
            let [mean, min, max] = numbers.map(|number| told(3, number));
            Some(Spread {
                mean: mean?,
                min: min?,
                max: max?,
            })
        };
        Self {
            mxu_percent: told(1, |is| is.matrix_unit_utilization_percent),
            idle_percent: told(2, |is| is.device_idle_time_percent),
            step_ms: spread([
                |is| is.step_time_ms_avg,
                |is| is.step_time_ms_min,
                |is| is.step_time_ms_max,
            ]),
            infeed_percent: spread([
                |is| is.infeed_percent_avg,
                |is| is.infeed_percent_min,
                |is| is.infeed_percent_max,
            ]),
            text: response.data,
        }
    }
}

/// Asks each server again and again. `heard` gets the answers of one round; where it returns false, it is over.
///
/// # Errors
///
/// This machine fails. Servers that fail are part of the answers.
pub fn monitor(
    addresses: &[ServerAddress],
    options: MonitorOptions,
    mut heard: impl FnMut(&[(ServerAddress, Result<DeviceState, ServerError>)]) -> bool,
) -> io::Result<()> {
    gather::block_on(async {
        let mut clients: Vec<Option<ProfilerClient>> = addresses.iter().map(|_| None).collect();
        loop {
            let begun = tokio::time::Instant::now();
            let tasks = clients.into_iter().zip(addresses.iter().cloned()).map(
                |(client, address)| async move {
                    let mut client = match client {
                        Some(client) => client,
                        None => ProfilerClient::connect(&address, options.timeout).await?,
                    };
                    let request = MonitorRequest {
                        duration_ms: options.duration.as_millis() as u64,
                        monitoring_level: i32::from(options.level),
                        timestamp: options.timestamp,
                    };
                    let response = client
                        .monitor(request, options.duration + options.timeout)
                        .await?;
                    Ok((client, DeviceState::of(response)))
                },
            );
            let results = gather::all(tasks, |_| true).await;
            clients = results
                .iter()
                .map(|result| Some(result.as_ref().ok()?.0.clone()))
                .collect();
            let states = results
                .into_iter()
                .map(|result| result.map(|(_, state)| state));
            if !heard(&addresses.iter().cloned().zip(states).collect::<Vec<_>>()) {
                return;
            }
            // A server that answers or fails at once is asked no more often than one that watches.
            tokio::time::sleep_until(begun + options.duration).await;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(response_type: i32) -> DeviceState {
        let result = MonitorResult {
            response_type,
            device_idle_time_percent: 0.0,
            matrix_unit_utilization_percent: 10.0,
            step_time_ms_avg: 4.0,
            step_time_ms_min: 3.0,
            step_time_ms_max: 5.0,
            ..MonitorResult::default()
        };
        DeviceState::of(MonitorResponse {
            data: "text".to_owned(),
            monitor_result: Some(result),
        })
    }

    #[test]
    fn unreported_numbers_are_missing_and_measured_zeros_are_kept() {
        let told = |response_type| {
            let state = state(response_type);
            (
                state.mxu_percent,
                state.idle_percent,
                state.step_ms.map(|step| step.max),
            )
        };
        assert_eq!(told(0), (None, None, None));
        assert_eq!(told(1), (Some(10.0), None, None));
        assert_eq!(told(2), (Some(10.0), Some(0.0), None));
        assert_eq!(told(3), (Some(10.0), Some(0.0), Some(5.0)));
        let only_text = DeviceState::of(MonitorResponse {
            data: "text".to_owned(),
            monitor_result: None,
        });
        assert_eq!(
            only_text,
            DeviceState {
                text: "text".to_owned(),
                ..DeviceState::default()
            }
        );
    }
}
