//! Which events are wanted, and their rows in the table of slices.

use std::collections::BTreeSet;
use std::sync::Arc;

use analysis::Scope;
use analysis::engine::listed_to;
use analysis::reports::Steps;
use trace_model::{Picos, TimeRange, TrackId};

use super::pattern::NamePattern;
use crate::open::Session;
use crate::tables::{Catalog, DataColumn, DataTable, RowFilter, Value, is_on_device, track_kinds};

/// Which events are wanted. Of several patterns of one field, one must match; every field must match.
#[derive(Debug, Default)]
pub struct EventFilter {
    pub name: Vec<NamePattern>,
    /// Kinds of work.
    pub category: Vec<NamePattern>,
    pub program: Vec<NamePattern>,
    /// Names of tracks: threads of a host, lines of a device.
    pub track: Vec<NamePattern>,
    /// What tracks record.
    pub kind: Vec<NamePattern>,
    pub host: Vec<NamePattern>,
    /// Ordinals of devices; all if empty.
    pub device: Vec<u32>,
    /// The part of the trace in which an event begins.
    pub scope: Option<Scope>,
    /// Least length.
    pub least: Option<Picos>,
    /// Greatest length.
    pub most: Option<Picos>,
}

impl EventFilter {
    /// Why a kind of track is none that any trace has.
    pub fn unknown_kind(&self) -> Option<String> {
        let known = track_kinds();
        let is_known = |pattern: &NamePattern| known.iter().any(|kind| pattern.matches(kind));
        let is_unknown = self.kind.iter().any(|pattern| !is_known(pattern));
        is_unknown.then(|| format!("no track is of that kind; kinds are {}", known.join(", ")))
    }
}

/// The tables that hold the events of a session.
pub struct EventTables {
    pub slices: Arc<DataTable>,
    tracks: Arc<DataTable>,
    session: Session,
}

/// A column of texts, and whether each of its texts is wanted.
struct WantedTexts<'a> {
    column: &'a DataColumn,
    wanted: Vec<bool>,
}

impl<'a> WantedTexts<'a> {
    fn new(table: &'a DataTable, column: &str, patterns: &[NamePattern]) -> Option<Self> {
        if patterns.is_empty() {
            return None;
        }
        let column = table.column(column)?;
        let is_wanted = |text: &str| patterns.iter().any(|pattern| pattern.matches(text));
        Some(Self {
            column,
            wanted: column.choices()?.iter().map(is_wanted).collect(),
        })
    }

    fn has(&self, row: usize) -> bool {
        self.column
            .code(row)
            .is_some_and(|code| self.wanted.get(code as usize) == Some(&true))
    }
}

/// `there are a, b, c`: the texts of a column of which the patterns match none.
fn instead(table: &DataTable, column: &str, patterns: &[NamePattern]) -> Option<String> {
    /// Names that are listed: threads can be thousands.
    const LISTED: usize = 20;
    let texts = WantedTexts::new(table, column, patterns)?;
    if texts.wanted.contains(&true) {
        return None;
    }
    let known = texts.column.choices()?;
    let known: BTreeSet<&str> = known.iter().filter(|text| !text.is_empty()).collect();
    let known: Vec<&str> = known.into_iter().collect();
    Some(match &known[..] {
        [] => "none is recorded".to_owned(),
        [only] => format!("there is {only}"),
        _ => format!("there are {}", listed_to(&known, LISTED)),
    })
}

fn int(column: Option<&DataColumn>, row: usize) -> Option<i64> {
    match column?.value(row) {
        Value::Int(number) => Some(number),
        _ => None,
    }
}

impl EventTables {
    /// The tables of a session.
    ///
    /// # Panics
    ///
    /// Never: every session has these two tables.
    pub fn new(session: &Session) -> Self {
        let catalog = Catalog::whole(session);
        let table = |name: &str| {
            let table = catalog.timeline().iter().find(|table| table.name == name);
            Arc::clone(table.expect("every session has these tables"))
        };
        Self {
            slices: table("slices"),
            tracks: table("tracks"),
            session: session.clone(),
        }
    }

    /// The name of a filter on hosts or tracks that the trace does not have, and why it is refused.
    pub fn not_there(&self, filter: &EventFilter) -> Option<(&'static str, String)> {
        let filters = [("host", &filter.host), ("track", &filter.track)];
        filters.into_iter().find_map(|(word, patterns)| {
            let known = instead(&self.tracks, word, patterns)?;
            Some((word, format!("no {word} here has that name; {known}")))
        })
    }

