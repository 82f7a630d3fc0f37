//! Where the devices of a capture are along the axes of the program's mesh and of the grid of chips.

use facts::prelude::*;
use serde::{Deserialize, Serialize};

use super::axes::AxisRow;
use super::links::LinkUse;
use super::row::CollectiveRow;

/// An axis along which devices have positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceAxis {
    /// An axis of the program's mesh.
    Mesh {
        /// Devices along it.
        devices: u64,
        /// How far the ids of neighbours are apart.
        apart: u64,
    },
    /// An axis of the grid of chips, by its number.
    Grid(u8),
}

/// The positions of devices along an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePlaces {
    pub axis: DeviceAxis,
    /// `data: 4 devices, 2 apart, of 8`, `grid, axis 2 of 2×4`
    pub title: String,
    /// Each device with its position, first by position, then as recorded.
    pub devices: Vec<(GroupId, u64)>,
}

impl DevicePlaces {
    fn new(axis: DeviceAxis, title: String, mut devices: Vec<(GroupId, u64)>) -> Option<Self> {
        devices.sort_by_key(|&(_, position)| position);
        let differ = devices.first().map(|it| it.1) != devices.last().map(|it| it.1);
        differ.then_some(Self {
            axis,
            title,
            devices,
        })
    }
}

/// The axes along which the positions of all devices are known: those of the mesh where the program records which device
/// runs which part of it, those of the grid where it is recorded or assumed.
pub(super) fn places(
    cx: &Context<'_>,
    rows: &[CollectiveRow],
    axes: &[AxisRow],
    links: &LinkUse,
) -> Vec<DevicePlaces> {
    let ids = device_ids(cx);
    let mesh = axes
        .iter()
        .filter_map(|axis| along_mesh(axis, rows, ids.as_ref()?));
    mesh.chain(along_grid(cx, ids.as_ref(), links)).collect()
}

/// The devices by their ids; `None` if the capture does not have all of them, so that their numbers can be those of one host.
fn device_ids(cx: &Context<'_>) -> Option<BTreeMap<u64, GroupId>> {
    let cores = cx.model.tensor_cores();
    let id = |&core: &GroupId| match cx.model.group(core).kind {
        GroupKind::TensorCore { ordinal } => Some((u64::from(ordinal), core)),
        _ => None,
    };
    let ids: BTreeMap<u64, GroupId> = cores.iter().filter_map(id).collect();
    let is_whole =
        (0..).zip(ids.keys()).all(|(place, &id)| place == id) && ids.len() == cores.len();
    Some(ids).filter(|_| is_whole)
}

fn along_mesh(
    row: &AxisRow,
    rows: &[CollectiveRow],
    ids: &BTreeMap<u64, GroupId>,
) -> Option<DevicePlaces> {
    let devices = row.devices?;
    let apart = row.apart?;
    let along = |it: &&CollectiveRow| {
        let message = &it.message;
        let is_same = message
            .axis
            .is_some_and(|axis| (axis.devices, axis.apart) == (devices, apart));
        is_same && message.axis_name == row.name && message.groups_are_devices
    };
    let groups = rows.iter().find(along)?.message.groups.as_ref()?;
    let placed: Option<Vec<(GroupId, u64)>> = groups
        .iter()
        .flat_map(|group| (0..).zip(group))
        .map(|(position, id)| Some((*ids.get(id)?, position)))
        .collect();
    let distinct: BTreeSet<&u64> = groups.iter().flatten().collect();
    let mut placed =
        placed.filter(|placed| placed.len() == ids.len() && distinct.len() == ids.len())?;
    placed.sort_unstable();
    DevicePlaces::new(
        DeviceAxis::Mesh { devices, apart },
        row.axis.clone(),
        placed,
    )
}

/// Chips are numbered over the grid, the first axis fastest.
fn along_grid(
    cx: &Context<'_>,
    ids: Option<&BTreeMap<u64, GroupId>>,
    links: &LinkUse,
) -> Vec<DevicePlaces> {
    let (Some(topology), Some(chip)) = (&links.topology, &links.spec) else {
        return Vec::new();
    };
    let cores = cx.model.tensor_cores();
    let recorded = |&core: &GroupId| {
        let chip = cx.model.group(core).device.as_ref()?.global_chip_id?;
        Some((core, u64::try_from(chip).ok()?))
    };
    let recorded: Option<Vec<(GroupId, u64)>> = cores.iter().map(recorded).collect();
    let Some(chips) = recorded.or_else(|| {
        ids.map(|ids| {
            ids.iter()
                .map(|(id, &core)| (core, id / u64::from(chip.devices.max(1))))
                .collect::<Vec<_>>()
        })
    }) else {
        return Vec::new();
    };
    let lens = topology.lens();
    let all: u64 = lens.iter().product();
    if chips.iter().any(|&(_, chip)| chip >= all) {
        return Vec::new();
    }
    let mut below = 1;
    let along = (0_u8..).zip(lens).filter_map(|(axis, &len)| {
        let devices = chips
            .iter()
            .map(|&(core, chip)| (core, chip / below % len))
            .collect();
        below *= len;
        let title = format!("grid of chips {topology}, axis {}", axis + 1);
        DevicePlaces::new(DeviceAxis::Grid(axis), title, devices)
    });
    along.collect()
}
