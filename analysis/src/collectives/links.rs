//! What is known of the links between the chips of a capture.

use serde::Serialize;

use crate::Context;
use crate::chips::Chip;
use crate::ici::{Layout, LinkRate, Topology};
use crate::message::Message;

/// The links, and where the knowledge comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Links {
    /// Generation; `None` where neither the capture nor the user names it.
    pub chip: Option<String>,
    /// The user named it.
    pub chip_assumed: bool,
    /// Links of one chip.
    pub per_chip: Option<u32>,
    /// One way of one link, bytes/s, published.
    pub rate: Option<LinkRate>,
    /// The grid, as the user gave it; else every grid that fits is considered.
    pub topology: Option<Topology>,
    #[serde(skip)]
    spec: Option<Chip>,
}

impl Links {
    pub(super) fn of(cx: &Context<'_>) -> Self {
        let recorded = cx.tensor_cores().into_iter().find_map(|core| {
            let device = cx.model.group(core).device.as_ref()?;
            Chip::named(device.type_name.as_deref()?)
        });
        let named = cx.options.chip();
        let spec = named.or(recorded).cloned();
        Self {
            chip: spec.as_ref().map(|chip| chip.id.clone()),
            chip_assumed: named.is_some(),
            per_chip: spec.as_ref().and_then(|chip| chip.links).map(|links| links.per_chip),
            rate: spec.as_ref().and_then(LinkRate::of),
            topology: cx.options.topology.clone(),
            spec,
        }
    }

    /// Every way in which the participants can lie on the grid.
    pub(super) fn layouts(&self, message: &Message) -> Vec<Layout> {
        self.spec.as_ref().map(|chip| message.layouts(chip, self.topology.as_ref())).unwrap_or_default()
    }

    /// Whether so many devices can all be on one chip.
    pub(super) fn may_be_one_chip(&self, n: u64) -> bool {
        self.spec.as_ref().is_some_and(|chip| n > 1 && n <= u64::from(chip.devices))
    }

    /// What a reader must know.
    pub(super) fn note(&self) -> String {
        let (Some(chip), Some(rate), Some(per_chip)) = (&self.chip, self.rate, self.per_chip) else {
            return match &self.chip {
                Some(chip) => format!("The speed of the links of {chip} is not published: no expected times."),
                None => "The chip is unknown, and so are its links: name it with --device-spec.".to_owned(),
            };
        };
        let how = if self.chip_assumed { "as named by you" } else { "published, not recorded" };
        let (peak, achievable) = (rate.peak / 1e9, rate.achievable / 1e9);
        let grid = match &self.topology {
            Some(topology) => format!("Grid of chips: {topology}, as given."),
            None => "The grid of chips is not recorded: ranges are over every one that fits; --topology AxB narrows \
                     them."
                .to_owned(),
        };
        format!(
            "Links of {chip}: {per_chip} a chip, {peak:.0} GB/s one way ({how}), about {achievable:.0} achievable. {grid}"
        )
    }
}
