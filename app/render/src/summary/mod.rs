//! The screen of `systole analyze`. The only renderer that knows particular analyses; full tables are available with
//! `--only`.

mod bar;
mod lines;
mod ops;

use analysis::hints::Hints;
use analysis::reports::summary::verdict::RunVerdict;
use analysis::reports::{Compile, Ops, Overlap, Steps, Utilization};
use analysis::{ANALYSES, Analysis as _, Scope};

use trace_model::Caveat;

use crate::{Document, TextLayout, hints};
use view::overview::{KeyFigure, Overview};

pub use bar::{in_words as part_in_words, title as step_title};
pub use lines::{CAUTIONS, files, ran, remark};

/// Reports of a first screen, computed together.
const REPORTS: [&str; 7] = [
    RunVerdict::ID,
    Hints::ID,
    Steps::ID,
    Overlap::ID,
    Compile::ID,
    Utilization::ID,
    Ops::ID,
];
/// Number of hints on a first screen; the others are available with `--only`.
pub const HINTS_SHOWN: usize = 3;
/// Lines of the screen where there are at least [`WIDE`] columns.
const LINES: usize = 30;
/// Lines where there are fewer columns.
const NARROW_LINES: usize = 36;
const WIDE: usize = 100;
/// Figures that are shown even if the code of a hint does not fit.
const LEAST_FIGURES: usize = 2;
const FOOTER: &str =
    "All tables: --only ID. All numbers: --format json. Data quality: systole doctor.";

/// What every first screen of a run selects from.
pub fn overview(document: &Document) -> Overview {
    let session = &document.session;
    let shown: Vec<_> = ANALYSES
        .iter()
        .filter(|entry| REPORTS.contains(&entry.id))
        .collect();
    session.context(document.scope).reports_of(&shown);
    Overview::of(document, session, document.scope == Scope::WholeTrace)
}

/// The figures that matter; none where lengths are not known.
pub fn figures<'a>(document: &Document, overview: &'a Overview) -> Vec<&'a KeyFigure> {
    if document
        .session
        .model()
        .has_caveat(Caveat::PlaceholderTimes)
    {
        return Vec::new();
    }
    overview.figures_that_matter()
}

/// The screen, of at most [`LINES`] lines.
pub fn screen(document: &Document, layout: &TextLayout) -> String {
    let model = document.session.model();
    let overview = overview(document);
    let has_times = !model.has_caveat(Caveat::PlaceholderTimes);
    let mut room = LinesLeft(if layout.width >= WIDE {
        LINES
    } else {
        NARROW_LINES
    });
    let footer = room.take(layout.dim_lines(0, FOOTER));
    let mut parts = vec![
        room.take(lines::header(document, &overview, layout)),
        room.take(lines::sessions_apart(&overview, layout)),
        room.take(lines::limit(&overview, layout)),
    ];
    let cautions = room.take(lines::cautions(&overview, layout));
    let limit = overview
        .hints
        .as_ref()
        .and_then(|hints| hints.limit.as_ref());
    let bar = limit.map(|limit| room.take(bar::of_step(limit, layout)));
    let short = |detail| {
        let report = overview.hints.as_ref();
        report.map_or_else(String::new, |report| {
            hints::short(report, HINTS_SHOWN, detail, layout)
        })
    };
    let chosen = figures(document, &overview);
    let figures = |number| lines::figures(model.badge().as_deref(), &chosen[..number], layout);
    let lines_of = |text: &str| text.lines().count() + 1;
    let left = room.0.saturating_sub(lines_of(&short(0)));
    // Fewer figures where the code of the first hint would not fit beside them.
    let with_code = room.0.saturating_sub(lines_of(&short(hints::WITH_CODE)));
    let numbers = || (0..=chosen.len()).rev();
    let fits = |room: usize| move |number: &usize| lines_of(&figures(*number)) <= room;
    let number = numbers()
        .filter(|&number| number >= LEAST_FIGURES)
        .find(fits(with_code))
        .or_else(|| numbers().find(fits(left)));
    let figures = number.map(|number| room.take(figures(number)));
    // The first hint is told in full where there is room for all of it.
    let mut details = (0..=hints::MOST_DETAIL).rev().map(short);
    let hints = details.find(|text| lines_of(text) <= room.0);
    parts.push(room.take(hints.unwrap_or_else(|| short(0))));
    parts.extend(bar);
    parts.extend(figures);
    parts.extend(has_times.then(|| ops::top(document, room.0, layout)));
    parts.push(cautions);
    parts.push(footer);
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Lines that are left.
struct LinesLeft(usize);

impl LinesLeft {
    /// Takes the lines of a part, and of the blank line before it.
    fn take(&mut self, part: String) -> String {
        let lines = part.lines().count();
        self.0 = self.0.saturating_sub(lines + usize::from(lines > 0));
        part
    }
}
