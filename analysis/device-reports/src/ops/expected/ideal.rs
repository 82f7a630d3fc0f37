//! The minimum time of an op: of its work, or of the transfer that it waits for.

use std::collections::HashMap;

use facts::CollectiveTraffic;
use facts::prelude::*;
use hardware::chips::Chip;
use hardware::ici::{LinkRate, Topology, expected_time};
use hlo::{HBM, HloText, Shape};
use serde::Serialize;

use crate::ops::op_stats::OpRow;

/// The limit that keeps an op from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeLimit {
    /// A peak rate of the device itself.
    Device(BoundBy),
    /// Links to other chips.
    Ici,
    /// Transfers from the host: its link can move the same amount in the other direction at the same time.
    HostRead,
    /// Transfers to the host.
    HostWrite,
}

engine::shown_by_title!(TimeLimit);

impl TimeLimit {
    /// Every limit, those of the device first.
    pub const ALL: [Self; 9] = [
        Self::Device(BoundBy::Compute),
        Self::Device(BoundBy::Hbm),
        Self::Device(BoundBy::CmemRead),
        Self::Device(BoundBy::CmemWrite),
        Self::Device(BoundBy::VmemRead),
        Self::Device(BoundBy::VmemWrite),
        Self::Ici,
        Self::HostRead,
        Self::HostWrite,
    ];

    /// Display name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Device(limit) => limit.title(),
            Self::Ici => "ICI",
            Self::HostRead => "Host to chip",
            Self::HostWrite => "Chip to host",
        }
    }
}

impl Serialize for TimeLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.title())
    }
}

/// The least time of all executions of an op, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct IdealTime {
    /// Seconds that each limit requires.
    pub terms: Vec<(TimeLimit, f64)>,
    /// Terms that are missing.
    pub without: Vec<&'static str>,
    /// Why there is no term at all, or a caveat.
    pub note: Option<&'static str>,
    /// Whether the op only starts a transfer.
    pub is_issue: bool,
}

impl IdealTime {
    fn unknown(why: &'static str) -> Self {
        Self {
            note: Some(why),
            ..Self::default()
        }
    }

    /// Adds the time that one limit requires; a time that is not finite is ignored.
    fn add(&mut self, limit: TimeLimit, seconds: f64) {
        if (seconds * 1e12).is_finite() {
            self.terms.push((limit, seconds));
        }
    }

    /// The limit with the largest term; the earlier of equal ones. A collective whose time on the links is unknown
    /// has no limit, because other limits hardly ever bind a collective.
    pub fn longest(&self) -> Option<(TimeLimit, f64)> {
        if self.without.contains(&ICI) {
            return None;
        }
        self.terms
            .iter()
            .copied()
            .fold(None, |best, term| match best {
                Some(best) if term.1 <= best.1 => Some(best),
                _ => Some(term),
            })
    }
}

/// Data from which the terms are computed.
pub(super) struct PeakRates<'a> {
    pub model: &'a TraceModel,
    pub peaks: &'a Peaks,
    /// The chip whose links count: as named by the user, otherwise as recorded.
    pub chip: Option<&'a Chip>,
    pub topology: Option<&'a Topology>,
    /// Number of devices of the trace: the participants of a collective without groups.
    pub devices: u64,
    /// HLO text of start ops, by program and name.
    starts: HashMap<(&'a str, &'a str), &'a str>,
}

/// The name of the term for links between chips, if it is missing.
const ICI: &str = "ICI";

/// Mark in shapes of arrays in host memory.
const HOST: u64 = 5;

impl<'a> PeakRates<'a> {
    pub fn new(
        model: &'a TraceModel,
        peaks: &'a Peaks,
        chip: Option<&'a Chip>,
        topology: Option<&'a Topology>,
        devices: u64,
        rows: &'a [OpRow],
    ) -> Self {
        let starts = rows
            .iter()
            .filter(|row| row.is_async)
            .map(|row| {
                let key = (&*row.program, &*row.name);
                (key, text_of(model, row))
            })
            .collect();
        Self {
            model,
            peaks,
            chip,
            topology,
            devices,
            starts,
        }
    }

    /// The least time of all executions of `row`, which must be a leaf.
    pub fn ideal(&self, row: &OpRow) -> IdealTime {
        let hlo = HloText::parse(text_of(self.model, row)).unwrap_or_default();
        if row.is_async {
            // A start op only issues, even if it is named after the other half.
            return if is_wait(row, &hlo) {
                self.awaited(row, &hlo)
            } else {
                issue()
            };
        }
        let mut ideal = self.work(row);
        if row.collective.is_some() {
            self.add_links(row, &hlo, &mut ideal);
        }
        if row.group == OpGroup::HostIo {
            ideal.without.push("host link");
        }
        ideal
    }

