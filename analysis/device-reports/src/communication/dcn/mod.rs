//! Communication between slices over the data-centre network (Megascale).
//!
//! A collective between slices consists of four ops on the device: `send` and `recv` start it, `send-done` and
//! `recv-done` wait for it. All four share one rendezvous name.
//!
//! ```text
//! ops      S s ffff d r ff RRR      S send, d send-done, r recv, R recv-done
//! observed [-----------------)
//! slack      ++ ++++   +++          send to recv-done, minus all DCN ops between
//! stall    =       = =     ===      the four ops themselves
//! ```
//!
//! - **Slack** is the time that the program gives the network; **required bandwidth** is the bandwidth to transfer
//!   the bytes in that time. Both follow `XProf`'s Megascale statistics.
//! - **Stall** is the time that the device spent in the four ops.
//! - Bytes that one device must transmit follow from the kind of collective, the bytes received and the number of
//!   slices. That number comes from the target that the compiler records (`{1,2}x{0:3}`: slices × devices).
//!
//! Hosts record each message on *arrival*, with its duration; the bandwidth of a host is the sum over messages in
//! flight. Hosts and devices are never compared, because their clocks differ.
//!
//! Tested on generated captures only: no public capture has several slices.

mod device;
mod host;
mod report;
mod tables;
#[cfg(test)]
mod tests;

use facts::prelude::*;

pub use host::host_event_use;
pub use report::{DcnAction, DcnCollective, DcnDevice, DcnHost, DcnMessages, DcnReport, DcnTimes};

/// The analysis `dcn`.
pub struct Dcn;

impl Analysis for Dcn {
    type Report = DcnReport;
    const ID: &str = "dcn";
    const TITLE: &str = "Communication between slices";

    fn run(cx: &Context<'_>) -> Result<DcnReport> {
        let classes = cx.classes();
        let device = device::collect(cx, classes)?;
        let host = host::collect(cx)?;
        if device.devices.is_empty() && host.is_empty() {
            return Err("no communication between slices was recorded: neither send and recv ops of Megascale on a device, nor \
                 its events on a host; only programs over several slices have any, and every host has to be profiled".into());
        }
        Ok(DcnReport {
            collectives: device.collectives,
            devices: device.devices,
            unmatched: device.unmatched,
            hosts: host.hosts,
            messages: host.messages,
            actions: host.actions,
        })
    }
}
