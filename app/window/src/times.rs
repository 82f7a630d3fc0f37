//! Times in the format that the user chose, and where those of the drawn trace come from. Sentences of reports keep four
//! digits, as on the command line. Both are stored per thread and set for every frame, so that they need not be passed
//! to everything that draws.

use std::cell::{Cell, RefCell};

use crate::prelude::*;
use analysis::Provenance;

use view::compare::change_text;

thread_local! {
    static FORMAT: Cell<TimeFormat> = const { Cell::new(TimeFormat::Digits) };
    static BADGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Sets the trace that is drawn next.
pub fn are_of(model: &TraceModel) {
    BADGE.replace(model.badge());
}

/// Where times come from that a profiler would have measured: `measured`, or the simulator or model.
pub fn origin() -> String {
    provenance(Provenance::Measured)
}

/// Where a number comes from.
pub fn provenance(of: Provenance) -> String {
    BADGE.with_borrow(|badge| of.title_in(badge.as_deref()).to_owned())
}

/// Sets the format of times.
pub fn write_as(format: TimeFormat) {
    FORMAT.set(format);
}

pub fn format() -> TimeFormat {
    FORMAT.get()
}

/// A time as text.
pub fn time(time: Picos) -> String {
    format().text(time)
}

/// A time in picoseconds as text.
pub fn time_ps(ps: i64) -> String {
    time(Picos::from_ps(ps))
}

/// Additional width, in points, of the longest times of a column, compared with four digits.
pub fn more_room() -> f32 {
    match format() {
        TimeFormat::Digits => 0.0,
        // A time with all five units, such as a sum of seconds over many devices.
        TimeFormat::Exact => 112.0,
        _ => 50.0,
    }
}

/// A change in picoseconds, with its sign and percentage.
pub fn change(ps: f64, percent: Option<Percent>) -> String {
    change_text(format(), ps, percent)
}
