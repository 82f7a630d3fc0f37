//! Rows of a model with the columns of Perfetto.
#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests"
)]

use std::collections::BTreeMap;

use trace_model::{ArgValue, GroupKind, SliceAttr, SliceRef, TraceModel, TrackKind};

const NULL: &str = "[NULL]";

/// What a case asks about.
pub(super) enum Ask {
    /// Slices of threads and processes.
    Slices,
    /// Slices of asynchronous tracks.
    Async,
    Counters,
    /// Facts of the session.
    Facts,
    Processes,
}

/// A row by column; a column that is asked twice has two values.
type Row = BTreeMap<&'static str, Vec<String>>;

fn set(row: &mut Row, column: &'static str, value: impl ToString) {
    row.entry(column).or_default().push(value.to_string());
}

fn ns(model: &TraceModel, ps: i64) -> i128 {
    (model.sources()[0].origin_ps + i128::from(ps)) / 1000
}

fn named(name: &str, placeholder: &str) -> String {
    if name.starts_with(placeholder) {
        NULL.to_owned()
    } else {
        name.to_owned()
    }
}

fn slice_row(model: &TraceModel, slice: SliceRef<'_>) -> Row {
    let track = slice.track_ref();
    let group = model.group(track.group);
    let mut row = Row::new();
    set(&mut row, "ts", ns(model, slice.start().ps()));
    let unterminated = slice.attr(SliceAttr::Unterminated).is_some();
    set(
        &mut row,
        "dur",
        if unterminated {
            -1
        } else {
            slice.dur().ps() / 1000
        },
    );
    set(&mut row, "name", slice.name());
    set(&mut row, "state", slice.name());
    set(&mut row, "depth", slice.depth());
    let main = named(model.str(track.name), "main thread");
    set(&mut row, "thread_name", named(&main, "thread "));
    // A state lies on a track beside that of its thread.
    let state_of = model
        .str(track.name)
        .strip_prefix("state of ")
        .map(str::to_owned);
    set(
        &mut row,
        "tid",
        state_of.unwrap_or_else(|| track.external_id.to_string()),
    );
    set(
        &mut row,
        "process_name",
        named(model.str(group.name), "process "),
    );
    set(&mut row, "track_name", model.str(track.name));
    if let GroupKind::Process { pid } = group.kind {
        set(&mut row, "pid", pid);
    }
    for (arg, column) in [("tts", "thread_ts"), ("tdur", "thread_dur")] {
        if let Some(value) = arg_of(slice, arg).and_then(|value| value.as_f64()) {
            set(&mut row, column, (value * 1000.0).round());
        }
    }
    for (arg, column) in [
        ("io_wait", "io_wait"),
        ("blocked_function", "blocked_function"),
        ("cpu", "cpu"),
    ] {
        set(
            &mut row,
            column,
            arg_of(slice, arg).map_or(NULL.to_owned(), |value| value.to_string()),
        );
    }
    row
}

fn arg_of(slice: SliceRef<'_>, name: &str) -> Option<ArgValue> {
    slice
        .args()
        .unwrap()
        .into_iter()
        .find(|arg| arg.name == name)
        .map(|arg| arg.value)
}

/// Members of an event beside `args`, which Perfetto keeps in columns.
const NOT_ARGS: &[&str] = &["cat", "tts", "tdur", "s", "id"];

/// One row for each argument, one without if there is none.
fn with_args(row: &Row, slice: SliceRef<'_>, columns: &[&str]) -> Vec<Row> {
    if !columns.contains(&"key") {
        return vec![row.clone()];
    }
    let mut args = slice.args().unwrap();
    args.retain(|arg| {
        !NOT_ARGS.contains(&&*arg.name)
            && !arg.name.starts_with("id2")
            && arg.value != ArgValue::Null
    });
    let as_row = |key: &str, text: &str, int: &str| {
        let mut row = row.clone();
        for (column, value) in [
            ("flat_key", key),
            ("key", key),
            ("string_value", text),
            ("int_value", int),
        ] {
            set(&mut row, column, value);
        }
        row
    };
    if args.is_empty() {
        return vec![as_row(NULL, NULL, NULL)];
    }
    args.iter()
        .map(|arg| {
            let key = format!("args.{}", arg.name);
            match (&arg.value, arg.value.as_i64()) {
                (ArgValue::Text(text), _) => as_row(&key, text, NULL),
                (_, Some(int)) => as_row(&key, NULL, &int.to_string()),
                _ => as_row(&key, NULL, NULL),
            }
        })
        .collect()
}

pub(super) fn answers(model: &TraceModel, ask: &Ask, columns: &[&str]) -> Vec<Row> {
    match ask {
        Ask::Slices | Ask::Async => {
            let is_async = matches!(ask, Ask::Async);
            let on_thread = |slice: &SliceRef<'_>| {
                let track = slice.track_ref();
                (track.kind == TrackKind::Async) == is_async
                    && model.str(track.name) != "Global instants"
            };
            let slices = model.all_slices().filter(on_thread);
            slices
                .flat_map(|slice| with_args(&slice_row(model, slice), slice, columns))
                .collect()
        }
        Ask::Counters => model
            .counters()
            .iter()
            .flat_map(|series| counter_rows(model, series))
            .collect(),
        Ask::Facts => model.sources()[0]
            .facts
            .iter()
            .map(|(name, value)| {
                let mut row = Row::new();
                let int = value.parse::<i64>().is_ok();
                set(&mut row, "name", format!("json_metadata.{name}"));
                set(&mut row, "int_value", if int { value } else { NULL });
                set(&mut row, "str_value", if int { NULL } else { value });
                row
            })
            .collect(),
        Ask::Processes => model
            .groups()
            .iter()
            .map(|group| process_row(model, group))
            .collect(),
    }
}

fn counter_rows(model: &TraceModel, series: &trace_model::CounterSeries) -> Vec<Row> {
    let track = model.track(series.track());
    series
        .samples()
        .map(|(at, value)| {
            let mut row = Row::new();
            set(&mut row, "ts", ns(model, at.start.ps()));
            set(&mut row, "value", format!("{value:.6}"));
            if let GroupKind::Process { pid } = model.group(track.group).kind {
                set(&mut row, "pid", pid);
            }
            // Where two names are asked, the first is the thread's.
            row.insert("name", vec![model.str(track.name).to_owned()]);
            row
        })
        .collect()
}

fn process_row(model: &TraceModel, group: &trace_model::Group) -> Row {
    let mut row = Row::new();
    if let GroupKind::Process { pid } = group.kind {
        set(&mut row, "pid", pid);
    }
    set(&mut row, "name", model.str(group.name));
    row
}

pub(super) fn render(row: &Row, columns: &[&str]) -> String {
    let cell = |column: &str| {
        row.get(column)
            .and_then(|values| values.first())
            .map_or(NULL, String::as_str)
    };
    columns
        .iter()
        .map(|column| cell(column))
        .collect::<Vec<_>>()
        .join(",")
}

/// Cells of a line without their quotes; the suite has no commas inside.
pub(super) fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(|cell| cell.trim_matches('"')).collect()
}

/// Columns of Perfetto's own book-keeping, or that the model shows another way.
pub(super) fn is_compared(column: &str) -> bool {
    column != "track_type"
}
