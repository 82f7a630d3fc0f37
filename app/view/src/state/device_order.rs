//! In which order the devices of a run are listed.

use crate::prelude::*;
use analysis::reports::communication::collectives::{DeviceAxis, DevicePlaces};
use analysis::reports::{BalanceReport, DeviceLoad};

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
    /// Those with the same position along an axis of the mesh, or of the grid of chips, come together.
    Axis(DeviceAxis),
}

impl DeviceOrder {
    /// Those that any run may have, with their names.
    const ALL: [(Self, &'static str); 4] = [
        (Self::Host, "by host"),
        (Self::Lateness, "late first"),
        (Self::Work, "most work first"),
        (Self::Idle, "most idle first"),
    ];

    /// Those of a run with their names: also by the axes along which its devices have positions.
    pub fn all(places: &[DevicePlaces]) -> impl Iterator<Item = (Self, String)> {
        let along = places
            .iter()
            .map(|places| (Self::Axis(places.axis), format!("by {}", places.title)));
        let any = Self::ALL.map(|(order, title)| (order, title.to_owned()));
        any.into_iter().chain(along)
    }

    /// The devices in the order of an axis; none for other orders, and for an axis that the run does not have.
    pub fn along(self, places: &[DevicePlaces]) -> Vec<GroupId> {
        let axis_places = places.iter().find(|places| self == Self::Axis(places.axis));
        axis_places
            .map(|places| places.devices.iter().map(|&(device, _)| device))
            .into_iter()
            .flatten()
            .collect()
    }

    /// The devices in this order, those about which nothing is known last; none for the recorded order
    /// and that of an axis.
    pub fn of(self, balance: &BalanceReport) -> Vec<GroupId> {
        let late = balance.late().map_or_else(Vec::new, |late| late.devices);
        let is_late = |load: &DeviceLoad| late.iter().any(|device| device.group == load.group);
        let key = |load: &DeviceLoad| match self {
            Self::Host | Self::Axis(_) => (false, None),
            Self::Lateness => (is_late(load), load.awaited_ps),
            Self::Work => (false, load.work_ps),
            Self::Idle => (false, load.idle_ps),
        };
        if matches!(self, Self::Host | Self::Axis(_)) {
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
    use analysis::reports::{Balance, Collectives};
    use analysis::{Options, Scope};
    use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
    use session::Session;
    use trace_model::GroupKind;

    /// Four by two devices: along the first axis 0, 2, 4 and 6 have the positions 0 to 3.
    #[test]
    fn devices_with_the_same_position_come_together() {
        let run = SyntheticRun::new(TrainingSpec {
            states_mesh: true,
            ..TrainingSpec::default()
        });
        let capture = sample_traces::write::xspace_bytes(&run.session());
        let source = importers::InputSource::from_bytes("run.xplane.pb", capture).unwrap();
        let model = importers::import(&source, &Progress::default()).unwrap();
        let options = Options {
            topology: "2x4".parse().ok(),
            ..Options::default()
        };
        let session = Session::from_model(model, options);
        let found = session.report::<Collectives>(Scope::WholeTrace).unwrap();
        let places = &found.places;
        let devices = |title: &str| -> Vec<u32> {
            let all = DeviceOrder::all(places);
            let (order, _) = all.into_iter().find(|(_, own)| own == title).unwrap();
            let model = session.model();
            let ordinal = |group| match model.group(group).kind {
                GroupKind::TensorCore { ordinal } => ordinal,
                _ => panic!("no device"),
            };
            order.along(places).into_iter().map(ordinal).collect()
        };
        let along_data = devices("by data: 4 devices, 2 apart, of 8");
        assert_eq!(along_data, [0, 1, 2, 3, 4, 5, 6, 7]);
        let along_model = devices("by model: 2 devices, 1 apart, of 8");
        assert_eq!(along_model, [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(devices("by grid of chips 2x4, axis 1"), along_model);
        assert_eq!(devices("by grid of chips 2x4, axis 2"), along_data);
        assert!(devices("most work first").is_empty());
    }

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
