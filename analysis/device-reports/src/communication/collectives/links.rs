//! Properties of the links between the chips of a capture.

use facts::CollectiveTraffic;
use facts::prelude::*;
use hardware::chips::Chip;
use hardware::ici::{GroupLayout, LinkRate, NetworkFrom, Topology};

/// The links, and the source of their properties.
#[engine::reported]
pub struct LinkUse {
    /// Generation; `None` if neither the capture nor the user names it.
    pub chip: Option<String>,
    /// Whether the user named it.
    pub chip_assumed: bool,
    /// Whether the capture records how its devices are linked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// Number of links of one chip.
    pub per_chip: Option<u32>,
    /// Bandwidth of one link in one direction, bytes/s.
    pub rate: Option<LinkRate>,
    /// The grid, as the user gave it or as recorded; otherwise every grid that fits is considered.
    #[schemars(with = "Option<String>")]
    pub topology: Option<Topology>,
    #[serde(skip)]
    pub(super) spec: Option<Chip>,
}

impl LinkUse {
    pub(super) fn of(cx: &Context<'_>) -> Self {
        let network = cx.network();
        let (from, topology) = network
            .as_ref()
            .map(|network| (network.from, network.topology.clone()))
            .unzip();
        let spec = network.map(|network| network.chip);
        Self {
            chip: spec.as_ref().map(|chip| chip.id.clone()),
            chip_assumed: from == Some(NetworkFrom::Named),
            recorded: from == Some(NetworkFrom::Recorded),
            per_chip: spec
                .as_ref()
                .and_then(|chip| chip.links)
                .map(|links| links.per_chip),
            rate: spec.as_ref().and_then(LinkRate::of),
            topology: topology.unwrap_or_else(|| cx.options.topology.clone()),
            spec,
        }
    }

    /// Provenance of everything that is compared with the speed of the links.
    pub(super) fn provenance(&self) -> Provenance {
        if self.recorded {
            Provenance::Profile
        } else {
            Provenance::AssumedPeak
        }
    }

    /// Every possible layout of the participants on the grid.
    pub(super) fn layouts(&self, message: &CollectiveTraffic) -> Vec<GroupLayout> {
        self.spec
            .as_ref()
            .map(|chip| message.layouts(chip, self.topology.as_ref()))
            .unwrap_or_default()
    }

    /// Whether this many devices can all be on one chip.
    pub(super) fn may_be_one_chip(&self, n: u64) -> bool {
        self.spec
            .as_ref()
            .is_some_and(|chip| n > 1 && n <= u64::from(chip.devices))
    }

    /// Notes for the reader.
    pub(super) fn note(&self) -> String {
        let (Some(chip), Some(rate), Some(per_chip)) = (&self.chip, self.rate, self.per_chip)
        else {
            return match &self.chip {
                Some(chip) => {
                    format!("The speed of the links of {chip} is not published: no expected times.")
                }
                None => "The chip is unknown, and so are its links: name it with --device-spec."
                    .to_owned(),
            };
        };
        let how = match (self.recorded, self.chip_assumed) {
            (true, _) => "recorded",
            (false, true) => "as named by you",
            (false, false) => "published, not recorded",
        };
        let peak = rate.peak / 1e9;
        let achievable = rate.achievable / 1e9;
        if self.recorded {
            let grid = self
                .topology
                .as_ref()
                .map(|topology| format!(", in a grid of {topology}"))
                .unwrap_or_default();
            let hop = rate.hop_seconds * 1e6;
            return format!(
                "Links of {chip}: {per_chip} per chip, {peak:.1} GB/s one way, {hop:.3} µs per hop ({how}){grid}. At best: over \
                 all of them; what is simulated may use fewer."
            );
        }
        let grid = match &self.topology {
            Some(topology) => format!("Grid of chips: {topology}, as given."),
            None => "The grid of chips is not recorded: ranges are over every one that fits; --topology AxB narrows \
                     them."
                .to_owned(),
        };
        format!(
            "Links of {chip}: {per_chip} per chip, {peak:.0} GB/s one way ({how}), about {achievable:.0} achievable. {grid}"
        )
    }
}
