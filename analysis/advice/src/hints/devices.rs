//! The devices that times and shares are of.

use device_reports::{Balance, CoreOps, OpRow, OpsReport};
use facts::prelude::*;

/// The devices that take part in the whole run, where others are away for a part of it or run next to nothing: what a fix
/// saves is time of these, so that shares are of theirs, too.
#[derive(Clone, Debug)]
pub struct CountedDevices {
    groups: BTreeSet<GroupId>,
    /// Their names.
    names: BTreeSet<Arc<str>>,
    /// Their windows added up.
    pub total_ps: Picos,
    /// Whether others are left out.
    pub are_busy: bool,
}

impl CountedDevices {
    /// All that ran ops.
    pub(super) fn all(ops: &OpsReport) -> Self {
        Self::of(ops, |_| true)
    }

    /// Without those that are away or run next to nothing, unless all are.
    pub(super) fn busy(cx: &Context<'_>, ops: &OpsReport) -> Self {
        let balance = cx.report::<Balance>().ok();
        let devices = balance.iter().flat_map(|balance| &balance.devices);
        let absent: BTreeSet<GroupId> = devices
            .filter(|device| device.absence.is_some())
            .filter_map(|device| device.group)
            .collect();
        let busy = Self::of(ops, |core| !absent.contains(&core.core));
        if busy.groups.is_empty() {
            Self::all(ops)
        } else {
            busy
        }
    }

    fn of(ops: &OpsReport, counts: impl Fn(&CoreOps) -> bool) -> Self {
        let cores: Vec<&CoreOps> = ops.cores.iter().filter(|core| counts(core)).collect();
        let names = cores.iter().map(|core| Arc::from(core.name.as_str()));
        Self {
            groups: cores.iter().map(|core| core.core).collect(),
            names: names.collect(),
            total_ps: cores.iter().map(|core| core.total_time_ps).sum(),
            are_busy: cores.len() < ops.cores.len(),
        }
    }

    /// How many.
    pub(super) fn count(&self) -> usize {
        self.groups.len()
    }

    /// Whether this is one of them.
    pub(super) fn has(&self, device: GroupId) -> bool {
        self.groups.contains(&device)
    }

    /// Self time of an op on them.
    pub fn self_time(&self, row: &OpRow) -> Picos {
        if !self.are_busy {
            return row.self_time_ps;
        }
        let of_cores = row
            .per_core
            .iter()
            .filter(|core| self.names.contains(&core.core));
        of_cores.map(|core| core.self_time_ps).sum()
    }

    /// The part on them of a time of an op on all devices, as that of its self time is.
    pub(super) fn part_of(&self, row: &OpRow, time: Picos) -> Picos {
        let part = self.self_time(row).fraction_of(row.self_time_ps);
        part.map_or(time, |part| Picos::rounded(time.as_ps_f64() * part))
    }

    /// A time on them, of their time; 0 without device time.
    pub(super) fn share(&self, time: Picos) -> Percent {
        Percent::of(time, self.total_ps).unwrap_or_default()
    }

    /// What means are over.
    pub(super) fn noun(&self) -> &'static str {
        if self.are_busy {
            "busy devices"
        } else {
            "devices"
        }
    }

    /// What shares of their time are of.
    pub fn time(&self) -> &'static str {
        if self.are_busy {
            "the time of busy devices"
        } else {
            "device time"
        }
    }
}
