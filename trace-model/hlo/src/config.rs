//! The backend configuration of an instruction, as far as it is needed.

use serde_json::Value as Json;
use trace_model::wire::{WireCursor, WireValue};

/// The trip count of a loop from the compiler's analysis: in JSON (`{"known_trip_count":{"n":"12"}}`), or as the
/// message `xla.WhileLoopBackendConfig`.
pub(super) fn trip_count(config: &[u8]) -> Option<u64> {
    if config.first() == Some(&b'{') {
        let config: Json = serde_json::from_slice(config).ok()?;
        let count = config
            .get("known_trip_count")
            .or_else(|| config.get("knownTripCount"))?
            .get("n")?;
        return number(count);
    }
    let WireValue::Bytes(known) = field(config, 1)? else {
        return None;
    };
    match field(config.get(known)?, 1)? {
        WireValue::Varint(count) => i64::try_from(count).ok()?.try_into().ok(),
        _ => None,
    }
}

/// Operations that the author of a kernel declares: `{"custom_call_config":{"cost_estimate":{"flops":"8"}}}`. None at all
/// are not declared.
pub(super) fn declared_flops(config: &[u8]) -> Option<u64> {
    const KEY: &[u8] = b"cost_estimate";
    // Kernels are long texts in it, and most declare nothing.
    if !config.windows(KEY.len()).any(|part| part == KEY) {
        return None;
    }
    let config: Json = serde_json::from_slice(config).ok()?;
    let kernel = config.get("custom_call_config").unwrap_or(&config);
    let flops = kernel.get("cost_estimate")?.get("flops");
    flops.and_then(number).filter(|&flops| flops > 0)
}

/// 64-bit numbers are text in the JSON form of protocol buffers.
fn number(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The first field with a number, if the whole message can be read.
fn field(message: &[u8], wanted: u32) -> Option<WireValue> {
    let mut cursor = WireCursor::new(message, 0..message.len());
    let mut first = None;
    while let Some((number, value)) = cursor.next().ok()? {
        if number == wanted {
            first.get_or_insert(value);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_trip_count_in_json_and_protobuf() {
        assert_eq!(
            trip_count(br#"{"known_trip_count":{"n":"12"},"known_init_step":{"init":"0"}}"#),
            Some(12)
        );
        assert_eq!(trip_count(br#"{"knownTripCount":{"n":7}}"#), Some(7));
        assert_eq!(trip_count(&[0x0a, 0x03, 0x08, 0x80, 0x01]), Some(128));
        assert_eq!(trip_count(br#"{"other":1}"#), None);
        assert_eq!(trip_count(br#"{"known_trip"#), None);
        assert_eq!(trip_count(&[0x0a, 0x03, 0x08]), None);
        assert_eq!(trip_count(b""), None);
    }

    #[test]
    fn reads_what_kernels_declare() {
        let config = br#"{"custom_call_config":{"body":"QQ==","cost_estimate":{"flops":"268435456","bytes_accessed":"8"}}}"#;
        assert_eq!(declared_flops(config), Some(268_435_456));
        let none = br#"{"custom_call_config":{"cost_estimate":{"flops":"0"}}}"#;
        assert_eq!(declared_flops(none), None);
        assert_eq!(declared_flops(br#"{"custom_call_config":{}}"#), None);
        assert_eq!(declared_flops(br#"{"cost_estimate"#), None);
    }
}
