//! The place that is shown, as the part of an address after `#` and as the value of `--view`: a colleague sees the same.
//!
//! `t=A..B&sel=SLICE&tab=TAB&scope=FIRST..LAST&pin=TRACK,TRACK&mark=A..B&q=SEARCH&devices=ORDER&panels=NAME,NAME`: times as
//! on the ruler, the scope also in steps (`steps:3..5`). `name` is that of the slice, by which another trace is noticed.
//! Parts that the trace does not have are left out, and in an address also those that cannot be read.

mod text;

use std::fmt::Write as _;

use crate::prelude::*;

use analysis::reports::communication::collectives::DeviceAxis;
use text::{decoded, encoded};

/// The panels that a place names.
const PANELS: [(Panel, &str); 4] = [
    (Panel::Reports, "reports"),
    (Panel::Details, "details"),
    (Panel::Search, "search"),
    (Panel::Notes, "notes"),
];
/// The orders of devices that a place names.
const ORDERS: [(DeviceOrder, &str); 3] = [
    (DeviceOrder::Lateness, "late"),
    (DeviceOrder::Work, "work"),
    (DeviceOrder::Idle, "idle"),
];
/// Pinned tracks that a link may name: it is written by others.
const MOST_PINS: usize = 200;
/// Letters of the name of a slice.
const NAME: usize = 60;

/// How long the view rests before the address follows, in seconds: browsers refuse to change it often.
const REST_S: f64 = 0.3;

/// A place in a trace.
#[derive(Debug, Default, PartialEq)]
pub struct Place {
    time: Option<TimeRange>,
    selection: Option<usize>,
    tab: Option<String>,
    scope: Option<ReportScope>,
    /// The name of the selected slice.
    name: Option<String>,
    pins: Vec<usize>,
    mark: Option<TimeRange>,
    search: Option<String>,
    order: Option<DeviceOrder>,
    panels: Option<BTreeSet<Panel>>,
}

impl Place {
    /// The place that a view shows.
    pub fn of(state: &ViewState, model: &TraceModel) -> Self {
        let selected = state.place.selection;
        let mut usual = BTreeSet::from([Panel::Reports]);
        let has_details = selected.is_some() || state.place.mark.is_some();
        usual.extend(has_details.then_some(Panel::Details));
        usual.extend((!state.search.is_empty()).then_some(Panel::Search));
        let named = PANELS.into_iter().map(|(panel, _)| panel);
        let panels: BTreeSet<Panel> = named.filter(|&panel| state.shows(panel)).collect();
        Self {
            name: selected.map(|slice| name_of(model, slice)),
            pins: state.pinned.iter().map(|track| track.index()).collect(),
            mark: state.place.mark,
            search: Some(state.search.clone()).filter(|text| !text.is_empty()),
            order: Some(state.device_order).filter(|order| *order != DeviceOrder::Host),
            panels: Some(panels).filter(|panels| *panels != usual),
            time: Some(state.place.time.range()),
            selection: state.place.selection.map(SliceId::index),
            tab: Some(state.tab.clone()),
            scope: Some(state.scope).filter(|scope| *scope != ReportScope::Capture),
        }
    }

    /// The place that a link names.
    #[cfg(any(test, target_arch = "wasm32"))]
    pub fn parse(text: &str) -> Self {
        let mut place = Self::default();
        for part in parts(text) {
            let _left_out = place.take(part);
        }
        place
    }

