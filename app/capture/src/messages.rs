//! Messages of the gRPC service `tensorflow.ProfilerService` (`tsl/profiler/protobuf/profiler_service.proto`,
//! `profiler_options.proto` and `profiler_service_monitor_result.proto`), as in jaxlib 0.10.2. Only fields that are
//! sent or read; a test compares their bytes with those of jaxlib's own descriptors.

use std::collections::BTreeMap;

/// What a server shall record.
#[derive(prost::Message)]
pub(super) struct ProfileRequest {
    #[prost(uint64, tag = "1")]
    pub duration_ms: u64,
    #[prost(uint64, tag = "2")]
    pub max_events: u64,
    /// Formats for servers that convert the profile themselves.
    #[prost(string, repeated, tag = "3")]
    pub tools: Vec<String>,
    #[prost(message, optional, tag = "4")]
    pub opts: Option<ProfileOptions>,
    /// Where a server writes that does not send the profile: a directory on its machine.
    #[prost(string, tag = "5")]
    pub repository_root: String,
    #[prost(string, tag = "6")]
    pub session_id: String,
    #[prost(string, tag = "7")]
    pub host_name: String,
    /// Asks for the profile in the response.
    #[prost(bool, tag = "9")]
    pub emit_xspace: bool,
}

/// How to record.
#[derive(prost::Message)]
pub(super) struct ProfileOptions {
    #[prost(bool, tag = "1")]
    pub include_dataset_ops: bool,
    #[prost(uint32, tag = "2")]
    pub host_tracer_level: u32,
    #[prost(uint32, tag = "3")]
    pub device_tracer_level: u32,
    #[prost(uint32, tag = "4")]
    pub python_tracer_level: u32,
    /// Servers ignore all options without it.
    #[prost(uint32, tag = "5")]
    pub version: u32,
    #[prost(bool, tag = "7")]
    pub enable_hlo_proto: bool,
    #[prost(uint64, tag = "8")]
    pub start_timestamp_ns: u64,
    #[prost(uint64, tag = "9")]
    pub duration_ms: u64,
    #[prost(btree_map = "string, message", tag = "12")]
    pub advanced_configuration: BTreeMap<String, ConfigValue>,
}

/// An option for one kind of device.
#[derive(PartialEq, prost::Message)]
pub(super) struct ConfigValue {
    #[prost(oneof = "OptionValue", tags = "1, 2, 3")]
    pub value: Option<OptionValue>,
}

/// The value of an option for one kind of device.
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum OptionValue {
    #[prost(string, tag = "1")]
    Text(String),
    /// Yes or no.
    #[prost(bool, tag = "2")]
    Bool(bool),
    /// A number.
    #[prost(int64, tag = "3")]
    Int(i64),
}

/// A profile.
#[derive(PartialEq, prost::Message)]
pub(super) struct ProfileResponse {
    #[prost(message, repeated, tag = "6")]
    pub tool_data: Vec<ToolData>,
    #[prost(bool, tag = "7")]
    pub empty_trace: bool,
    /// The `XSpace`, as it is written to a file.
    #[prost(bytes = "vec", optional, tag = "8")]
    pub xspace: Option<Vec<u8>>,
}

/// A file that the server made of the profile.
#[derive(PartialEq, prost::Message)]
pub(super) struct ToolData {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
}

/// Asks for the state of the devices.
#[derive(prost::Message)]
pub(super) struct MonitorRequest {
    #[prost(uint64, tag = "1")]
    pub duration_ms: u64,
    #[prost(int32, tag = "2")]
    pub monitoring_level: i32,
    #[prost(bool, tag = "3")]
    pub timestamp: bool,
}

/// The state of the devices.
#[derive(prost::Message)]
pub(super) struct MonitorResponse {
    /// For reading.
    #[prost(string, tag = "1")]
    pub data: String,
    #[prost(message, optional, tag = "10")]
    pub monitor_result: Option<MonitorResult>,
}

