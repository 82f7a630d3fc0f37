//! Schemas of arguments as agents read them: short, because an agent pays for the list of tools before its first question.
//!
//! What most tools take is explained once, at [`EXPLAINED_AT`]. Assumptions about how a trace is read are fields of one
//! argument, `assume`; named beside the other arguments they hold as well.

use std::collections::BTreeSet;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use trace_model::joined;

use request::{AssumedFiles, AssumedValues, RequestError, Result};

/// The tool whose arguments are all explained.
const EXPLAINED_AT: &str = "verdict";
/// The arguments that are explained there alone.
const COMMON: [&str; 7] = [
    "path",
    "run",
    "steps",
    "range",
    "device",
    "max_bytes",
    "cursor",
];
/// The argument of reports that are shown in part, and where it is explained.
const TOP: [&str; 1] = ["top"];
const TOP_EXPLAINED_AT: &str = "hints";
const ASSUME: &str = "assume";

/// The schema of the arguments of a tool.
pub(super) fn schema_of<T: JsonSchema>(tool: &str) -> JsonObject {
    let mut schema = request::schema_of::<T>();
    let is_explained = tool == EXPLAINED_AT;
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return schema;
    };
    let names = assumptions();
    let mut assumed = Map::new();
    for name in &names {
        assumed.extend(properties.remove(name).map(|of| (name.clone(), of)));
    }
    if !assumed.is_empty() {
        let mut assume = json!({"type": "object"});
        if is_explained {
            assume["description"] = json!("What the capture does not record, and how to read it.");
            assume["properties"] = Value::Object(assumed);
        }
        properties.insert(ASSUME.to_owned(), assume);
    }
    // The steps of a capture are a number of them.
    let is_other = |name: &str| (tool, name) == ("capture", "steps");
    let common = COMMON
        .iter()
        .filter(|name| !is_explained && !is_other(name));
    let top = TOP.iter().filter(|_| tool != TOP_EXPLAINED_AT);
    for name in common.chain(top) {
        if let Some(Value::Object(property)) = properties.get_mut(*name) {
            property.remove("description");
        }
    }
    properties.values_mut().for_each(shorten);
    schema
}

/// Names of the arguments that are fields of `assume`.
fn assumptions() -> BTreeSet<String> {
    let of = [
        request::schema_of::<AssumedValues>(),
        request::schema_of::<AssumedFiles>(),
    ];
    let names = of
        .iter()
        .filter_map(|schema| schema.get("properties")?.as_object());
    names
        .flat_map(Map::keys)
        .filter(|name| !COMMON.contains(&name.as_str()))
        .cloned()
        .collect()
}

/// Leaves out what says nothing: that a number is not negative, that null may be left out, that what is not said is 0 or
/// false; choices are a list.
fn shorten(schema: &mut Value) {
    let kinds = schema.get_mut("anyOf").and_then(Value::as_array_mut);
    let only = kinds.and_then(|kinds| {
        kinds.retain(|kind| kind["type"] != "null");
        if kinds.len() == 1 { kinds.pop() } else { None }
    });
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(only)) = only {
        object.remove("anyOf");
        let about = object.remove("description");
        object.extend(only);
        object.extend(about.map(|about| ("description".to_owned(), about)));
    }
    let is_usual = |value: &Value| [json!(0), json!(false)].contains(value);
    object.retain(|key, value| !matches!(key.as_str(), "minimum" | "default") || !is_usual(value));
    let choices = object.get("oneOf").and_then(Value::as_array);
    let choices: Option<Vec<Value>> =
        choices.and_then(|all| all.iter().map(|one| one.get("const").cloned()).collect());
    if let Some(choices) = choices {
        object.remove("oneOf");
        object.insert("enum".to_owned(), Value::Array(choices));
    }
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(shorten);
    }
    if let Some(items) = object.get_mut("items") {
        shorten(items);
    }
}

/// The arguments of a tool with the fields of `assume` among them. A wrong one is told with those that there are.
pub(super) fn with_assumptions<T: JsonSchema>(
    tool: &str,
    mut given: JsonObject,
) -> Result<JsonObject> {
    let known = request::known::<T>();
    let assumed = given.remove(ASSUME);
    if let Some(unknown) = given.keys().find(|name| !known.contains_key(*name)) {
        let schema = schema_of::<T>(tool);
        let names = schema["properties"].as_object().into_iter();
        let why = format!(
            "{tool} has no argument {unknown:?}; it has {}",
            joined(names.flat_map(Map::keys), ", ")
        );
        return Err(RequestError::Usage(why));
    }
    match assumed {
        None | Some(Value::Null) => Ok(given),
        Some(Value::Object(assumed)) => {
            for (name, value) in assumed {
                if !known.contains_key(&name) {
                    let names = assumptions().into_iter();
                    let names = names.filter(|name| known.contains_key(name));
                    let why = format!("it has no {name:?}; it has {}", joined(names, ", "));
                    return Err(RequestError::argument(ASSUME, why));
                }
                if given.contains_key(&name) {
                    let why = format!("{name}: it is given twice, in {ASSUME} and beside it");
                    return Err(RequestError::Usage(why));
                }
                given.insert(name, value);
            }
            Ok(given)
        }
        Some(_) => Err(RequestError::argument(ASSUME, "write an object")),
    }
}