    /// The place that a user wrote. The error is a sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut place = Self::default();
        for part in parts(text) {
            place.take(part).ok_or_else(|| {
                format!("“{part}” is no part of a view: copy one in the window (Y)")
            })?;
        }
        Ok(place)
    }

    /// Takes over one part; `None` if it cannot be read.
    fn take(&mut self, part: &str) -> Option<()> {
        let (name, value) = part.split_once('=')?;
        match name {
            "t" => self.time = Some(range(value)?),
            "sel" => self.selection = Some(value.parse().ok()?),
            "name" => self.name = Some(decoded(value)?),
            "tab" if is_plain(value) => self.tab = Some(value.to_owned()),
            "scope" => self.scope = Some(scope(value)?),
            "pin" => {
                let tracks = value.split(',').map(|track| track.parse().ok());
                self.pins = tracks.collect::<Option<_>>()?;
            }
            "mark" => self.mark = Some(range(value)?),
            "q" => self.search = Some(decoded(value)?),
            "devices" => self.order = Some(order(value)?),
            "panels" => {
                let panels = value
                    .split(',')
                    .filter(|name| !name.is_empty())
                    .map(|name| by_name(&PANELS, name));
                self.panels = Some(panels.collect::<Option<_>>()?);
            }
            _ => return None,
        }
        Some(())
    }

    /// The selected slice, if the trace has it.
    fn slice(&self, model: &TraceModel) -> Option<SliceId> {
        let row = self.selection.filter(|&row| row < model.slice_count())?;
        let slice = SliceId::from_index(row);
        let is_own = |name: &String| *name == name_of(model, slice);
        self.name.as_ref().is_none_or(is_own).then_some(slice)
    }

    /// What the trace has not of it, as a sentence.
    pub fn lacks(&self, model: &TraceModel) -> Option<String> {
        let is_lost = self.selection.is_some() && self.slice(model).is_none();
        is_lost.then(|| {
            let name = self.name.as_deref().unwrap_or("The slice");
            format!("{name} is not where the link leads: it was made for another trace, or with other options")
        })
    }

    /// What leads there in this trace.
    pub fn commands(&self, model: &TraceModel) -> ViewCommands {
        let mut commands = Vec::new();
        commands.extend(self.order.map(ViewCommand::OrderDevices));
        let tracks = |wanted: &usize| model.track_ids().nth(*wanted);
        let pins = self.pins.iter().take(MOST_PINS).filter_map(tracks);
        commands.extend(pins.map(|track| ViewCommand::Pin(track, true)));
        commands.extend(self.search.clone().map(ViewCommand::Search));
        commands.extend(
            self.search
                .as_ref()
                .map(|_| ViewCommand::ShowPanel(Panel::Search, true)),
        );
        commands.extend(
            self.mark
                .filter(|mark| mark.overlaps(model.extent()))
                .map(|mark| ViewCommand::Mark(mark, BTreeSet::new())),
        );
        commands.extend(self.scope.map(ViewCommand::Scope));
        commands.extend(self.tab.clone().map(ViewCommand::ShowTab));
        commands.extend(self.slice(model).map(ViewCommand::GoTo));
        let shown = self.panels.iter().flat_map(|panels| {
            PANELS.map(|(panel, _)| ViewCommand::ShowPanel(panel, panels.contains(&panel)))
        });
        commands.extend(shown);
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
        if let Some(name) = &self.name {
            write!(text, "&name={}", encoded(name))?;
        }
        if !self.pins.is_empty() {
            write!(
                text,
                "&pin={}",
                joined(self.pins.iter().map(usize::to_string), ",")
            )?;
        }
        if let Some(mark) = self.mark {
            write!(text, "&mark={}", written(mark))?;
        }
        if let Some(search) = &self.search {
            write!(text, "&q={}", encoded(search))?;
        }
        match self.order {
            Some(DeviceOrder::Axis(DeviceAxis::Mesh { devices, apart })) => {
                write!(text, "&devices=mesh-{devices}-{apart}")?;
            }
            Some(DeviceOrder::Axis(DeviceAxis::Grid(axis))) => {
                write!(text, "&devices=grid-{axis}")?;
            }
            order => {
                let named = ORDERS.iter().find(|(listed, _)| Some(*listed) == order);
                if let Some((_, name)) = named {
                    write!(text, "&devices={name}")?;
                }
            }
        }
        if let Some(panels) = &self.panels {
            let shown = joined(
                PANELS
                    .iter()
                    .filter(|(panel, _)| panels.contains(panel))
                    .map(|(_, name)| *name),
                ",",
            );
            write!(text, "&panels={shown}")?;
        }
        f.write_str(text.get(1..).unwrap_or_default())
    }
}

/// The beginning of the name of a slice.
fn name_of(model: &TraceModel, slice: SliceId) -> String {
    model.slice(slice).name().chars().take(NAME).collect()
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.trim()
        .trim_start_matches('#')
        .split('&')
        .filter(|part| !part.is_empty())
}

fn by_name<T: Copy>(all: &[(T, &str)], name: &str) -> Option<T> {
    all.iter()
        .find(|(_, listed)| *listed == name)
        .map(|(one, _)| *one)
}

