//! Background jobs of an open trace: what the view needs is asked for, answers are taken over.

use crate::prelude::*;
use analysis::hints::Hints;
use analysis::reports::{Balance, Collectives, Doctor};

use super::Workspace;
use crate::panels::details;
use crate::panels::tabs::{tab, wanted};
use crate::platform;
use view::panels::area::{AreaGrouping, MarkedArea};
use view::panels::histogram;
use view::search::{self, SearchFor};
use view::state::ColorBy;
use view::timeline::bands::bands;

impl Workspace {
    /// Takes finished results over.
    pub fn poll_jobs(&mut self) {
        if self.reports.poll() {
            if self.bands.is_none() {
                self.bands = self
                    .reports
                    .ready::<Steps>()
                    .map(|report| bands(report).into());
            }
            if self.efficiency.is_none() {
                self.efficiency = self
                    .reports
                    .ready::<Ops>()
                    .map(|ops| self.trace.by_efficiency(ops));
            }
            if self.late.is_none() {
                self.late = self.reports.ready::<Balance>().map(|balance| {
                    balance
                        .late()
                        .map_or_else(Vec::new, |late| late.devices)
                        .into_iter()
                        .filter_map(|load| load.group)
                        .collect()
                });
            }
        }
        self.leave_unknown_steps();
        self.order_devices();
        if self.scoped.poll() {
            self.memory.forget_made();
        }
        self.ahead.poll();
        self.args.poll();
        self.search.poll();
        self.area.poll();
        self.durations.poll();
        self.derived.poll(&mut self.trace);
        self.with_data.poll();
        self.memory.poll(&self.state);
    }

    /// Finds the order of devices that the state wants.
    fn order_devices(&mut self) {
        let order = self.state.device_order;
        if order == DeviceOrder::Host || !self.state.ordered.is_empty() {
            return;
        }
        let devices = if let DeviceOrder::Axis(_) = order {
            let devices = self.reports.get::<Collectives>();
            devices.map(|known| known.map(|collectives| order.along(&collectives.places)))
        } else {
            let devices = self.reports.get::<Balance>();
            devices.map(|known| known.map(|balance| order.of(balance)))
        };
        match devices {
            Ok(Some(devices)) if !devices.is_empty() => {
                self.apply(&ViewCommand::DevicesInOrder(Arc::new(devices)));
            }
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => self.apply(&ViewCommand::OrderDevices(DeviceOrder::Host)),
        }
    }

    /// A session may name steps that other assumptions do not find.
    fn leave_unknown_steps(&mut self) {
        let ReportScope::Steps { first, last } = self.state.scope else {
            return;
        };
        let Some(report) = self.reports.ready::<Steps>() else {
            return;
        };
        let is_known = |number: u32| report.steps.iter().any(|step| step.number == number);
        if !(is_known(first) && is_known(last)) {
            self.apply(&ViewCommand::Scope(ReportScope::Capture));
        }
    }

    /// Starts the jobs that the state needs; jobs already started cost nothing. None is started before the first frame is
    /// drawn: they would take most of the CPU time that it needs. Of a first look nothing is computed.
    pub fn ask_jobs(&mut self) {
        if self.is_first_look() {
            return;
        }
        if !std::mem::replace(&mut self.is_drawn, true) {
            (self.wake)();
            return;
        }
        self.has_asked = true;
        self.work_ahead();
        self.want_reports();
        if let Some(slice) = self.state.place.selection {
            self.ask_about_slice(slice);
        }
        if let Some(range) = self.state.place.mark {
            self.ask_about_area(range);
        }
        match SearchFor::of(&self.state) {
            None => self.search.clear(),
            Some(wanted) => {
                let (model, classes) = (self.trace.model.clone(), Arc::clone(&self.trace.classes));
                self.search.ask(wanted.clone(), move |progress| {
                    search::search(&model, &classes, &wanted, progress).map(Arc::new)
                });
            }
        }
        let drawn = self.timeline.drawn();
        self.derived.ask(&mut self.trace, &self.state, drawn);
        self.ask_tabs();
    }

