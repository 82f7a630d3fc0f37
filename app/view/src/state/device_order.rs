//! In which order the devices of a run are listed.

use std::cmp::Reverse;
use std::sync::Arc;

use analysis::reports::steps::balance::{BalanceReport, DeviceLoad};
use serde::{Deserialize, Serialize};
use trace_model::GroupId;

use super::ViewState;

/// The order of devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceOrder {
    /// By host, as recorded.
    #[default]
    Host,
    /// Those that the others wait for longest come first.
    Lateness,
    /// Those that work longest come first.
    Work,
    /// Those that are idle longest come first.
    Idle,
}

impl DeviceOrder {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Host, "by host"),
        (Self::Lateness, "late first"),
        (Self::Work, "most work first"),
        (Self::Idle, "most idle first"),
    ];

    /// The devices in this order, those about which nothing is known last; none for the recorded order.
    pub fn of(self, balance: &BalanceReport) -> Vec<GroupId> {
        let late = balance.late().map_or_else(Vec::new, |late| late.devices);
        let is_late = |load: &DeviceLoad| late.iter().any(|own| own.group == load.group);
        let key = |load: &DeviceLoad| match self {
            Self::Host => (false, None),
            Self::Lateness => (is_late(load), load.awaited_ps),
            Self::Work => (false, load.work_ps),
            Self::Idle => (false, load.idle_ps),
        };
        if self == Self::Host {
            return Vec::new();
        }
        let ps = |time: f64| time.round() as i64;
        let mut devices: Vec<&DeviceLoad> = balance.devices.iter().collect();
        devices.sort_by_key(|load| {
            let (first, time) = key(load);
            Reverse((first, time.map(ps)))
        });
        devices.into_iter().filter_map(|load| load.group).collect()
    }
}

impl ViewState {
    pub(super) fn order_devices(&mut self, order: DeviceOrder) {
        self.device_order = order;
        self.ordered = Arc::default();
        // What comes first is to be seen.
        self.place.scroll = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::reports::steps::balance::Balance;
    use analysis::{Options, Scope};
    use session::Session;

    #[test]
    fn late_and_busy_devices_come_first() {
        let work: [&[i64]; 4] = [&[100, 90, 131, 100, 95, 100, 130, 100]; 4];
        let session = Session::from_model(sample_traces::parallel(2, &work), Options::default());
        let balance = session.report::<Balance>(Scope::WholeTrace).unwrap();
        let names = |order: DeviceOrder| -> Vec<String> {
            let model = session.model();
            let name = |group: GroupId| model.str(model.group(group).name).to_owned();
            order.of(&balance).into_iter().map(name).collect()
        };
        assert!(names(DeviceOrder::Host).is_empty());
        assert_eq!(
            names(DeviceOrder::Lateness)[..3],
            ["/device:TPU:2", "/device:TPU:6", "/device:TPU:0"]
        );
        assert_eq!(
            names(DeviceOrder::Work),
            [2, 6, 0, 3, 5, 7, 4, 1].map(|at| format!("/device:TPU:{at}"))
        );
    }
}
