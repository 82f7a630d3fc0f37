//! The chip of devices that record no peaks, to be named by the user.

use super::prelude::*;
use analysis::hardware::chips::chips;

/// A list of chips, where the capture records no peaks or the user has named a chip.
pub fn chip_ui(ui: &mut Ui, context: PanelContext<'_>, out: &mut AppCommands) {
    let assumed = context.trace.session.options().device_spec.as_deref();
    let Some(ops) = context.whole.ready::<Ops>() else {
        return;
    };
    if assumed.is_none() && (ops.peaks.flops.is_some() || ops.peaks.hbm.is_some()) {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        let text = match assumed {
            None => {
                "The capture records no peaks: shares of a limit are not known. Assume those of"
            }
            Some(_) => "Peaks that the capture does not record are assumed to be those of",
        };
        ui.label(remark(text));
        let shown = assumed.unwrap_or("choose a chip");
        ComboBox::from_id_salt("assumed chip")
            .selected_text(shown)
            .show_ui(ui, |ui| {
                for chip in chips() {
                    if ui
                        .selectable_label(assumed == Some(chip.id.as_str()), &chip.id)
                        .clicked()
                    {
                        out.push(AppCommand::AssumeChip(chip.id.clone()));
                    }
                }
            });
    });
}
