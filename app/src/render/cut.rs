//! Long lists of a JSON document, cut with a record of what was cut.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A list that is shorter than it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cut {
    /// Where it is (a JSON Pointer, RFC 6901).
    pub path: String,
    /// Entries that are left.
    pub shown: usize,
    /// Entries that there were.
    pub total: usize,
}

/// Leaves the first `top` entries of every list of objects; all where `top` is 0. Lists of plain values
/// are part of one entry, and stay.
pub fn lists(value: &mut Value, top: usize, path: &str, cuts: &mut Vec<Cut>) {
    match value {
        Value::Array(items) => {
            if top > 0 && items.len() > top && items.first().is_some_and(Value::is_object) {
                cuts.push(Cut { path: path.to_owned(), shown: top, total: items.len() });
                items.truncate(top);
            }
            for (index, item) in items.iter_mut().enumerate() {
                lists(item, top, &format!("{path}/{index}"), cuts);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                lists(field, top, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), cuts);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_cut_is_said() {
        let mut value = json!({"rows": [{"a/b": [{}, {}, {}]}, {}, {}], "lens": [1, 2, 3]});
        let mut cuts = Vec::new();
        lists(&mut value, 2, "/r", &mut cuts);
        assert_eq!(value, json!({"rows": [{"a/b": [{}, {}]}, {}], "lens": [1, 2, 3]}));
        let found: Vec<_> = cuts.iter().map(|cut| (cut.path.as_str(), cut.shown, cut.total)).collect();
        assert_eq!(found, [("/r/rows", 2, 3), ("/r/rows/0/a~1b", 2, 3)]);
        for value in cuts {
            assert_eq!(serde_json::to_value(&value).unwrap()["total"], 3);
        }
    }

    #[test]
    fn zero_is_all() {
        let mut value = json!([{}, {}]);
        let mut cuts = Vec::new();
        lists(&mut value, 0, "", &mut cuts);
        assert_eq!((value.as_array().map(Vec::len), cuts.len()), (Some(2), 0));
    }
}