/// The state of the devices, in numbers. `response_type` says which of them are filled in.
#[derive(prost::Message)]
pub(super) struct MonitorResult {
    #[prost(int32, tag = "1")]
    pub response_type: i32,
    #[prost(double, tag = "2")]
    pub device_idle_time_percent: f64,
    #[prost(double, tag = "3")]
    pub matrix_unit_utilization_percent: f64,
    #[prost(double, tag = "4")]
    pub step_time_ms_avg: f64,
    #[prost(double, tag = "5")]
    pub step_time_ms_min: f64,
    #[prost(double, tag = "6")]
    pub step_time_ms_max: f64,
    #[prost(double, tag = "7")]
    pub infeed_percent_avg: f64,
    #[prost(double, tag = "8")]
    pub infeed_percent_min: f64,
    #[prost(double, tag = "9")]
    pub infeed_percent_max: f64,
}

/// Asks for what a running session has recorded.
#[derive(prost::Message)]
pub(super) struct SnapshotRequest {
    #[prost(string, tag = "1")]
    pub snapshot_session_id: String,
}

/// A message without fields that are read.
#[derive(prost::Message)]
pub(super) struct Empty {}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        use std::fmt::Write as _;
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    /// The expected bytes were written by protobuf's Python library from the descriptors in jaxlib 0.10.2.
    #[test]
    fn requests_have_the_bytes_that_servers_expect() {
        let option = |value| ConfigValue { value: Some(value) };
        let request = ProfileRequest {
            duration_ms: 2000,
            max_events: 1_000_000,
            tools: vec!["xplane.pb".to_owned()],
            opts: Some(ProfileOptions {
                include_dataset_ops: true,
                host_tracer_level: 2,
                device_tracer_level: 1,
                python_tracer_level: 3,
                version: 1,
                enable_hlo_proto: true,
                start_timestamp_ns: 1_795_415_161_219_834_994,
                duration_ms: 2000,
                advanced_configuration: BTreeMap::from([
                    ("a".to_owned(), option(OptionValue::Text("x".to_owned()))),
                    ("b".to_owned(), option(OptionValue::Bool(true))),
                    ("c".to_owned(), option(OptionValue::Int(-2))),
                ]),
            }),
            repository_root: "/logs".to_owned(),
            session_id: "s".to_owned(),
            host_name: "h".to_owned(),
            emit_xspace: true,
        };
        assert_eq!(hex(&request.encode_to_vec()), PROFILE_REQUEST);
        let monitor = MonitorRequest {
            duration_ms: 1000,
            monitoring_level: 2,
            timestamp: true,
        };
        assert_eq!(hex(&monitor.encode_to_vec()), "08e80710021801");
        let snapshot = SnapshotRequest {
            snapshot_session_id: "s".to_owned(),
        };
        assert_eq!(hex(&snapshot.encode_to_vec()), "0a0173");
    }

    #[test]
    fn responses_are_read_as_servers_write_them() {
        let response = ProfileResponse::decode(&*bytes(PROFILE_RESPONSE)).unwrap();
        assert_eq!(
            response,
            ProfileResponse {
                tool_data: vec![ToolData {
                    name: "t".to_owned(),
                    data: b"abc".to_vec()
                }],
                empty_trace: true,
                xspace: Some(b"\x0a\x03\x12\x01p".to_vec()),
            }
        );
        let response = MonitorResponse::decode(&*bytes(MONITOR_RESPONSE)).unwrap();
        let result = response.monitor_result.unwrap();
        assert_eq!((response.data.as_str(), result.response_type), ("text", 3));
        let numbers = [
            result.device_idle_time_percent,
            result.matrix_unit_utilization_percent,
            result.step_time_ms_avg,
            result.step_time_ms_min,
            result.step_time_ms_max,
            result.infeed_percent_avg,
            result.infeed_percent_min,
            result.infeed_percent_max,
        ];
        assert_eq!(
            numbers.map(|number| number as u32),
            [2, 3, 4, 5, 6, 7, 8, 9]
        );
    }

    const PROFILE_REQUEST: &str = "08d00f10c0843d1a0978706c616e652e7062223e08011002180120032801380140f2c8efe6b992a6f51848d00f62080a016112030a017862070a01621202100162100a0163120b18feffffffffffffffff012a052f6c6f67733201733a01684801";
    const PROFILE_RESPONSE: &str = "32080a01741203616263380142050a03120170";
    const MONITOR_RESPONSE: &str = "0a0474657874524a0803110000000000000040190000000000000840210000000000001040290000000000001440310000000000001840390000000000001c40410000000000002040490000000000002240";
}
