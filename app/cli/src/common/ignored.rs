//! Options that change nothing for what was opened, with the reason: silence would pass for an effect.

use crate::prelude::*;
use analysis::hardware::ici::Network;
use analysis::hardware::peaks::Peaks;
use analysis::reports::{Collectives, Serving};
use importers::ImportOptions;
use trace_model::DeviceInfo;

use crate::common::stderr::Stderr;

/// Warns of assumptions that change nothing.
pub fn say(session: &Session, import: &ImportOptions, stderr: &Stderr) {
    let options = session.options();
    let devices = devices(session);
    let mut said = Vec::new();
    said.extend(unused_chip(session, &devices));
    if import.clock_mhz.is_some() && session.model().simulator().is_none() {
        said.push("--clock changes nothing: nothing here is in cycles of a simulator".to_owned());
    }
    if options.topology.is_some() && !uses_links(session) {
        said.push("--topology changes nothing: no collective here has an expected time".to_owned());
    }
    if !options.serving.is_empty() {
        said.extend(unmatched_serving(session));
    }
    for why in said {
        stderr.warn(&why);
    }
}

/// Rejects a grid that the chips of the capture cannot form.
pub fn check_topology(session: &Session) -> Result<()> {
    let options = session.options();
    let (Some(topology), None) = (&options.topology, session.model().simulator()) else {
        return Ok(());
    };
    let devices = devices(session);
    let Some(network) = Network::of(devices.iter().copied(), options.chip(), None) else {
        return Ok(());
    };
    let refused = |why: String| Err(RequestError::argument("topology", why));
    let (chip, chips) = (&network.chip, topology.lens().iter().product::<u64>());
    let axes = topology.lens().iter().filter(|&&len| len > 1).count();
    let held = (devices.len() as u64).div_ceil(u64::from(chip.devices.max(1)));
    match chip.links {
        Some(links) if axes > links.torus_dims as usize => refused(format!(
            "slices of {} have {} axes, not {axes}",
            chip.id, links.torus_dims
        )),
        Some(links) if chips > u64::from(links.max_chips) => refused(format!(
            "slices of {} have at most {} chips, not {chips}",
            chip.id, links.max_chips
        )),
        _ if chips < held => refused(format!("{topology} has {chips} chips, the capture {held}")),
        _ => Ok(()),
    }
}

fn devices(session: &Session) -> Vec<&DeviceInfo> {
    let model = session.model();
    model
        .tensor_cores()
        .into_iter()
        .filter_map(|core| model.group(core).device.as_ref())
        .collect()
}

/// What of the chip that the user names is not used, unless it is the recorded one.
fn unused_chip(session: &Session, devices: &[&DeviceInfo]) -> Option<String> {
    let chip = session.options().chip()?;
    let is_recorded = |&device: &&DeviceInfo| {
        let [with, without] = [Some(chip), None].map(|chip| Peaks::choose(Some(device), chip));
        with.chip.as_ref() != Some(&chip.id)
            && (with.flops, with.hbm) == (without.flops, without.hbm)
    };
    let all = session.model().tensor_cores().len();
    let is_all = !devices.is_empty() && devices.len() == all && devices.iter().all(is_recorded);
    is_all.then(|| {
        format!(
            "--device-spec: the capture records the peaks of its devices, which stay; of {} are what it does not record, \
             such as links",
            chip.id
        )
    })
}

/// Whether a collective is compared with what links carry.
fn uses_links(session: &Session) -> bool {
    session.model().has_programs_only()
        || session
            .report::<Collectives>(Scope::WholeTrace)
            .is_ok_and(|report| report.kinds.iter().any(|kind| kind.share.is_some()))
}

fn unmatched_serving(session: &Session) -> Option<String> {
    let unmatched = match session.report::<Serving>(Scope::WholeTrace) {
        Ok(report) => report.unmatched_patterns.join(" "),
        Err(why) => return Some(format!("--serving changes nothing: {why}")),
    };
    let none = format!("--serving: no event of a host matches {unmatched}");
    (!unmatched.is_empty()).then_some(none)
}
