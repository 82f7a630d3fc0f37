//! The place that is shown, as the part of an address after `#`: a link shows a colleague the same.
//!
//! `#t=A..B&sel=SLICE&tab=TAB&scope=FIRST..LAST`: visible time and scope in times as on the ruler, the scope also in
//! steps (`steps:3..5`). Parts that cannot be read, or that the trace does not have, are left out.

#![cfg_attr(
    not(target_arch = "wasm32"),
    allow(dead_code, reason = "only a browser has addresses")
)]

use std::fmt::Write as _;

use trace_model::{Picos, SliceId, TimeRange, Timestamp, TraceModel};

use view::state::{ReportScope, ViewCommand, ViewState};

/// How long the view rests before the address follows, in seconds: browsers refuse to change it often.
const REST_S: f64 = 0.3;

/// A place in a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    time: Option<TimeRange>,
    selection: Option<usize>,
    tab: Option<String>,
    scope: Option<ReportScope>,
}

impl Place {
    /// The place that a view shows.
    pub fn of(state: &ViewState) -> Self {
        Self {
            time: Some(state.place.time.range()),
            selection: state.place.selection.map(SliceId::index),
            tab: Some(state.tab.clone()),
            scope: Some(state.scope).filter(|scope| *scope != ReportScope::Capture),
        }
    }

    /// The place that a link names.
    pub fn parse(text: &str) -> Self {
        let mut place = Self::default();
        for part in text.trim_start_matches('#').split('&') {
            let Some((name, value)) = part.split_once('=') else {
                continue;
            };
            match name {
                "t" => place.time = range(value),
                "sel" => place.selection = value.parse().ok(),
                "tab" => place.tab = Some(value.to_owned()).filter(|tab| is_plain(tab)),
                "scope" => place.scope = scope(value),
                _ => {}
            }
        }
        place
    }

    /// What leads there in this trace.
    pub fn commands(&self, model: &TraceModel) -> Vec<ViewCommand> {
        let mut commands = Vec::new();
        commands.extend(self.scope.map(ViewCommand::Scope));
        commands.extend(self.tab.clone().map(ViewCommand::ShowTab));
        let known = self.selection.filter(|&row| row < model.slice_count());
        commands.extend(known.map(|row| ViewCommand::GoTo(SliceId::from_index(row))));
        // Last: going to a slice moves the view.
        let extent = model.extent();
        commands.extend(
            self.time
                .filter(|time| time.overlaps(extent))
                .map(ViewCommand::Show),
        );
        commands
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        if let Some(time) = self.time {
            write!(text, "&t={}", written(time))?;
        }
        if let Some(row) = self.selection {
            write!(text, "&sel={row}")?;
        }
        if let Some(tab) = &self.tab {
            write!(text, "&tab={tab}")?;
        }
        match self.scope {
            Some(ReportScope::Steps { first, last }) => {
                write!(text, "&scope=steps:{first}..{last}")?;
            }
            Some(ReportScope::Range(range)) => write!(text, "&scope={}", written(range))?,
            Some(ReportScope::Capture) | None => {}
        }
        f.write_str(text.get(1..).unwrap_or_default())
    }
}

fn written(range: TimeRange) -> String {
    format!("{}ps..{}ps", range.start.ps(), range.end.ps())
}

fn range(text: &str) -> Option<TimeRange> {
    let (start, end) = text.split_once("..")?;
    let at = |text: &str| Some(Timestamp::from_ps(text.parse::<Picos>().ok()?.ps()));
    let (start, end) = (at(start)?, at(end)?);
    (start < end).then(|| TimeRange::new(start, end))
}

fn scope(text: &str) -> Option<ReportScope> {
    let Some(steps) = text.strip_prefix("steps:") else {
        return range(text).map(ReportScope::Range);
    };
    let (first, last) = steps.split_once("..")?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(ReportScope::Steps { first, last })
}

fn is_plain(tab: &str) -> bool {
    !tab.is_empty()
        && tab.len() <= 40
        && tab
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Follows the view, and leads there after a start from a link.
#[derive(Debug, Default)]
pub struct AddressBar {
    wanted: Option<Place>,
    last: String,
    since_s: f64,
    is_shown: bool,
}

impl AddressBar {
    /// Leads to this place once a trace is open.
    pub fn want(&mut self, text: &str) {
        self.wanted = Some(Place::parse(text));
    }

    /// What leads to the wanted place, once.
    pub fn take_wanted(&mut self, model: &TraceModel) -> Vec<ViewCommand> {
        self.wanted
            .take()
            .map_or_else(Vec::new, |place| place.commands(model))
    }

    /// The place to show in the address, if the view came to rest there at `now_s`; else how long to wait.
    pub fn follow(&mut self, place: &Place, now_s: f64) -> Result<String, Option<f64>> {
        let text = place.to_string();
        if text != self.last {
            (self.last, self.since_s, self.is_shown) = (text, now_s, false);
        }
        let rested = now_s - self.since_s;
        if self.is_shown {
            Err(None)
        } else if rested < REST_S {
            Err(Some(REST_S - rested))
        } else {
            self.is_shown = true;
            Ok(self.last.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use sample_traces::text_trace;

    use super::*;

    #[test]
    fn a_link_leads_to_the_place_it_was_made_of() {
        let model = text_trace("@device TPU v5e\nops: AAABBB");
        let mut state = ViewState::new(&model);
        let first = model.all_slices().next().unwrap().id();
        let extent = model.extent();
        let part = TimeRange::new(
            extent.start,
            extent.start + Picos::from_ps(extent.dur().ps() / 3),
        );
        for command in [
            ViewCommand::GoTo(first),
            ViewCommand::ShowTab("ops".to_owned()),
            ViewCommand::Scope(ReportScope::Steps { first: 1, last: 2 }),
            ViewCommand::Show(part),
        ] {
            state.apply(&command, &model);
        }
        let text = Place::of(&state).to_string();
        let mut other = ViewState::new(&model);
        for command in Place::parse(&text).commands(&model) {
            other.apply(&command, &model);
        }
        assert_eq!(Place::of(&other), Place::of(&state), "{text}");
        assert_eq!(
            (other.place.selection, other.tab.as_str()),
            (Some(first), "ops")
        );
    }

    #[test]
    fn nonsense_in_a_link_is_left_out() {
        let model = text_trace("@device TPU v5e\nops: AAABBB");
        for text in [
            "",
            "#",
            "#t=2..1",
            "t=1..",
            "sel=999999",
            "tab=<b>",
            "scope=steps:5..3",
            "x=1&&=&t",
            "t=9e9s..9e9s",
        ] {
            assert_eq!(Place::parse(text).commands(&model), [], "{text}");
        }
        assert_eq!(
            Place::parse("t=1ms..2ms").time,
            range("1000us..2000us"),
            "any unit"
        );
    }

    #[test]
    fn the_address_follows_a_view_at_rest() {
        let (mut bar, place) = (AddressBar::default(), Place::parse("tab=ops"));
        assert!(matches!(bar.follow(&place, 1.0), Err(Some(_))));
        assert_eq!(bar.follow(&place, 1.5).as_deref(), Ok("tab=ops"));
        assert_eq!(bar.follow(&place, 9.0), Err(None), "it is there");
        assert!(matches!(
            bar.follow(&Place::parse("tab=hints"), 9.0),
            Err(Some(_))
        ));
    }
}
