//! The part of JSON Schema (2020-12) that the published schemas use. Stricter than the standard: a field
//! that its object does not describe is an error, too.

use std::collections::BTreeSet;

use serde_json::Value;

/// All violations of `schema`.
pub fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let check = Check { root: schema };
    let mut found = check.against(schema, value, "$");
    check.undescribed(schema, value, "$", &mut found);
    found
}

struct Check<'a> {
    root: &'a Value,
}

impl<'a> Check<'a> {
    fn target(&self, schema: &'a Value) -> Option<&'a Value> {
        let path = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        Some(
            self.root
                .pointer(path)
                .unwrap_or_else(|| panic!("{path} is nowhere")),
        )
    }

    fn against(&self, schema: &'a Value, value: &Value, at: &str) -> Vec<String> {
        let mut found = Vec::new();
        if schema == &Value::Bool(false) {
            found.push(format!("{at}: nothing is allowed here"));
        }
        if let Some(target) = self.target(schema) {
            found.extend(self.against(target, value, at));
        }
        for all in schema["allOf"].as_array().into_iter().flatten() {
            found.extend(self.against(all, value, at));
        }
        for (key, most) in [("anyOf", usize::MAX), ("oneOf", 1)] {
            let Some(options) = schema[key].as_array() else {
                continue;
            };
            let tried: Vec<_> = options
                .iter()
                .map(|option| self.against(option, value, at))
                .collect();
            let fitting = tried.iter().filter(|errors| errors.is_empty()).count();
            if fitting == 0 {
                found.extend(tried.into_iter().min_by_key(Vec::len).unwrap_or_default());
            } else if fitting > most {
                found.push(format!("{at}: {fitting} of {key} fit"));
            }
        }
        found.extend(own(schema, value, at));
        if let Some(fields) = value.as_object() {
            for (name, field) in fields {
                let described = schema["properties"]
                    .get(name)
                    .or_else(|| schema.get("additionalProperties"));
                if let Some(described) = described {
                    found.extend(self.against(described, field, &format!("{at}.{name}")));
                }
            }
        }
        if let Some(items) = schema.get("items") {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                found.extend(self.against(items, item, &format!("{at}[{index}]")));
            }
        }
        found
    }

    /// All schemas that apply to a value, through references and combinations.
    fn all(&self, schema: &'a Value, value: &Value) -> Vec<&'a Value> {
        let mut found = vec![schema];
        if let Some(target) = self.target(schema) {
            found.extend(self.all(target, value));
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for option in schema[key].as_array().into_iter().flatten() {
                if self.against(option, value, "").is_empty() {
                    found.extend(self.all(option, value));
                }
            }
        }
        found
    }

    fn undescribed(&self, schema: &'a Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let schemas = self.all(schema, value);
        for (name, field) in value.as_object().into_iter().flatten() {
            let described = |schema: &&'a Value| {
                schema["properties"]
                    .get(name)
                    .or_else(|| schema.get("additionalProperties"))
            };
            let own: Vec<_> = schemas.iter().filter_map(described).collect();
            if own.is_empty() {
                found.push(format!("{at}.{name} is not described"));
            }
            // Objects that the schema leaves open are not checked.
            for schema in own.into_iter().filter(|schema| !schema.is_boolean()) {
                self.undescribed(schema, field, &format!("{at}.{name}"), found);
            }
        }
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            for items in schemas.iter().filter_map(|schema| schema.get("items")) {
                self.undescribed(items, item, &format!("{at}[{index}]"), found);
            }
        }
    }
}

/// Violations of the keywords of a single schema.
fn own(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
        found.push(format!("{at}: {value} is no {kinds:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        found.push(format!("{at}: {value} is not {}", schema["const"]));
    }
    if schema["enum"]
        .as_array()
        .is_some_and(|all| !all.contains(value))
    {
        found.push(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    for required in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if value
            .as_object()
            .is_some_and(|fields| !fields.contains_key(required))
        {
            found.push(format!("{at}: {required} is missing"));
        }
    }
    found
}

/// `path: name` of every number that a schema describes, by the name of the field.
#[allow(
    dead_code,
    reason = "not every test that checks documents looks at names"
)]
pub fn number_names(schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect(schema, schema, &mut names);
    names
}

fn collect(root: &Value, schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            for (name, field) in properties.into_iter().flatten() {
                if is_number(root, field) {
                    let beside_unit = properties.is_some_and(|all| all.contains_key("unit"));
                    names.insert(if beside_unit {
                        "(with unit)".to_owned()
                    } else {
                        name.clone()
                    });
                }
            }
            fields
                .values()
                .for_each(|field| collect(root, field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(root, item, names)),
        _ => {}
    }
}

/// A number, or a list of numbers.
fn is_number(root: &Value, schema: &Value) -> bool {
    if let Some(path) = schema["$ref"]
        .as_str()
        .and_then(|path| path.strip_prefix('#'))
    {
        return root
            .pointer(path)
            .is_some_and(|target| is_number(root, target));
    }
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let of_any = ["anyOf", "oneOf"]
        .iter()
        .flat_map(|key| schema[*key].as_array().into_iter().flatten());
    kinds
        .iter()
        .any(|kind| ["integer", "number"].contains(kind))
        || (kinds.contains(&"array")
            && schema
                .get("items")
                .is_some_and(|items| is_number(root, items)))
        || of_any.into_iter().any(|option| is_number(root, option))
}
