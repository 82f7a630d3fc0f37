//! Times as the user wants them written. The window has one format; who draws need not
//! be told, so it is known to the thread that draws, set anew for every frame.

use std::cell::Cell;

use trace_model::Picos;

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
