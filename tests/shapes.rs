//! Documents with many items of one kind: tracks, names, steps, flows, levels.

use std::fmt::Write as _;

/// The kind of item, and the document with `n` of them.
type Shape = (&'static str, fn(usize) -> String);

pub const SHAPES: &[Shape] = &[
    ("counters", counters),
    ("threads", threads),
    ("processes", processes),
    ("names", names),
    ("levels", levels),
    ("overlaps", overlaps),
    ("arrows", arrows),
    ("open spans", open_spans),
    ("levels of ops", levels_of_ops),
    ("devices", devices),
    ("programs", programs),
    ("steps that compile", steps_that_compile),
    ("steps of a device", steps_of_a_device),
];

const DEVICE: &str = r#"{"ph":"M","name":"process_name","pid":3,"args":{"name":"/device:TPU:0"}},
    {"ph":"M","name":"thread_name","pid":3,"tid":1,"args":{"name":"Steps"}},
    {"ph":"M","name":"thread_name","pid":3,"tid":2,"args":{"name":"XLA Modules"}},
    {"ph":"M","name":"thread_name","pid":3,"tid":3,"args":{"name":"XLA Ops"}},"#;

/// `head`, and an event or several for each number.
fn document(head: &str, n: usize, event: impl Fn(usize) -> String) -> String {
    let mut text = format!("[{head}");
    for i in 0..n {
        let _ = write!(text, "{},", event(i));
    }
    text + "{}]"
}

/// A complete event.
fn slice(pid: usize, tid: usize, ts: usize, dur: usize, name: &str) -> String {
    format!(r#"{{"ph":"X","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"name":"{name}"}}"#)
}

fn op(pid: usize, ts: usize, dur: usize, name: &str, category: &str) -> String {
    let event = slice(pid, 3, ts, dur, name);
    format!(
        r#"{},"args":{{"hlo_category":"{category}"}}}}"#,
        event.trim_end_matches('}')
    )
}

fn counters(n: usize) -> String {
    document("", n, |i| {
        format!(r#"{{"ph":"C","pid":1,"ts":{i},"name":"c{i}","args":{{"v":{i}}}}}"#)
    })
}

fn threads(n: usize) -> String {
    document("", n, |i| slice(1, i, i, 5, "a"))
}

fn processes(n: usize) -> String {
    document("", n, |i| slice(i, 1, i, 5, "a"))
}

fn names(n: usize) -> String {
    document("", n, |i| slice(1, 1, i * 10, 5, &format!("name{i}")))
}

fn levels(n: usize) -> String {
    document("", n, |i| slice(1, 1, i, 2 * (n - i), "a"))
}

fn overlaps(n: usize) -> String {
    document("", n, |i| slice(1, 1, i, n, "a"))
}

fn arrows(n: usize) -> String {
    document("", n, |i| {
        let ph = if i % 2 == 0 { "s" } else { "f" };
        let arrow = format!(
            r#"{{"ph":"{ph}","id":7,"pid":1,"tid":{},"ts":{},"name":"f","cat":"c"}}"#,
            i % 2,
            i * 10
        );
        format!("{},{arrow}", slice(1, i % 2, i * 10, 5, "a"))
    })
}

fn open_spans(n: usize) -> String {
    document("", n, |i| {
        format!(
            r#"{{"ph":"b","cat":"c","id":1,"pid":1,"tid":1,"ts":{i},"name":"n{}"}}"#,
            i % 7
        )
    })
}

fn levels_of_ops(n: usize) -> String {
    document(DEVICE, n, |i| {
        op(3, i, 2 * (n - i), &format!("while.{i}"), "while")
    })
}

/// Fewer than other items: some analyses search a device among all devices, which is
/// quadratic, but fast even for the number of devices of the largest systems.
fn devices(n: usize) -> String {
    document("", n / 16, |i| {
        let pid = i + 3;
        let name = format!(
            r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"/device:TPU:{i}"}}}}"#
        );
        let line = |tid: usize, line: &str| {
            format!(
                r#"{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":"{line}"}}}}"#
            )
        };
        let (modules, ops) = (line(2, "XLA Modules"), line(3, "XLA Ops"));
        let ran = slice(pid, 2, 1, 9, "jit_f(1)");
        format!(
            "{name},{modules},{ops},{ran},{}",
            op(pid, 1, 9, "all-reduce.1", "all-reduce")
        )
    })
}

fn programs(n: usize) -> String {
    document(DEVICE, n / 2, |i| {
        format!(
            "{},{}",
            slice(3, 2, i * 10, 9, &format!("jit_f{i}({i})")),
            op(3, i * 10, 9, "fusion.1", "loop fusion")
        )
    })
}

fn steps_that_compile(n: usize) -> String {
    let host = r#"{"ph":"M","name":"process_name","pid":701,"args":{"name":"/host:CPU"}},"#;
    document(host, n / 2, |i| {
        let step = slice(701, 1, i * 10, 9, "train");
        let step = format!(
            r#"{},"args":{{"step_num":"{i}"}}}}"#,
            step.trim_end_matches('}')
        );
        format!(
            "{step},{}",
            slice(701, 1, i * 10 + 1, 3, "XlaCompile:#module=jit_f#")
        )
    })
}

fn steps_of_a_device(n: usize) -> String {
    document(DEVICE, n / 3, |i| {
        let (step, ran) = (
            slice(3, 1, i * 100, 90, &i.to_string()),
            slice(3, 2, i * 100, 90, "jit_f(1)"),
        );
        format!(
            "{step},{ran},{}",
            op(3, i * 100, 90, "fusion.1", "loop fusion")
        )
    })
}