/// `late`, `mesh-4-2`, `grid-0`
fn order(text: &str) -> Option<DeviceOrder> {
    let axis = if let Some(axis) = text.strip_prefix("mesh-") {
        let (devices, apart) = axis.split_once('-')?;
        DeviceAxis::Mesh {
            devices: devices.parse().ok()?,
            apart: apart.parse().ok()?,
        }
    } else if let Some(axis) = text.strip_prefix("grid-") {
        DeviceAxis::Grid(axis.parse().ok()?)
    } else {
        return by_name(&ORDERS, text);
    };
    Some(DeviceOrder::Axis(axis))
}

fn written(range: TimeRange) -> String {
    format!("{}ps..{}ps", range.start.ps(), range.end.ps())
}

fn range(text: &str) -> Option<TimeRange> {
    let (start, end) = text.split_once("..")?;
    let time = |text: &str| Some(Timestamp::from_ps(text.parse::<Picos>().ok()?.ps()));
    let (start, end) = (time(start)?, time(end)?);
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
    pub fn want(&mut self, place: Place) {
        // An address without a place asks for none.
        self.wanted = Some(place).filter(|place| *place != Place::default());
    }

    /// Whether a place waits for its trace.
    pub fn wants(&self) -> bool {
        self.wanted.is_some()
    }

    /// The wanted place, once.
    pub fn take_wanted(&mut self) -> Option<Place> {
        self.wanted.take()
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
    fn a_link_names_the_axis_by_which_devices_are_ordered() {
        for (text, axis) in [
            (
                "devices=mesh-4-2",
                DeviceAxis::Mesh {
                    devices: 4,
                    apart: 2,
                },
            ),
            ("devices=grid-1", DeviceAxis::Grid(1)),
        ] {
            let place = Place::read(text).unwrap();
            assert_eq!(place.order, Some(DeviceOrder::Axis(axis)));
            assert_eq!(place.to_string(), text);
        }
        for wrong in ["devices=mesh-4", "devices=mesh-x-2", "devices=grid-999"] {
            assert!(Place::read(wrong).is_err(), "{wrong}");
        }
    }

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
        let track = model.slice(first).track();
        for command in [
            ViewCommand::Pin(track, true),
            ViewCommand::Search("a b&c=é".to_owned()),
            ViewCommand::ShowPanel(Panel::Search, true),
            ViewCommand::ShowPanel(Panel::Notes, true),
            ViewCommand::OrderDevices(DeviceOrder::Work),
            ViewCommand::Mark(extent, BTreeSet::new()),
            ViewCommand::GoTo(first),
            ViewCommand::ShowTab("ops".to_owned()),
            ViewCommand::Scope(ReportScope::Steps { first: 1, last: 2 }),
            ViewCommand::Show(part),
        ] {
            state.apply(&command, &model);
        }
        let text = Place::of(&state, &model).to_string();
        let mut other = ViewState::new(&model);
        for command in Place::parse(&text).commands(&model) {
            other.apply(&command, &model);
        }
        assert_eq!(
            Place::of(&other, &model),
            Place::of(&state, &model),
            "{text}"
        );
        assert_eq!(Place::read(&text), Ok(Place::of(&state, &model)), "{text}");
        assert_eq!(
            (other.place.selection, other.tab.as_str()),
            (Some(first), "ops")
        );
        assert_eq!(other.pinned, [track]);
        assert!(other.shows(Panel::Notes));
        let elsewhere = text_trace("@device TPU v5e\nops: CCCDDD");
        let place = Place::parse(&text);
        assert!(place.lacks(&model).is_none());
        assert!(
            place
                .lacks(&elsewhere)
                .unwrap()
                .starts_with("A is not where")
        );
        let commands = place.commands(&elsewhere);
        assert!(
            !commands
                .iter()
                .any(|own| matches!(own, ViewCommand::GoTo(_)))
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
            "pin=999999",
            "mark=9e6s..9e7s",
            "t=9e9s..9e9s",
        ] {
            assert_eq!(Place::parse(text).commands(&model), [], "{text}");
        }
        for text in ["x=1", "t=1..", "panels=all", "q=%zz", "pin=1,x", "tab=<b>"] {
            assert!(Place::read(text).is_err(), "{text}");
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
