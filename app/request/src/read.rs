//! Requests from JSON: of agents, of HTTP, of Python.

use analysis::shortened;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::{RequestError, Result};
use crate::values::whole;

/// Letters of a wrong value in a message.
const MOST_SHOWN: usize = 60;

/// The schema of a request: what is not said is left out, and not null.
pub fn schema_of<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    for property in schema["properties"]
        .as_object_mut()
        .into_iter()
        .flat_map(Map::values_mut)
    {
        if let Some(kinds) = property.get_mut("type").filter(|kinds| kinds.is_array()) {
            *kinds = kinds[0].take();
        }
        if let Some(property) = property.as_object_mut() {
            property
                .retain(|key, value| key != "default" || !(value.is_null() || *value == json!([])));
        }
    }
    let part = |name: &str| Some((name.to_owned(), without_formats(schema.get(name)?.clone())));
    ["type", "properties", "required"]
        .into_iter()
        .filter_map(part)
        .collect()
}

/// A schema without the widths of numbers: JSON Schema does not know them, and clients warn of each.
pub fn without_formats(schema: Value) -> Value {
    match schema {
        Value::Object(object) => {
            let kept = object
                .into_iter()
                .filter(|(key, value)| key != "format" || !value.is_string());
            kept.map(|(key, value)| (key, without_formats(value)))
                .collect()
        }
        Value::Array(values) => values.into_iter().map(without_formats).collect(),
        other => other,
    }
}

/// The arguments of a request, each with its schema.
pub fn known<T: JsonSchema>() -> Map<String, Value> {
    schema_of::<T>()
        .remove("properties")
        .and_then(|known| known.as_object().cloned())
        .unwrap_or_default()
}

/// A request from its arguments; `what` asks it. An error names the argument.
pub fn read<T: DeserializeOwned + JsonSchema>(
    what: &str,
    mut given: Map<String, Value>,
) -> Result<T> {
    let known = known::<T>();
    if let Some(unknown) = given.keys().find(|name| !known.contains_key(*name)) {
        let why = format!(
            "{what} has no argument {unknown:?}; it has {}",
            trace_model::joined(known.keys(), ", ")
        );
        return Err(RequestError::Usage(why));
    }
    given.retain(|_, value| !value.is_null());
    for (name, value) in &mut given {
        *value = with_whole_numbers(value.take(), &known[name]);
    }
    let read = |given: &Map<String, Value>| {
        T::deserialize(Value::Object(given.clone()))
            .map_err(|error| in_plain_words(&error.to_string()))
    };
    read(&given).map_err(|error| {
        // The wrong argument is the one without which the error is another one; best not that it is missing.
        let without = |name: &String| {
            let mut others = given.clone();
            others.remove(name);
            read(&others).err().unwrap_or_default()
        };
        let others = given
            .keys()
            .map(|name| (name, without(name)))
            .filter(|(_, other)| *other != error);
        RequestError::Usage(
            match others.min_by_key(|(_, other)| other.ends_with(MISSING)) {
                Some((name, _)) => format!(
                    "{name} {}: {error}",
                    shortened(&given[name].to_string(), MOST_SHOWN)
                ),
                None => format!("{what}: {error}"),
            },
        )
    })
}

/// The same, with whole numbers where its schema asks for them: JSON does not tell `20.0` from `20`.
fn with_whole_numbers(value: Value, schema: &Value) -> Value {
    let is = |kind: &str| schema["type"] == kind || schema["type"][0] == kind;
    match value {
        Value::Array(values) if is("array") => {
            let items = values.into_iter();
            items
                .map(|item| with_whole_numbers(item, &schema["items"]))
                .collect()
        }
        Value::Object(object) if is("object") => {
            let properties = &schema["properties"];
            let read = |(name, value)| {
                let value = with_whole_numbers(value, &properties[&name]);
                (name, value)
            };
            object.into_iter().map(read).collect()
        }
        // A list may be written as its only value.
        value if is("array") => with_whole_numbers(value, &schema["items"]),
        // What is none is refused where it is read.
        value if is("integer") => whole::<_, u64>(&value).map_or(value, Value::from),
        value => value,
    }
}

