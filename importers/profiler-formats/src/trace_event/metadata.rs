//! Facts of the session.

use importer_common::names::{PlaneKind, plane_kind};
use trace_model::{Arg, Caveat};

use super::json::{JsonString, JsonValue, arg_value, elements, flatten, members};
use super::number;

/// Maximum number of facts of a session.
const MAX_FACTS: usize = 200;
/// Maximum size of a fact.
const MAX_FACT: usize = 1000;

/// Content of the document besides its events.
#[derive(Default)]
pub(super) struct ProfilerSession {
    /// Whether XProf wrote the document, in any of its dialects, so that planes have XProf's names.
    pub is_xprof: bool,
    /// Whether the document has members that, among XProf's dialects, only responses of the viewer have.
    pub is_viewer: bool,
    /// Whether the viewer omitted events that were too short to see.
    pub is_downsampled: bool,
    /// Host that wrote it.
    pub host: Option<String>,
    /// Nanoseconds of the Unix epoch at time zero of the file.
    pub base_unix_ns: Option<i64>,
    /// Facts for display.
    pub facts: Vec<(String, String)>,
    /// Frame id, name, parent id.
    pub stack_frames: Vec<(String, String, Option<String>)>,
}

impl ProfilerSession {
    /// Whether an object or array under this key is stored; also records the key.
    pub fn wants(&mut self, key: &[u8]) -> bool {
        self.note_key(key);
        matches!(
            key,
            b"metadata"
                | b"otherData"
                | b"details"
                | b"distributedInfo"
                | b"stackFrames"
                | b"deviceProperties"
        )
    }

    /// Records keys that distinguish viewer responses from exports; other programs use them too.
    fn note_key(&mut self, key: &[u8]) {
        if matches!(
            key,
            b"codeLink"
                | b"useNewBackend"
                | b"details"
                | b"returnedEventsSize"
                | b"fullTimespan"
                | b"tasks"
        ) {
            self.is_viewer = true;
        }
    }

    /// A member of the top-level object that is kept.
    pub fn add(&mut self, key: JsonString<'_>, value: JsonValue<'_>) {
        self.note_key(key.raw);
        match (key.raw, value) {
            (b"stackFrames", JsonValue::Object(raw)) => self.add_frames(raw),
            (b"details", JsonValue::Array(raw)) => {
                let _ = elements(raw, 0, |detail| {
                    let mut args = Vec::new();
                    flatten("", detail, &mut args);
                    let field = |name| {
                        args.iter()
                            .find(|arg: &&Arg| arg.name == name)
                            .map(|arg| arg.value.to_string())
                    };
                    if let (Some(name), Some(value)) = (field("name"), field("value")) {
                        self.add_fact(name, value);
                    }
                    Ok(())
                });
            }
            (b"filteredByVisibility", value) => self.is_downsampled |= value.is_true(),
            (b"host_name" | b"hostname", JsonValue::Text(text)) => {
                self.host = Some(text.decode().0.into_owned());
            }
            (b"baseTimeNanoseconds", value) => self.base_unix_ns = number::integer(value.number()),
            (_, JsonValue::Object(_)) => {
                let mut args = Vec::new();
                flatten("", value, &mut args);
                for arg in args {
                    self.add_fact(arg.name, arg.value.to_string());
                }
            }
            (_, JsonValue::Text(_) | JsonValue::Word(_)) => {
                self.add_fact(key.decode().0.into_owned(), arg_value(value).to_string());
            }
            _ => {}
        }
    }

    fn add_fact(&mut self, name: String, mut value: String) {
        if self.facts.len() < MAX_FACTS {
            let end = (0..=MAX_FACT.min(value.len()))
                .rev()
                .find(|&end| value.is_char_boundary(end))
                .unwrap_or(0);
            value.truncate(end);
            self.facts.push((name, value));
        }
    }

    fn add_frames(&mut self, raw: &[u8]) {
        let _ = members(raw, 0, |id, frame| {
            let mut args = Vec::new();
            flatten("", frame, &mut args);
            let field = |name| {
                args.iter()
                    .find(|arg| arg.name == name)
                    .map(|arg| arg.value.to_string())
            };
            if let Some(name) = field("name") {
                self.stack_frames
                    .push((id.decode().0.into_owned(), name, field("parent")));
            }
            Ok(())
        });
    }
}

/// Whether a document states that its times are modelled: `"otherData": {"modelled": "collectives and HBM copies"}`.
pub(super) fn is_modelled(facts: &[(String, String)]) -> bool {
    let says = |value: &str| !matches!(value, "" | "false" | "null" | "0" | "none");
    facts
        .iter()
        .any(|(name, value)| matches!(name.as_str(), "modelled" | "modeled") && says(value))
}

/// What a document that Systole exported says of times that were not measured:
/// `"otherData": {"tool": "systole", "simulator": "ASTRA-sim", "caveats": "Predicted,LoopsApart"}`.
pub(super) fn exported(facts: &[(String, String)]) -> Option<(String, Vec<Caveat>)> {
    let value = |key: &str| {
        facts
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    };
    let simulator = value("tool")
        .filter(|&tool| tool == "systole")
        .and_then(|_| value("simulator"))?;
    let caveat = |name: &str| serde_json::from_value(name.into()).ok();
    Some((
        simulator.to_owned(),
        value("caveats")
            .unwrap_or_default()
            .split(',')
            .filter_map(caveat)
            .collect(),
    ))
}

/// Splits off the host that multi-host viewers put in front of a plane's name.
pub(super) fn split_host(name: &str) -> (Option<&str>, &str) {
    if plane_kind(name) != PlaneKind::Other {
        return (None, name);
    }
    match name.split_once(' ') {
        Some((host, plane)) if plane_kind(plane) != PlaneKind::Other => (Some(host), plane),
        _ => (None, name),
    }
}
