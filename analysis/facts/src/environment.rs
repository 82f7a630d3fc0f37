//! What a run was built from and where it ran: from the profile where it records that, else from the file beside it.

use engine::Environment;
use engine::prelude::*;

/// The environment of the run; `None` if neither the profile nor a file beside it tells anything.
pub fn environment(cx: &Context<'_>) -> Option<Environment> {
    let mut environment = cx
        .options
        .environment
        .as_deref()
        .cloned()
        .unwrap_or_default();
    for (name, value) in cx.model.sources().iter().flat_map(|source| &source.facts) {
        environment.add_recorded(name, value);
    }
    if !environment.is_known() {
        return None;
    }
    let mut cores = cx.model.tensor_cores().into_iter();
    let chip = cores.find_map(|core| cx.model.group(core).device.as_ref()?.type_name.clone());
    if let Some(chip) = chip {
        environment.from_profile.insert("chip".to_owned());
        environment.chip = Some(chip);
    }
    if environment.topology.is_none() {
        environment.topology = cx.options.topology.as_ref().map(ToString::to_string);
    }
    Some(environment)
}
