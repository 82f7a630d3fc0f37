//! Devices as text.

use std::collections::BTreeMap;

use analysis::Options;
use analysis::engine::listed;
use trace_model::{GroupId, TraceModel};

/// Devices of a model by their type as recorded: `4 × TPU v6 Lite`, else by the chip that the user names. Devices
/// without either are described by their names: only those named TPU count as TPUs. A device whose type is lost with the
/// end of the file is of the type of the others. A selection of devices is named, and how many the reports leave out.
pub fn devices_in_words(model: &TraceModel, options: &Options) -> Option<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let cores = model.tensor_cores();
    let type_of = |core: GroupId| model.group(core).device.as_ref()?.type_name.clone();
    let mut types: Vec<String> = cores.iter().filter_map(|&core| type_of(core)).collect();
    types.sort_unstable();
    types.dedup();
    let of_others = || types.first().filter(|_| types.len() == 1).cloned();
    let is_cut = |core: GroupId| model.group(core).is_cut;
    for &core in &cores {
        let name = model.str(model.group(core).name);
        let word = ["TPU", "NPU"].into_iter().find(|word| name.contains(word));
        let kind = type_of(core)
            .or_else(|| of_others().filter(|_| is_cut(core)))
            .or_else(|| Some(options.chip()?.id.clone()))
            .unwrap_or_else(|| format!("{} of unknown type", word.unwrap_or("device")));
        *kinds.entry(kind).or_default() += 1;
    }
    let kinds: Vec<_> = kinds
        .into_iter()
        .map(|(kind, count)| format!("{count} × {kind}"))
        .collect();
    let only: Vec<String> = options.devices.iter().map(u32::to_string).collect();
    let only = match only.len() {
        0 => match cores.iter().filter(|&&core| is_cut(core)).count() {
            // Those that are cut are not left out where all are.
            cut if cut > 0 && cut < cores.len() => format!(", {cut} of these cut off and left out"),
            _ => String::new(),
        },
        1 => format!(", of these only device {}", only[0]),
        _ => format!(", of these only devices {}", listed(&only)),
    };
    (!kinds.is_empty()).then(|| kinds.join(" + ") + &only)
}

/// The devices in words, with the number that the program runs on where the capture holds a part of them:
/// `4 of 8 × TPU v6 Lite`.
pub fn devices_of_all(model: &TraceModel, options: &Options, all: Option<u64>) -> Option<String> {
    let devices = devices_in_words(model, options)?;
    Some(match all {
        Some(all) if devices.contains(" + ") => {
            let there = model.tensor_cores().len();
            format!("{there} of {all} devices: {devices}")
        }
        Some(all) => devices.replacen(" ×", &format!(" of {all} ×"), 1),
        None => devices,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_cut_off_is_of_the_type_of_the_others_and_left_out() {
        use trace_model::{DeviceInfo, GroupKind, TraceBuilder};
        let words = |types: [Option<&str>; 3], cut: &[usize]| {
            let mut builder = TraceBuilder::new();
            for (place, kind) in types.into_iter().enumerate() {
                let ordinal = place as u32;
                let name = format!("/device:TPU:{ordinal}");
                let core = builder.group(None, GroupKind::TensorCore { ordinal }, &name);
                let type_name = kind.map(str::to_owned);
                let info = DeviceInfo {
                    type_name,
                    ..DeviceInfo::default()
                };
                builder.set_device(core, info);
                if cut.contains(&place) {
                    builder.mark_cut(core);
                }
            }
            devices_in_words(&builder.finish(), &Options::default()).unwrap()
        };
        let (v4, v5p) = (Some("TPU v4"), Some("TPU v5p"));
        let left_out = "3 × TPU v4, 1 of these cut off and left out";
        assert_eq!(words([v4, v4, None], &[2]), left_out);
        assert_eq!(words([v4, v4, v4], &[0, 1, 2]), "3 × TPU v4");
        let unknown = "1 × TPU of unknown type + 2 × TPU v4";
        assert_eq!(words([v4, None, v4], &[]), unknown);
        let mixed =
            "1 × TPU of unknown type + 1 × TPU v4 + 1 × TPU v5p, 1 of these cut off and left out";
        assert_eq!(words([v4, v5p, None], &[2]), mixed);
    }

    #[test]
    fn tpu_devices_are_recognized_from_the_capture() {
        use trace_model::{DeviceInfo, GroupKind, TraceBuilder};
        let words_with = |names: &[(&str, Option<&str>)], named: Option<&str>| {
            let options = Options {
                device_spec: named.map(str::to_owned),
                ..Options::default()
            };
            let mut builder = TraceBuilder::new();
            for (ordinal, (name, kind)) in (0..).zip(names) {
                let core = builder.group(None, GroupKind::TensorCore { ordinal }, name);
                let type_name = kind.map(str::to_owned);
                builder.set_device(
                    core,
                    DeviceInfo {
                        type_name,
                        ..DeviceInfo::default()
                    },
                );
            }
            devices_in_words(&builder.finish(), &options)
        };
        let words = |names| words_with(names, None);
        assert_eq!(words(&[]), None);
        assert_eq!(
            words(&[("NPU 0", None)]).as_deref(),
            Some("1 × NPU of unknown type")
        );
        assert_eq!(
            words(&[("device 0", None)]).as_deref(),
            Some("1 × device of unknown type")
        );
        let mixed = [
            ("/device:TPU:0", None),
            ("/device:TPU:1", Some("TPU v4")),
            ("/device:TPU:2", Some("TPU v4")),
        ];
        assert_eq!(
            words(&mixed).as_deref(),
            Some("1 × TPU of unknown type + 2 × TPU v4")
        );
        assert_eq!(
            words_with(&mixed, Some("v7x")).as_deref(),
            Some("2 × TPU v4 + 1 × v7x")
        );
        let selected = Options {
            devices: vec![0, 2],
            ..Options::default()
        };
        let model = sample_traces::text_trace("TPU:0 ops: A\nTPU:1 ops: A\n A = fusion.1");
        let words = devices_in_words(&model, &selected).unwrap();
        assert!(
            words.ends_with(", of these only devices 0 and 2"),
            "{words}"
        );
    }
}
