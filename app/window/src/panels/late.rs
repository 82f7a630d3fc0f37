//! The devices that keep the others waiting.

use super::prelude::*;
use analysis::reports::{Balance, BalanceReport};

/// A link that lists the devices first that the others wait for, over the whole trace.
pub fn late_ui(ui: &mut Ui, context: PanelContext<'_>, view: &mut ViewCommands) {
    let balance = context.whole.ready::<Balance>();
    let Some(late) = balance.and_then(BalanceReport::late) else {
        return;
    };
    let is_first = context.state.device_order == DeviceOrder::Lateness;
    let (label, order) = match (is_first, &late.devices[..]) {
        (true, _) => ("Devices by host again".to_owned(), DeviceOrder::Host),
        (false, [_]) => (
            "Show the late device first".to_owned(),
            DeviceOrder::Lateness,
        ),
        (false, all) => (
            format!("Show the {} late devices first", all.len()),
            DeviceOrder::Lateness,
        ),
    };
    ui.link(label)
        .on_hover_ui(|ui| {
            let names = late.names();
            ui.label(format!("Over the whole trace, the others wait for {names}"));
        })
        .sends(view, ViewCommand::OrderDevices(order));
}