    /// Why no event can match: a filter that no kind of track, name, category or program here matches, with those that are here.
    pub fn unmatched(&self, filter: &EventFilter) -> Option<String> {
        let filters = [
            ("kind", &self.tracks, "track_kind", &filter.kind),
            ("name", &self.slices, "name", &filter.name),
            ("category", &self.slices, "category", &filter.category),
            ("program", &self.slices, "program", &filter.program),
        ];
        filters
            .into_iter()
            .find_map(|(word, table, column, patterns)| {
                let known = instead(table, column, patterns)?;
                Some(format!("no event here is of that {word}; {known}"))
            })
    }

    /// Calls `each_row` with the row of every wanted event, track by track, until it answers false.
    pub fn each(&self, filter: &EventFilter, mut each_row: impl FnMut(usize) -> bool) {
        let slices = &*self.slices;
        let texts = [
            ("name", &filter.name),
            ("category", &filter.category),
            ("program", &filter.program),
        ];
        let texts: Vec<_> = texts
            .iter()
            .filter_map(|(column, patterns)| WantedTexts::new(slices, column, patterns))
            .collect();
        if texts.iter().any(|texts| !texts.wanted.contains(&true)) {
            return;
        }
        let (least, most) = (
            filter.least.map_or(i64::MIN, Picos::ps),
            filter.most.map_or(i64::MAX, Picos::ps),
        );
        let is_any_length = filter.least.is_none() && filter.most.is_none();
        let (dur, step, track) = (
            slices.column("dur_ps"),
            slices.column("step"),
            slices.column("track_id"),
        );
        let steps = match filter.scope {
            Some(Scope::Steps { first, last }) => Some(i64::from(first)..=i64::from(last)),
            _ => None,
        };
        let wanted_tracks = self.tracks(filter);
        for rows in slices.find(&self.limits(filter)) {
            // A range of rows lies in one lane.
            let is_wanted = int(track, rows.start)
                .and_then(|track| wanted_tracks.get(usize::try_from(track).ok()?));
            if is_wanted != Some(&true) {
                continue;
            }
            for row in rows {
                let is_wanted = texts.iter().all(|texts| texts.has(row))
                    && (is_any_length
                        || int(dur, row).is_some_and(|dur| (least..=most).contains(&dur)))
                    && steps.as_ref().is_none_or(|steps| {
                        int(step, row).is_some_and(|step| steps.contains(&step))
                    });
                if is_wanted && !each_row(row) {
                    return;
                }
            }
        }
    }

    /// What the index of the table is asked for.
    fn limits(&self, filter: &EventFilter) -> Vec<RowFilter> {
        let range = match filter.scope {
            Some(Scope::Range(range)) => Some(range),
            Some(Scope::Steps { first, last }) => {
                let steps = self.session.report::<Steps>(Scope::WholeTrace).ok();
                // A step starts at different times on each device: this holds all of them.
                steps.and_then(|steps| {
                    let wanted = steps
                        .steps
                        .iter()
                        .filter(|step| (first..=last).contains(&step.number));
                    wanted
                        .flat_map(|step| step.spans.iter().map(|span| span.range))
                        .reduce(TimeRange::hull)
                })
            }
            Some(Scope::WholeTrace) | None => None,
        };
        let column = self
            .slices
            .columns
            .iter()
            .position(|column| column.name == "start_ps")
            .unwrap_or_default();
        let (least, most) = range.map_or((i64::MIN, i64::MAX), |range| {
            (range.start.ps(), range.end.ps().saturating_sub(1))
        });
        vec![RowFilter {
            column,
            least,
            most,
        }]
    }

    /// Whether each track is wanted.
    fn tracks(&self, filter: &EventFilter) -> Vec<bool> {
        let texts = [
            ("track", &filter.track),
            ("track_kind", &filter.kind),
            ("host", &filter.host),
        ];
        let texts: Vec<_> = texts
            .iter()
            .filter_map(|(column, patterns)| WantedTexts::new(&self.tracks, column, patterns))
            .collect();
        let model = self.session.whole_model();
        let of_device =
            |track: TrackId| filter.device.is_empty() || is_on_device(model, track, &filter.device);
        let is_wanted = |(row, track): (usize, TrackId)| {
            texts.iter().all(|texts| texts.has(row)) && of_device(track)
        };
        model.track_ids().enumerate().map(is_wanted).collect()
    }
}
