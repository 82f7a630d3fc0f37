//! The text against that of printed values.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

fn written(value: &impl Serialize, top: usize) -> (String, Vec<TruncatedList>) {
    let mut out = JsonText::after(String::new(), top);
    out.value(value, &[]).unwrap();
    out.finish()
}

#[derive(Serialize)]
enum Shape {
    Point,
    Circle(f32),
    Line(u8, u8),
    Box { width: Option<u64>, height: i8 },
}

#[derive(Serialize)]
struct Everything {
    zeta: Vec<Shape>,
    none: Option<u8>,
    alpha: (f64, f64),
    unit: (),
    text: &'static str,
    numbers: BTreeMap<u32, Vec<u8>>,
    #[serde(flatten)]
    flat: BTreeMap<&'static str, bool>,
}

#[test]
fn output_equals_pretty_printed_serde_json() {
    let value = Everything {
        zeta: vec![
            Shape::Point,
            Shape::Circle(0.1),
            Shape::Line(1, 2),
            Shape::Box {
                width: Some(u64::MAX),
                height: -1,
            },
        ],
        none: None,
        alpha: (f64::NAN, 1e300),
        unit: (),
        text: "a \"quoted\" name, \u{1} and 日本",
        numbers: BTreeMap::from([(9, vec![]), (10, vec![1, 2]), (100, vec![3])]),
        flat: BTreeMap::from([("b", true), ("zz", false)]),
    };
    let expected = serde_json::to_string_pretty(&serde_json::to_value(&value).unwrap()).unwrap();
    assert_eq!(written(&value, 0).0, expected);
    let nothing: [Value; 2] = [json!({}), json!([])];
    assert_eq!(
        written(&nothing, 0).0,
        serde_json::to_string_pretty(&nothing).unwrap()
    );
}

#[test]
fn keys_are_sorted_for_large_values() {
    #[derive(Serialize)]
    struct Out {
        d: Vec<u32>,
        b: u8,
        c: String,
        a: Vec<u32>,
    }
    for (d, c, a) in [(0, 50, 1), (40, 0, 2), (3, 3, 60), (0, 0, 0)] {
        let value = Out {
            d: (0..d).collect(),
            b: 1,
            c: "x".repeat(c),
            a: (0..a).collect(),
        };
        let expected =
            serde_json::to_string_pretty(&serde_json::to_value(&value).unwrap()).unwrap();
        assert_eq!(written(&value, 0).0, expected);
    }
}

#[test]
fn truncated_lists_are_reported() {
    let value = json!({"rows": [{"a/b": [{}, {}, {}]}, {}, {}], "lens": [1, 2, 3]});
    let mut out = JsonText::after(String::new(), 2);
    out.value(&value, &["r"]).unwrap();
    let (text, cuts) = out.finish();
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        read,
        json!({"rows": [{"a/b": [{}, {}]}, {}], "lens": [1, 2, 3]})
    );
    let found: Vec<_> = cuts
        .iter()
        .map(|cut| (cut.path.as_str(), cut.shown, cut.total))
        .collect();
    assert_eq!(found, [("/r/rows", 2, 3), ("/r/rows/0/a~1b", 2, 3)]);
}

#[test]
fn limit_zero_means_unlimited() {
    let (text, cuts) = written(&json!([{}, {}]), 0);
    assert_eq!((text.as_str(), cuts.len()), ("[\n  {},\n  {}\n]", 0));
}

#[test]
fn omitted_entries_are_not_serialized() {
    struct Row(std::rc::Rc<std::cell::Cell<usize>>);
    impl Serialize for Row {
        fn serialize<S: Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
            self.0.set(self.0.get() + 1);
            out.collect_map([("a", 1)])
        }
    }
    let asked = std::rc::Rc::default();
    let rows: Vec<Row> = (0..100).map(|_| Row(std::rc::Rc::clone(&asked))).collect();
    let (_, cuts) = written(&rows, 3);
    assert_eq!((asked.get(), cuts[0].shown, cuts[0].total), (3, 3, 100));
}
