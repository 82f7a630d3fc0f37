//! Types of MLIR: `tensor<8x16xf32>`, lists of them.

use crate::syntax::{ArrayShape, Shape, split_at};

use super::scan;

/// Most results of one op that are read.
const MOST_PARTS: usize = 65_536;

/// The first tensor in a text.
pub(super) fn first(text: &str) -> Option<Shape<'static>> {
    let text = text.trim_start();
    let end = scan::outside(text, |rest| {
        rest.starts_with(' ') && !rest.starts_with(" #")
    });
    one(text.get(..end.unwrap_or(text.len()))?)
}

/// The type of a result: one, or several as a tuple.
pub(super) fn results(text: &str) -> Option<Shape<'static>> {
    let text = text.trim();
    let list = match text.strip_prefix('(') {
        Some(_) => scan::inside(text, 0).0,
        None => text,
    };
    let parts: Vec<&str> = split(list).take(MOST_PARTS).collect();
    if let [only] = parts[..] {
        return first(only);
    }
    let parts = parts.into_iter().map(first);
    parts.collect::<Option<Vec<_>>>().map(Shape::Tuple)
}

/// Types between commas: those inside `<…>` do not count.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    split_at(text, |text| {
        let (mut depth, mut before) = (0_usize, b' ');
        text.bytes().position(|byte| {
            match byte {
                b'<' | b'(' | b'{' | b'[' => depth += 1,
                // An arrow closes nothing.
                b'>' if before == b'-' => {}
                b'>' | b')' | b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            before = byte;
            byte == b',' && depth == 0
        })
    })
}

fn one(text: &str) -> Option<Shape<'static>> {
    let text = text.trim();
    if text.starts_with('!') && text.split('.').next_back() == Some("token") {
        return Some(array("token", Vec::new()));
    }
    let inside = text.strip_prefix("tensor<")?;
    let inside = inside.get(..inside.rfind('>')?)?;
    // An encoding may follow the type.
    let inside = inside.split(", ").next().unwrap_or(inside);
    let mut dims = Vec::new();
    let mut rest = inside;
    while let Some((size, after)) = rest.split_once('x') {
        let Ok(size) = size.parse::<u64>() else { break };
        dims.push(size);
        rest = after;
    }
    Some(array(dtype(rest)?, dims))
}

fn array(dtype: &'static str, dims: Vec<u64>) -> Shape<'static> {
    Shape::Array(ArrayShape {
        dtype,
        dims,
        ..ArrayShape::default()
    })
}

/// The type of an element, in the words of HLO.
fn dtype(text: &str) -> Option<&'static str> {
    let owned;
    let text = match text {
        "i1" => "pred",
        "complex<f32>" => "c64",
        "complex<f64>" => "c128",
        _ if text.starts_with("!quant.uniform<i8") => "s8",
        _ if text.starts_with("ui") => {
            owned = format!("u{}", text.get(2..)?);
            owned.as_str()
        }
        _ if text.starts_with('i') => {
            owned = format!("s{}", text.get(1..)?);
            owned.as_str()
        }
        _ => {
            owned = text.to_ascii_lowercase();
            owned.as_str()
        }
    };
    match Shape::parse(&format!("{text}[]"))?.into_static() {
        Shape::Array(array) => Some(array.dtype),
        Shape::Tuple(_) => None,
    }
}

/// How a value is distributed over devices, as its attributes state it.
pub(super) fn sharding(attributes: &str) -> Option<String> {
    if let Some((_, rest)) = attributes.split_once("mhlo.sharding = \"") {
        return rest.split_once('"').map(|(it, _)| it.to_owned());
    }
    let (_, rest) = attributes.split_once("sdy.sharding = ")?;
    let end = split(rest).next()?;
    Some(end.trim_end_matches(['}', ' ']).to_owned())
}
