//! The first line of a program: which results reuse the memory of a parameter, and the meshes of devices.
//!
//! ```text
//! HloModule f, input_output_alias={ {0}: (0, {}, may-alias), {1}: (3, {1}, must-alias) }, buffer_donor={ (2, {}) }
//! ```

use std::borrow::Cow;

use crate::module::{BufferAlias, MESHES};
use crate::syntax::{attribute, pairs, split_commas};

/// What front ends state of the meshes of devices.
pub(super) fn meshes(header: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let stated = pairs(attribute(header, "frontend_attributes").unwrap_or_default());
    stated
        .filter(|(key, _)| *key == MESHES)
        .map(|(_, text)| text)
}

/// Results that reuse the memory of a parameter.
pub(super) fn aliases(header: &str) -> Vec<BufferAlias> {
    let entries = list(header, "input_output_alias");
    let entry = |entry: &str| {
        let (output, rest) = entry.split_once(':')?;
        let (parameter, parameter_index, kind) = position(rest)?;
        Some(BufferAlias {
            output_index: numbers(output)?,
            parameter,
            parameter_index,
            is_required: kind == "must-alias",
        })
    };
    entries.into_iter().filter_map(entry).collect()
}

/// Parameters whose memory results may reuse.
pub(super) fn donors(header: &str) -> Vec<(u64, Vec<u64>)> {
    let entries = list(header, "buffer_donor").into_iter();
    let entry = |entry| position(entry).map(|(parameter, index, _)| (parameter, index));
    entries.filter_map(entry).collect()
}

/// The entries of a list in braces.
fn list<'a>(header: &'a str, key: &str) -> Vec<&'a str> {
    let inside = attribute(header, key).and_then(|it| it.strip_prefix('{')?.strip_suffix('}'));
    split_commas(inside.unwrap_or_default()).collect()
}

/// `(3, {1}, may-alias)`: number, position in its tuple, kind.
fn position(text: &str) -> Option<(u64, Vec<u64>, &str)> {
    let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let mut parts = split_commas(inside);
    let number = parts.next()?.parse().ok()?;
    let index = parts.next().map_or(Some(Vec::new()), numbers)?;
    Some((number, index, parts.next().unwrap_or_default()))
}

/// `{1,0}`, `{}`.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    split_commas(inside).map(|it| it.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextProgram;

    #[test]
    fn axes_are_named_by_the_header_and_by_shardings() {
        let names = |attributes: &str, sharding: &str| {
            let text = format!(
                "HloModule f, num_partitions=8{attributes}\n\nENTRY %main (p: f32[8]) -> f32[8] {{\n  \
                 ROOT %p = f32[8] parameter(0){sharding}\n}}\n"
            );
            let module = TextProgram::read(&text).unwrap().module;
            [(2, 4), (4, 1)].map(|(devices, apart)| {
                module.axis_name(devices, apart, 8).map(ToString::to_string)
            })
        };
        let (x, y) = (Some("x".to_owned()), Some("y".to_owned()));
        let header = ", frontend_attributes={a=\"b\",xla.sdy.meshes=\"{mesh = #sdy.mesh<[\\\"x\\\"=2, \\\"y\\\"=4]>}\"}";
        assert_eq!(names(header, ""), [x.clone(), y.clone()]);
        assert_eq!(
            names("", ", sharding={mesh['x'=2,'y'=4], [{'x'}]}"),
            [x.clone(), y]
        );
        // Two meshes that contradict each other.
        assert_eq!(
            names(header, ", sharding={mesh['x'=2,'z'=4], [{'x'}]}"),
            [x, None]
        );
        assert_eq!(names("", ""), [None, None]);
    }

    #[test]
    fn donated_buffers_are_read() {
        let header = "f, is_scheduled=true, input_output_alias={ {0}: (2, {}, may-alias), {1, 3}: (7, {1}, must-alias) }, \
                      buffer_donor={ (4, {}), (5, {2}) }, num_partitions=2";
        let found = aliases(header);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (
                found[1].output_index.as_slice(),
                found[1].parameter,
                found[1].is_required
            ),
            ([1, 3].as_slice(), 7, true)
        );
        assert_eq!((found[0].parameter, found[0].is_required), (2, false));
        assert_eq!(donors(header), [(4, vec![]), (5, vec![2])]);
        for cut in 0..header.len() {
            let _ = (aliases(&header[..cut]), donors(&header[..cut]));
        }
    }
}
