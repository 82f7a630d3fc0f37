//! Requests from JSON: of agents, of HTTP, of Python.

use analysis::shortened;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::RequestError;

/// Letters of a wrong value in a message.
const MOST_SHOWN: usize = 60;

/// The arguments of a request, each with its schema.
pub fn known<T: JsonSchema>() -> Map<String, Value> {
    let schema = schemars::schema_for!(T).to_value();
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// A request from its arguments; `what` asks it. An error names the argument.
pub fn read<T: DeserializeOwned + JsonSchema>(what: &str, mut given: Map<String, Value>) -> Result<T, RequestError> {
    let known = known::<T>();
    if let Some(unknown) = given.keys().find(|name| !known.contains_key(*name)) {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let why = format!("{what} has no argument {unknown:?}; it has {}", names.join(", "));
        return Err(RequestError::Usage(why));
    }
    given.retain(|_, value| !value.is_null());
    let error_of = |given: &Map<String, Value>| match T::deserialize(Value::Object(given.clone())) {
        Ok(request) => Ok(request),
        Err(error) => Err(error.to_string()),
    };
    error_of(&given).map_err(|error| {
        // The argument without which the error is another one.
        let is_cause = |name: &&String| {
            let mut others = given.clone();
            others.remove(*name);
            error_of(&others).err().is_none_or(|other| other != error)
        };
        RequestError::Usage(match given.keys().find(is_cause) {
            Some(name) => format!("{name} {}: {error}", shortened(&given[name].to_string(), MOST_SHOWN)),
            None => format!("{what}: {error}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{TraceRequest, WhatIfRequest};

    fn said<T: DeserializeOwned + JsonSchema>(given: Value) -> Result<T, String> {
        let Value::Object(given) = given else { panic!("{given}") };
        read("open", given).map_err(|error| error.to_string())
    }

    #[test]
    fn values_of_all_kinds_are_read() {
        let given = json!({
            "clock": "1GHz", "device": 3, "device_spec": "v5e", "topology": "2x2", "warmup": 2.0, "run": null,
            "serving": ["prefill=a*"], "hlo": "dump", "wait": true, "no_cache": true,
        });
        let trace = said::<TraceRequest>(given).unwrap();
        let (values, import) = (&trace.assume.values, trace.assume.import(None).unwrap());
        assert_eq!((&values.device[..], values.warmup, values.serving.len()), (&[3][..], 2, 1));
        assert_eq!((import.clock_mhz, import.hlo.len(), import.no_cache), (Some(1000.0), 1, true));
        assert_eq!(import.wait.map(|wait| wait.as_secs()), Some(300));
    }

    #[test]
    fn errors_name_the_argument_or_list_all() {
        for (given, words) in [
            (json!({"clock": "fast"}), ["clock \"fast\": ", "940MHz"]),
            (json!({"warmup": -1, "device": [1]}), ["warmup -1: ", "a whole number"]),
            (json!({"serving": ["x"], "clock": "1GHz"}), ["serving [\"x\"]: ", "PHASE=PATTERN"]),
            (json!({"colour": 1}), ["no argument \"colour\"", "device_spec, "]),
        ] {
            let error = said::<TraceRequest>(given).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
        let error = said::<WhatIfRequest>(json!({"ici": -1, "op": [{"name": "a", "time": 0.5}]})).unwrap_err();
        assert!(error.starts_with("ici -1: write a factor"), "{error}");
    }
}
