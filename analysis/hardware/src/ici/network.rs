//! The links of the devices of a capture. All comparisons with link speed use this module.

use trace_model::{DeviceInfo, DeviceLinks, joined};

use super::Topology;
use crate::chips::{Chip, ChipLinks};

/// Source of the network data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkFrom {
    /// Recorded in the capture, as simulators do.
    Recorded,
    /// The user named the chip.
    Named,
    /// Published of the chip that the capture names.
    Published,
}

/// Links of the devices, and their grid.
#[derive(Debug, PartialEq)]
pub struct Network {
    /// The chip that the links belong to; of a recorded network only the links are known.
    pub chip: Chip,
    /// Source of the data.
    pub from: NetworkFrom,
    /// The grid as given by the user, else as recorded.
    pub topology: Option<Topology>,
}

impl Network {
    /// The network of `devices`: as recorded, else of the chip that the user names, else as published, in the order of
    /// all peaks; `None` if nobody says. `topology` is what the user says.
    pub fn of<'a>(
        mut devices: impl Iterator<Item = &'a DeviceInfo> + Clone,
        named: Option<&Chip>,
        topology: Option<Topology>,
    ) -> Option<Self> {
        let recorded = devices
            .clone()
            .find_map(|device| Some((device.type_name.clone(), device.links.as_ref()?)));
        if let Some((name, links)) = recorded {
            let grid = grid(links);
            return Some(Self {
                chip: chip(name.unwrap_or_else(|| "this device".to_owned()), links),
                from: NetworkFrom::Recorded,
                topology: topology.or(grid),
            });
        }
        if let Some(chip) = named {
            return Some(Self {
                chip: chip.clone(),
                from: NetworkFrom::Named,
                topology,
            });
        }
        let chip = devices.find_map(|device| Chip::named(device.type_name.as_deref()?))?;
        Some(Self {
            chip: chip.clone(),
            from: NetworkFrom::Published,
            topology,
        })
    }
}

fn grid(links: &DeviceLinks) -> Option<Topology> {
    format!("{}:torus", joined(&links.rings, "x")).parse().ok()
}

/// A chip of which only the links are known.
fn chip(id: String, links: &DeviceLinks) -> Chip {
    let dims = links.rings.len() as u32;
    let chips = links
        .rings
        .iter()
        .fold(1_u32, |chips, &len| chips.saturating_mul(len));
    Chip {
        id,
        cores: 1,
        devices: 1,
        links: Some(ChipLinks {
            // Two in a row are linked once.
            per_chip: links
                .rings
                .iter()
                .map(|&len| len.saturating_sub(1).min(2))
                .sum(),
            peak_bytes: links.bytes_per_second,
            // What a simulated link can do, it does.
            achievable_bytes: links.bytes_per_second,
            torus_dims: dims,
            max_chips: chips,
            wrap_multiple: Some(1),
            hop_latency_s: Some(links.hop_seconds),
        }),
        ..Chip::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(device: &DeviceInfo, named: Option<&str>) -> Option<Network> {
        Network::of(std::iter::once(device), named.and_then(Chip::named), None)
    }

    #[test]
    fn recorded_link_facts_precede_user_options_and_published_ones() {
        let links = DeviceLinks {
            rings: vec![4, 2],
            bytes_per_second: 50e9,
            hop_seconds: 5e-7,
        };
        let plain = DeviceInfo {
            type_name: Some("TPU v5p".to_owned()),
            ..DeviceInfo::default()
        };
        let linked = DeviceInfo {
            links: Some(links),
            ..plain.clone()
        };
        let recorded = network(&linked, None).unwrap();
        let links = recorded.chip.links.unwrap();
        assert_eq!(
            (recorded.from, links.per_chip, links.peak_bytes),
            (NetworkFrom::Recorded, 3, 50e9)
        );
        let axes = recorded.topology.unwrap().axes(&recorded.chip);
        assert_eq!(
            axes.iter()
                .map(|axis| (axis.len, axis.wraps))
                .collect::<Vec<_>>(),
            [(4, true), (2, false)]
        );
        let published = network(&plain, None).unwrap();
        assert_eq!(
            (published.from, published.chip.id.as_str()),
            (NetworkFrom::Published, "v5p")
        );
        assert_eq!(
            network(&linked, Some("v6e")).unwrap().from,
            NetworkFrom::Recorded
        );
        let named = network(&plain, Some("v6e")).unwrap();
        assert_eq!(
            (named.from, named.chip.id.as_str(), named.topology),
            (NetworkFrom::Named, "v6e", None)
        );
        assert_eq!(network(&DeviceInfo::default(), None), None);
    }
}
