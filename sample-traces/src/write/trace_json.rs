//! A [`SampleSession`] as the profiler exports it to `*.trace.json`.
//!
//! Like the export, this writer drops plane facts, the async line, some stats and the
//! upper half of thread ids, and turns every argument into text. See
//! `xplane_to_trace_events.cc` and `trace_events_to_json.cc` in openxla/xla.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::session::{SampleLine, SamplePlane, SampleSession, SampleStat, SampleValue};

const HOST_PID: i64 = 701;
/// Stats that the export drops.
const INTERNAL_STATS: [&str; 8] = [
    "_pt",
    "_p",
    "_ct",
    "_c",
    "_r",
    "flops",
    "program_id",
    "symbol_id",
];

/// The text of a `*.trace.json` file.
pub fn trace_json(session: &SampleSession) -> String {
    let exported: Vec<_> = session
        .planes
        .iter()
        .filter_map(|plane| Some((pid(plane)?, plane)))
        .collect();
    let mut out = String::from(r#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true"#);
    if !session.remark.is_empty() {
        out.push_str(",\"remark\":");
        quote(&session.remark, &mut out);
    }
    out.push_str("},\"traceEvents\":[");
    for &(pid, plane) in &exported {
        process(pid, plane, &mut out);
    }
    for &(pid, plane) in &exported {
        for line in plane
            .lines
            .iter()
            .filter(|line| line.name != "Async XLA Ops")
        {
            for event in &line.events {
                duration_event(pid, plane, line, event, &mut out);
            }
        }
    }
    out.push_str("{}]}");
    out
}

/// The process number of an exported plane; other planes are not exported.
fn pid(plane: &SamplePlane) -> Option<i64> {
    match plane.name.as_str() {
        "/host:CPU" => Some(HOST_PID),
        name if name.starts_with("/device:TPU:") => Some(1 + plane.id),
        _ => None,
    }
}

/// The low 32 bits of the line's id.
fn tid(line: &SampleLine) -> u32 {
    line.id as u32
}

fn process(pid: i64, plane: &SamplePlane, out: &mut String) {
    let _ = write!(
        out,
        r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":"#
    );
    quote(&plane.name, out);
    let _ = write!(
        out,
        r#"}}}},{{"ph":"M","pid":{pid},"name":"process_sort_index","args":{{"sort_index":{pid}}}}},"#
    );
    for (ordinal, line) in plane.lines.iter().enumerate() {
        let tid = tid(line);
        let sort = if pid == HOST_PID {
            ordinal as u32 + 1
        } else {
            tid
        };
        let _ = write!(
            out,
            r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":"#
        );
        quote(&line.name, out);
        let _ = write!(
            out,
            r#"}}}},{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_sort_index","args":{{"sort_index":{sort}}}}},"#
        );
    }
}

fn duration_event(
    pid: i64,
    plane: &SamplePlane,
    line: &SampleLine,
    event: &crate::session::SampleEvent,
    out: &mut String,
) {
    let metadata = &plane.metadata[event.metadata];
    let microseconds = |ps: i64| ps as f64 / 1e6;
    let start = line.timestamp_ns * 1000 + event.offset_ps;
    let _ = write!(
        out,
        r#"{{"ph":"X","pid":{pid},"tid":{},"ts":{},"dur":{},"name":"#,
        tid(line),
        seventeen_digits(microseconds(start)),
        seventeen_digits(microseconds(event.duration_ps.max(1))),
    );
    let mut args: BTreeMap<&str, String> = BTreeMap::new();
    if metadata.display_name.is_empty() {
        quote(&metadata.name, out);
    } else {
        quote(&metadata.display_name, out);
        args.insert("long_name", metadata.name.clone());
    }
    for stat in metadata.stats.iter().chain(&event.stats) {
        if !INTERNAL_STATS.contains(&stat.name.as_str()) {
            args.insert(&stat.name, as_text(stat));
        }
    }
    for (index, (name, value)) in args.iter().enumerate() {
        out.push_str(if index == 0 { ",\"args\":{" } else { "," });
        quote(name, out);
        out.push(':');
        quote(value, out);
    }
    out.push_str(if args.is_empty() { "}," } else { "}}," });
}

fn as_text(stat: &SampleStat) -> String {
    match &stat.value {
        SampleValue::Int(value) => value.to_string(),
        SampleValue::Uint(value) => value.to_string(),
        SampleValue::Double(value) => value.to_string(),
        SampleValue::Text(value) | SampleValue::Ref(value) => value.clone(),
        SampleValue::Bytes(_) => "<opaque bytes>".to_owned(),
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 0x20 => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Formats like `%.17g`: seventeen significant digits, with an exponent where that is shorter.
fn seventeen_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.16e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        let kept = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            text
        };
        kept.to_owned()
    };
    if (-4..17).contains(&exponent) {
        trim(&format!("{value:.*}", (16 - exponent).max(0) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(digits), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::uint;

    #[test]
    fn threads_are_numbered_by_the_low_half_of_their_line() {
        let line = |id| SampleLine {
            id,
            name: String::new(),
            timestamp_ns: 0,
            events: Vec::new(),
        };
        assert_eq!(tid(&line(9_183_218_585_576_192_760)), 403_225_336);
        assert_eq!(tid(&line(-7_565_713_996_007_134_123)), 2_613_783_637);
    }

    #[test]
    fn numbers_have_seventeen_digits_as_in_the_export() {
        for (value, expected) in [
            (2.0, "2"),
            (7.8e-5, "7.7999999999999999e-05"),
            (151_685.792_5, "151685.79250000001"),
            (0.013_828, "0.013828"),
            (0.001_094, "0.0010939999999999999"),
            (0.0, "0"),
        ] {
            assert_eq!(seventeen_digits(value), expected);
        }
    }

    #[test]
    fn facts_unknown_to_the_export_are_omitted() {
        let mut plane = SamplePlane::device(0, 0, Vec::new());
        let facts = [uint("flops", 3), uint("run_id", 4)];
        plane.event((-1, "XLA Ops"), "say \"hi\"", 5, 0, facts);
        plane.event((4, "Async XLA Ops"), "copy-start", 0, 9, []);
        let session = SampleSession {
            planes: vec![plane],
            ..SampleSession::default()
        };
        let json = trace_json(&session);
        assert!(json.contains(
            r#"{"ph":"X","pid":3,"tid":4294967295,"ts":5.0000000000000004e-06,"dur":9.9999999999999995e-07,"name":"say \"hi\"","args":{"run_id":"4"}},"#
        ), "{json}");
        assert!(json.ends_with(",{}]}") && !json.contains("copy-start") && !json.contains("flops"));
    }
}
