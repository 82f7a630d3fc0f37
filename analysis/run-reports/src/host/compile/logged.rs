//! What a log of JAX tells of a compilation beside its times.

use facts::host_class::pjit_function;
use facts::prelude::*;
use trace_model::ArgValue;

use super::cache::CacheUse;
use super::event_grouping::EventGroup;

/// A part of a cache key.
#[engine::reported]
pub struct KeyPart {
    /// What is hashed (`XLA flags`).
    pub part: String,
    /// Its hash.
    pub hash: String,
}

/// What a log tells; all empty for a trace.
#[derive(Default)]
pub(super) struct LoggedFacts {
    /// Whether it is a log that tells this.
    pub is_log: bool,
    pub cache: Option<CacheUse>,
    pub reason: Option<String>,
    pub arguments: Vec<String>,
    pub cache_key: Option<String>,
    pub key_parts: Vec<KeyPart>,
}

/// The facts; nothing for a compilation of a trace. Its events are not asked: each would be read from the file.
pub(super) fn facts(group: &EventGroup<'_>) -> LoggedFacts {
    let is_log = group
        .call
        .is_some_and(|call| pjit_function(call.name()).is_none());
    let mut facts = LoggedFacts {
        is_log,
        ..LoggedFacts::default()
    };
    let compiled = group
        .events
        .iter()
        .find(|event| event.class == HostClass::Compile);
    let Some(event) = compiled.filter(|_| is_log) else {
        return facts;
    };
    for arg in event.slice.args().unwrap_or_default() {
        let ArgValue::Text(text) = arg.value else {
            continue;
        };
        match arg.name.as_str() {
            "cache" if text == "hit" => facts.cache = Some(CacheUse::Hit),
            "cache" => facts.cache = Some(CacheUse::Miss),
            "reason" => facts.reason = Some(text),
            "cache_key" => facts.cache_key = Some(text),
            name => {
                if let Some(part) = name.strip_prefix("cache_key.") {
                    facts.key_parts.push(KeyPart {
                        part: part.to_owned(),
                        hash: text,
                    });
                } else if name.starts_with("argument ") {
                    facts.arguments.push(text);
                }
            }
        }
    }
    facts
}