    /// The least time of an op that does the work itself.
    fn work(&self, row: &OpRow) -> IdealTime {
        let work = row.work();
        let mut ideal = IdealTime::default();
        let mut unrated = false;
        let mut known = false;
        for limit in BoundBy::ALL {
            let Some(amount) = limit.amount(&work) else {
                continue;
            };
            known = true;
            match limit.peak(self.peaks).filter(|peak| peak.per_second > 0.0) {
                Some(peak) => ideal.add(TimeLimit::Device(limit), amount / peak.per_second),
                None => unrated |= amount > 0.0,
            }
        }
        if work.flops.is_none() {
            ideal.without.push("operations");
        }
        if work.hbm_bytes.is_none() {
            ideal.without.push("HBM bytes");
        }
        let none = ideal.longest().is_none_or(|(_, seconds)| seconds <= 0.0);
        let stays_on_chip =
            row.costs.memory.is_none() && row.costs.bytes.is_some_and(|bytes| bytes > 0);
        if !none {
            return ideal;
        }
        let why = if row.is_custom_call {
            "the kernel declares neither operations nor bytes"
        } else if !known {
            "the capture records no work of it"
        } else if unrated {
            "no peak is known for the memory that it uses"
        } else if stays_on_chip {
            "its bytes stay on the chip; this capture does not say in which memory"
        } else {
            return IdealTime {
                note: Some("the compiler counts no work"),
                ..ideal
            };
        };
        IdealTime {
            without: ideal.without,
            ..IdealTime::unknown(why)
        }
    }

    /// Minimum time of the transfer that an op waits for, without contention.
    fn awaited(&self, row: &OpRow, hlo: &HloText<'_>) -> IdealTime {
        if row.collective.is_some() {
            let mut ideal = IdealTime::default();
            self.add_links(row, hlo, &mut ideal);
            return ideal;
        }
        match self.copy(row, hlo) {
            Some(ideal) => ideal,
            None => IdealTime {
                without: Vec::new(),
                ..self.work(row)
            },
        }
    }

    /// The size of an asynchronous copy or slice, from the shapes in its done op.
    fn copy(&self, row: &OpRow, hlo: &HloText<'_>) -> Option<IdealTime> {
        let result = hlo.result()?;
        let destination = result.arrays().first()?.memory_space;
        let bytes = result.bytes()? as f64 * row.executions;
        let operands = hlo.operand_list();
        let context = operands.first()?.shape.as_ref()?;
        // (destination, source, context), or sources in a tuple of their own.
        let ends: Vec<u64> = context
            .parts()
            .iter()
            .take(2)
            .flat_map(Shape::arrays)
            .map(|array| array.memory_space)
            .collect();
        if ends.len() != 2 {
            return None;
        }
        let mut ideal = IdealTime::default();
        let hbm = ends.iter().filter(|&&space| space == HBM).count() as f64;
        if let Some(peak) = self
            .peaks
            .hbm
            .filter(|peak| hbm > 0.0 && peak.per_second > 0.0)
        {
            ideal.add(
                TimeLimit::Device(BoundBy::Hbm),
                hbm * bytes / peak.per_second,
            );
        }
        if ends.contains(&HOST) {
            let limit = if destination == HOST {
                TimeLimit::HostWrite
            } else {
                TimeLimit::HostRead
            };
            match self
                .chip
                .and_then(|chip| Some(chip.per_device(chip.pcie_bandwidth?)))
            {
                Some(rate) => ideal.add(limit, bytes / rate),
                None => ideal.without.push("host link"),
            }
        }
        (!ideal.terms.is_empty()).then_some(ideal)
    }

    /// Adds the time on the links between chips.
    fn add_links(&self, row: &OpRow, hlo: &HloText<'_>, ideal: &mut IdealTime) {
        match self.link_seconds(row, hlo) {
            Ok(seconds) => ideal.add(TimeLimit::Ici, seconds * row.executions),
            Err(why) => {
                ideal.without.push(ICI);
                ideal.note = Some(why);
            }
        }
    }

    fn link_seconds(&self, row: &OpRow, hlo: &HloText<'_>) -> Result<f64, &'static str> {
        let chip = self
            .chip
            .ok_or("the speed of the links is not known: name the chip with --device-spec")?;
        let kind = row.collective.ok_or("no collective")?;
        // The done op of an asynchronous collective names its start op, which names the groups.
        let operands = if row.is_async {
            hlo.operand_list()
        } else {
            Vec::new()
        };
        let start = operands
            .first()
            .and_then(|start| self.starts.get(&(&*row.program, start.name)));
        let text = start.copied().unwrap_or_else(|| text_of(self.model, row));
        let mut message = CollectiveTraffic::of_text(text, kind, self.devices as usize)
            .ok_or("it has no text of its instruction")?;
        let bytes = message
            .bytes
            .ok_or("its text does not give the size of the message")?;
        if kind == CollectiveKind::CollectivePermute {
            // At best the data goes to a neighbour: as many chips as make one hop.
            message.participants = message.participants.max(Some(2 * u64::from(chip.devices)));
        }
        let rate =
            LinkRate::of(chip).ok_or("the speed of the links of this chip is not published")?;
        expected_time(kind, bytes, &message.layouts(chip, self.topology), rate)
            .map(|time| time.least_seconds)
            .ok_or("its participants may be on one chip, or its pattern has no closed form")
    }
}

/// Issuing counts as no work.
fn issue() -> IdealTime {
    IdealTime {
        terms: vec![(TimeLimit::Device(BoundBy::Compute), 0.0)],
        is_issue: true,
        ..IdealTime::default()
    }
}

/// Whether it is a waiting op: by its group, or for collectives by opcode or name.
fn is_wait(row: &OpRow, hlo: &HloText<'_>) -> bool {
    let stem = if hlo.opcode.is_empty() {
        &row.category
    } else {
        hlo.opcode
    };
    row.group == OpGroup::AsyncWait || stem.ends_with("-done") || row.category.ends_with("-done")
}

fn text_of<'a>(model: &'a TraceModel, row: &OpRow) -> &'a str {
    row.op
        .and_then(|op| model.op(op).hlo_text)
        .map(|text| model.str(text))
        .unwrap_or_default()
}
