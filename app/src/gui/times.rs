//! Times as the user wants them written: on the timeline, in the details, in tables and
//! in trees, and in what is compared. The overview, the hints and the plots keep four
//! digits: their columns are narrow, and they are read at a glance. The window has one
//! format; who draws need not be told, so it is known to the thread that draws, set anew
//! for every frame.

use std::cell::Cell;

use trace_model::Picos;

use crate::view::pair::change_text;
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

/// By how much a time changed, in picoseconds, with its sign; and its share.
pub fn change(ps: f64, percent: Option<f64>) -> String {
    change_text(format(), ps, percent)
}
