//! `systole top`: the state of the devices of running programs.

use std::time::{SystemTime, UNIX_EPOCH};

use super::prelude::*;
use trace_model::Picos;

use crate::common::stderr::harmless;
use capture::{DeviceState, MonitorOptions, ServerAddress, ServerError, Spread, monitor};
use session::number::value;

/// How long a server may take beyond the time that it watches.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Profiler servers of the running programs
    #[arg(value_name = "HOST:PORT,…", value_delimiter = ',', required = true)]
    pub addresses: Vec<ServerAddress>,
    /// How long servers watch for each answer, in milliseconds
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub ms: u64,
    /// 1: utilization of the matrix units; 2: idle time, step times and infeed, too
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub level: u8,
    /// With the time of the server
    #[arg(long)]
    pub timestamp: bool,
    /// End after N answers; otherwise Ctrl+C ends it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// A line of JSON for each answer of each host
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &TopArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let options = MonitorOptions {
        duration: Duration::from_millis(args.ms),
        level: args.level,
        timestamp: args.timestamp,
        timeout: TIMEOUT,
    };
    let redraws = std::io::stdout().is_terminal() && !args.json;
    let (mut rounds, mut result) = (0, Ok(CommandOutcome::Done));
    let heard = |answers: &[(ServerAddress, Result<DeviceState, ServerError>)]| {
        rounds += 1;
        // A server that never answers is an error; one that stops answering is a state.
        if rounds == 1 && answers.iter().all(|(_, answer)| answer.is_err()) {
            let why = |(address, answer): &(ServerAddress, Result<_, ServerError>)| {
                Some(format!("{address}: {}", answer.as_ref().err()?))
            };
            result = Err(RequestError::Server(joined(
                answers.iter().filter_map(why),
                "\n",
            )));
            return false;
        }
        let text = if args.json {
            lines(answers)
        } else {
            screen(answers)
        };
        let text = if redraws {
            format!("\x1b[H\x1b[J{text}")
        } else {
            text
        };
        if let Err(failure) = output::print_text(&text) {
            result = Err(failure);
            return false;
        }
        args.count.is_none_or(|count| rounds < count)
    };
    monitor(&args.addresses, options, heard)
        .map_err(|error| RequestError::Internal(error.to_string()))?;
    stderr.detail(&format!("{rounds} answers"));
    result
}

/// A block for each host.
fn screen(answers: &[(ServerAddress, Result<DeviceState, ServerError>)]) -> String {
    let mut text = String::new();
    for (address, answer) in answers {
        let _ = writeln!(text, "{address}");
        match answer {
            Ok(state) => {
                let said = harmless(state.text.trim_end());
                for line in said.lines() {
                    let _ = writeln!(text, "  {line}");
                }
                if said.is_empty() {
                    text += &numbers(state);
                }
            }
            Err(why) => {
                let _ = writeln!(text, "  no answer: {}", harmless(&why.to_string()));
            }
        }
    }
    text
}

/// The numbers, for servers that send no text.
fn numbers(state: &DeviceState) -> String {
    let percent = |number: f64| value(number, Unit::Percent);
    let ms = |number: f64| Picos::from_ps((number * 1e9) as i64).to_string();
    let spread = |of: Spread, shown: &dyn Fn(f64) -> String| {
        format!(
            "mean {}, from {} to {}",
            shown(of.mean),
            shown(of.min),
            shown(of.max)
        )
    };
    let lines = [
        (
            "matrix units, share of their peak",
            state.mxu_percent.map(percent),
        ),
        (
            "devices idle, share of the time",
            state.idle_percent.map(percent),
        ),
        ("step time", state.step_ms.map(|step| spread(step, &ms))),
        (
            "waiting for input, share of a step",
            state.infeed_percent.map(|infeed| spread(infeed, &percent)),
        ),
    ];
    let told: String = lines
        .into_iter()
        .filter_map(|(what, told)| Some(format!("  {what}: {}\n", told?)))
        .collect();
    if told.is_empty() {
        "  the server tells nothing: no step was run in this time\n".to_owned()
    } else {
        told
    }
}

/// A line of JSON for each host.
fn lines(answers: &[(ServerAddress, Result<DeviceState, ServerError>)]) -> String {
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_millis() as f64 / 1e3);
    let line = |(address, answer): &(ServerAddress, Result<DeviceState, ServerError>)| {
        let mut line = match answer {
            Ok(state) => json!(state),
            Err(why) => json!({ "error": why.to_string() }),
        };
        line["address"] = json!(address.to_string());
        line["unix_time_s"] = json!(time);
        format!("{line}\n")
    };
    answers.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_shown_below_each_other_and_text_of_a_server_gives_no_orders() {
        let address = |port: u16| ServerAddress {
            host: "w".to_owned(),
            port,
        };
        let state = |text: &str| {
            Ok(DeviceState {
                text: text.to_owned(),
                ..DeviceState::default()
            })
        };
        let answers = [
            (address(1), state("Utilization: 10 %\x1b[2J\nIdle: 1 %\n")),
            (address(2), Err(ServerError::Lost("reset".to_owned()))),
            (address(3), state("")),
        ];
        let text = screen(&answers);
        assert!(
            text.starts_with("w:1\n  Utilization: 10 % [2J\n  Idle: 1 %\nw:2\n  no answer: "),
            "{text}"
        );
        assert!(
            text.ends_with("w:3\n  the server tells nothing: no step was run in this time\n"),
            "{text}"
        );
        assert!(
            lines(&answers)
                .lines()
                .all(|line| serde_json::from_str::<Value>(line).is_ok())
        );
    }

    #[test]
    fn only_reported_values_are_shown() {
        let step_ms = Some(Spread {
            mean: 4.0,
            min: 3.5,
            max: 5.0,
        });
        let state = DeviceState {
            mxu_percent: Some(10.0),
            step_ms,
            ..DeviceState::default()
        };
        let text = numbers(&state);
        assert_eq!(
            text,
            "  matrix units, share of their peak: 10.00 %\n  step time: mean 4.000 ms, from 3.500 ms to 5.000 ms\n"
        );
    }
}
