//! Times as the user wants them written, wherever the window writes one. Sentences of
//! reports keep four digits: they are the same as on the command line. The window has one
//! format; who draws need not be told, so it is known to the thread that draws, set anew
//! for every frame.

use std::cell::Cell;

use trace_model::Picos;

use crate::view::compare::change_text;
use crate::view::time_format::TimeFormat;

thread_local! {
    static FORMAT: Cell<TimeFormat> = const { Cell::new(TimeFormat::Digits) };
}

/// Writes times so from now on.
pub fn write_as(format: TimeFormat) {
    FORMAT.set(format);
}

/// How times are written.
pub fn format() -> TimeFormat {
    FORMAT.get()
}

/// A time for people.
pub fn time(time: Picos) -> String {
    format().text(time)
}

/// What the longest times of a column take more than one of four digits, in points.
pub fn more_room() -> f32 {
    match format() {
        TimeFormat::Digits => 0.0,
        // All five units, as of seconds summed up over many devices.
        TimeFormat::Exact => 112.0,
        _ => 50.0,
    }
}

/// By how much a time changed, in picoseconds, with its sign; and its share.
pub fn change(ps: f64, percent: Option<f64>) -> String {
    change_text(format(), ps, percent)
}