    /// Asks for the reports that panels, headings and colours need.
    fn want_reports(&mut self) {
        if self.state.shows(Panel::Reports) {
            let tabs = [Some(self.state.tab.as_str()), self.state.tab_below()];
            for tab in tabs.into_iter().flatten().map(tab) {
                let reports = if tab.follows(self.state.scope) {
                    &mut self.scoped
                } else {
                    &mut self.reports
                };
                for id in wanted(tab) {
                    // Rules ask for replays and for reports that nothing else here needs: of a part of the trace the
                    // figures come first.
                    let waits = id == Hints::ID && !reports.is_settled();
                    if !(waits && tab.follows(self.state.scope)) {
                        reports.want(id);
                    }
                }
                for id in tab.of_whole {
                    self.reports.want(id);
                }
            }
        }
        self.reports.want(Steps::ID);
        self.reports.want(Doctor::ID);
        if self.has_devices_to_order() {
            // The headings show which devices are late.
            self.reports.want(Balance::ID);
        }
        if self.state.color_by == ColorBy::Efficiency {
            self.reports.want(Ops::ID);
        }
        match self.state.device_order {
            DeviceOrder::Host => {}
            DeviceOrder::Axis(_) => self.reports.want(Collectives::ID),
            DeviceOrder::Lateness | DeviceOrder::Work | DeviceOrder::Idle => {
                self.reports.want(Balance::ID);
            }
        }
        // The menu lists the axes; hints have made this report.
        if self.reports.ready::<Doctor>().is_some() && self.has_devices_to_order() {
            self.reports.want(Collectives::ID);
        }
    }

    fn ask_about_slice(&mut self, slice: SliceId) {
        let (model, path) = (self.trace.model.clone(), self.trace.path.clone());
        let label = model.slice(slice).label_id();
        self.args.ask_later(slice, move |_, answer| {
            platform::with_files(&path, move |here| {
                answer.give(here.and_then(|()| model.slice(slice).args()));
            });
        });
        let model = self.trace.model.clone();
        self.durations.ask(label, move |progress| {
            histogram::durations(&model, label, progress)
        });
        if self.state.shows(Panel::Details) && self.trace.model.slice(slice).op().is_some() {
            for id in details::WANTED {
                self.reports.want(id);
            }
        }
    }

    /// Asks for the sums of a marked area.
    fn ask_about_area(&mut self, range: TimeRange) {
        let area = MarkedArea {
            range,
            tracks: Arc::clone(&self.state.mark_tracks),
            pivot: self.choice.pivot,
        };
        // Sums by step wait for the steps.
        let is_known = area.pivot != AreaGrouping::Step
            || self.bands.is_some()
            || self.reports.get::<Steps>().is_err();
        if is_known {
            let steps = self.bands.clone().unwrap_or_default();
            let areas = Arc::clone(&self.areas);
            self.area.ask(area.clone(), move |progress| {
                areas.of(&steps, &area, progress)
            });
        }
    }

    /// Finds what folded groups show, the longest slice of each name, which the first click on a name needs, the arrows of
    /// slices and what the sums of marked areas need.
    fn work_ahead(&mut self) {
        if self.ahead.key().is_some() {
            return;
        }
        let (trace, areas) = (self.trace.clone(), Arc::clone(&self.areas));
        self.ahead.ask((), move |progress| {
            trace.tree.measure_load(&trace.model);
            trace.find_longest();
            // In a browser these would delay frames before anybody asks for them.
            if platform::IN_BROWSER {
                return Ok(());
            }
            let flow = trace.model.flows().first();
            let _linked = flow.map(|flow| trace.model.flows_to(flow.to).count());
            areas.prepare(progress)
        });
    }

    /// Finds out which tabs have data, once the visible reports are ready.
    fn ask_tabs(&mut self) {
        if self.reports.is_settled()
            && self
                .reports
                .get::<Steps>()
                .is_ok_and(|steps| steps.is_some())
        {
            self.with_data.ask(&self.trace.session);
        }
    }
}