const MISSING: &str = "is missing";

/// The message of a parser without the words of programmers, as those of a missing field and of a wrong type.
fn in_plain_words(error: &str) -> String {
    const KINDS: [(&str, &str); 9] = [
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0"),
        ("u32", "a whole number from 0"),
        ("u64", "a whole number from 0"),
        ("usize", "a whole number from 0"),
        ("i64", "a whole number"),
        ("f64", "a number"),
        ("a sequence", "a list"),
        ("a boolean", "true or false"),
    ];
    if let Some(name) = error.strip_prefix("missing field ") {
        return format!("{} {MISSING}", name.trim_matches('`'));
    }
    let Some((given, expected)) = error.rsplit_once(", expected ") else {
        return error.to_owned();
    };
    let kind = KINDS.iter().find(|(name, _)| *name == expected);
    let expected = kind.map_or(expected, |(_, words)| words);
    let expected = expected.strip_prefix("one of ").unwrap_or(expected);
    match given.strip_prefix("unknown variant ") {
        Some(name) => format!("there is no {name}; there are {expected}"),
        None if given.starts_with("invalid ") => format!("expected {expected}"),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceRequest, WhatIfRequest};

    fn said<T: DeserializeOwned + JsonSchema>(given: Value) -> Result<T, String> {
        let Value::Object(given) = given else {
            panic!("{given}")
        };
        read("open", given).map_err(|error| error.to_string())
    }

    #[test]
    fn values_of_all_kinds_are_read() {
        let given = json!({
            "clock": "1GHz", "device": 3.0, "device_spec": "v5e", "topology": "2x2", "warmup": 2.0, "run": null,
            "serving": ["prefill=a*"], "hlo": "dump", "wait": true, "no_cache": true,
        });
        let trace = said::<TraceRequest>(given).unwrap();
        let (values, import) = (&trace.assume.values, trace.assume.import(None).unwrap());
        assert_eq!(
            (&values.device[..], values.warmup, values.serving.len()),
            (&[3][..], 2, 1)
        );
        assert_eq!(
            (import.clock_mhz, import.hlo.len(), import.no_cache),
            (Some(1000.0), 1, true)
        );
        assert_eq!(import.wait.map(|wait| wait.as_secs()), Some(300));
    }

    #[test]
    fn errors_name_the_argument_or_list_all() {
        for (given, words) in [
            (json!({"clock": "fast"}), ["clock \"fast\": ", "940MHz"]),
            (
                json!({"warmup": -1, "device": [1]}),
                ["warmup -1: ", "a whole number"],
            ),
            (
                json!({"serving": ["x"], "clock": "1GHz"}),
                ["serving [\"x\"]: ", "PHASE=PATTERN"],
            ),
            (
                json!({"colour": 1}),
                ["no argument \"colour\"", "device_spec, "],
            ),
        ] {
            let error = said::<TraceRequest>(given).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
        for (error, words) in [
            ("missing field `path`", "path is missing"),
            ("invalid type: map, expected f64", "expected a number"),
            (
                "invalid value: integer `-1`, expected u32",
                "expected a whole number from 0",
            ),
            (
                "unknown variant `x`, expected one of `a`, `b`",
                "there is no `x`; there are `a`, `b`",
            ),
            (
                "unknown variant `x, expected y`, expected `a`",
                "there is no `x, expected y`; there are `a`",
            ),
            ("something else", "something else"),
        ] {
            assert_eq!(in_plain_words(error), words);
        }
        let error = said::<WhatIfRequest>(json!({"ici": -1, "op": [{"name": "a", "time": 0.5}]}))
            .unwrap_err();
        assert!(error.starts_with("ici -1: write a factor"), "{error}");
    }
}
