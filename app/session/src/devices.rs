//! Devices as text.

use std::collections::BTreeMap;

use analysis::Options;
use analysis::engine::listed;
use trace_model::TraceModel;

/// Devices of a model by their type as recorded: `4 × TPU v6 Lite`, else by the chip that the user names. Devices
/// without either are described by their names: only those named TPU count as TPUs. A selection of devices is named.
pub fn devices_in_words(model: &TraceModel, options: &Options) -> Option<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for core in model.tensor_cores() {
        let group = model.group(core);
        let name = model.str(group.name);
        let word = ["TPU", "NPU"].into_iter().find(|word| name.contains(word));
        let recorded = group
            .device
            .as_ref()
            .and_then(|device| device.type_name.clone());
        let kind = recorded
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
        0 => String::new(),
        1 => format!(", of these only device {}", only[0]),
        _ => format!(", of these only devices {}", listed(&only)),
    };
    (!kinds.is_empty()).then(|| kinds.join(" + ") + &only)
}

#[cfg(test)]
mod tests {
    use super::*;

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
