//! One op: its name, operands, regions and types.
//!
//! ```text
//! %0:2 = "stablehlo.all_reduce"(%a, %b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
//!   ^bb0(%x: tensor<f32>, %y: tensor<f32>): …
//! }) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) loc(#loc4)
//! ```

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{scan, types};
use crate::config;
use crate::counter::{CompareDirection, CounterPart};
use crate::facts::{Attributes, CollectiveAttributes, DotDimensions, PrecisionConfig};
use crate::{ProductPrecision, ReplicaGroups, Shape};

/// A region of an op.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpRegion<'a> {
    pub arguments: &'a str,
    pub body: &'a str,
}

/// An op.
#[derive(Debug, Default)]
pub(super) struct MlirOp<'a> {
    /// Name of its value, with `%`; empty if it has none.
    pub name: &'a str,
    /// In the words of HLO.
    pub opcode: String,
    pub is_return: bool,
    /// The function that it calls.
    pub callee: Option<&'a str>,
    /// Names of values, with `%`.
    pub operands: Vec<&'a str>,
    pub regions: Vec<OpRegion<'a>>,
    pub location: Option<&'a str>,
    /// Operands and attributes as written, without regions and types.
    text: String,
    types: &'a str,
}

impl<'a> MlirOp<'a> {
    pub fn parse(statement: &'a str) -> Option<Self> {
        let (name, rest) = match statement.split_once(" = ") {
            Some((names, rest)) if statement.starts_with('%') => {
                let first = names.split([',', ':']).next().unwrap_or(names);
                (first.trim(), rest.trim_start())
            }
            _ => ("", statement),
        };
        let unquoted = rest.trim_start_matches('"');
        let end = unquoted.find(|c: char| !(c.is_alphanumeric() || "._".contains(c)));
        let full = unquoted.get(..end.unwrap_or(unquoted.len()))?;
        if full.is_empty() || rest.starts_with('^') {
            return None;
        }
        let rest = unquoted.get(full.len()..)?.trim_start_matches('"');
        let mut op = Self {
            name,
            opcode: opcode(full),
            is_return: full == "return" || full.ends_with(".return"),
            ..Self::default()
        };
        let mut without_regions = op.take_regions(rest, full);
        op.location = scan::location(&without_regions.tail)
            .map(|_| ())
            .and_then(|()| scan::location(rest));
        if let Some(position) = without_regions.tail.rfind(" loc(") {
            without_regions.tail.truncate(position);
        }
        op.split_types(rest, &without_regions);
        if matches!(full, "call" | "func.call") {
            let callee = op.text.trim_start().strip_prefix('@').map(str::len);
            let position = rest.find('@').filter(|_| callee.is_some());
            op.callee = position.and_then(|position| rest.get(position + 1..rest.find('(')?));
        }
        Some(op)
    }

    /// Takes the regions out of the text after the name: braces that a line break follows.
    fn take_regions(&mut self, rest: &'a str, full: &str) -> WithoutRegions {
        let (mut tail, mut position, mut kept) = (String::new(), 0, 0);
        let bytes = rest.as_bytes();
        let (mut quoted, mut heads) = (false, Vec::new());
        while let Some(&byte) = bytes.get(position) {
            match byte {
                b'\\' if quoted => position += 1,
                b'"' => quoted = !quoted,
                b'{' if !quoted && is_region(rest.get(position + 1..).unwrap_or_default()) => {
                    let (body, end, _) = scan::inside(rest, position);
                    let head = rest.get(kept..position).unwrap_or_default();
                    tail.push_str(head);
                    heads.push(head);
                    self.regions.push(region(body));
                    (position, kept) = (end, end);
                    continue;
                }
                _ => {}
            }
            position += 1;
        }
        tail.push_str(rest.get(kept..).unwrap_or_default());
        // Loops name the arguments of their regions with the operands, others before the region.
        let arguments = match full {
            "stablehlo.while" | "mhlo.while" => rest
                .find('(')
                .map(|position| scan::inside(rest, position).0),
            "sdy.manual_computation" => heads.first().and_then(|head| scan::last_group(head)),
            _ => None,
        };
        for region in &mut self.regions {
            if let Some(arguments) = arguments.filter(|_| region.arguments.is_empty()) {
                region.arguments = arguments;
            }
        }
        WithoutRegions { tail }
    }

    /// Splits operands and attributes from types.
    fn split_types(&mut self, rest: &'a str, without_regions: &WithoutRegions) {
        let is_loop = self.opcode == "while";
        let mut colon = None;
        let mut from = 0;
        // The last colon outside of brackets; that of a loop comes before its regions.
        while let Some(position) = without_regions
            .tail
            .get(from..)
            .and_then(|rest| scan::outside(rest, |it| it.starts_with(" : ")))
        {
            colon = Some(from + position);
            from += position + 3;
            if is_loop {
                break;
            }
        }
        let (text, types) = match colon {
            Some(position) => (
                without_regions.tail.get(..position),
                without_regions.tail.get(position + 3..),
            ),
            None => (Some(without_regions.tail.as_str()), None),
        };
        text.unwrap_or_default().clone_into(&mut self.text);
        let types = types.unwrap_or_default();
        let types = types.split("cond").next().unwrap_or(types).trim();
        // The same text in the source, which lives longer.
        self.types = rest
            .rfind(types)
            .and_then(|position| rest.get(position..position + types.len()))
            .unwrap_or("");
        let end = match self.opcode.as_str() {
            "sdy.manual_computation" => self
                .text
                .find(')')
                .map_or(self.text.len(), |position| position + 1),
            _ => self.text.len(),
        };
        let text = self.text.get(..end).unwrap_or_default();
        let wanted: Vec<(usize, usize)> = values(text, is_loop);
        let mut place = 0;
        for (position, len) in wanted {
            let Some(value) = text.get(position..position + len) else {
                continue;
            };
            // Operands come in order in the source.
            let offset = rest.get(place..).and_then(|rest| rest.find(value));
            if let Some(offset) = offset {
                let start = place + offset;
                self.operands.extend(rest.get(start..start + len));
                place = start + len;
            }
        }
    }

    /// The type of its value.
    pub fn shape(&self) -> Option<Shape<'static>> {
        if let Some((_, results)) = self.types.rsplit_once("->") {
            return types::results(results);
        }
        match self.opcode.as_str() {
            "while" | "opt-barrier" => types::results(self.types),
            // Types of the operands, of which the last is that of the result.
            _ => types::split(self.types).last().and_then(types::first),
        }
    }

    /// Digest of the attributes, without names and channels.
    pub fn digest(&self) -> u64 {
        let mut out = String::with_capacity(self.text.len());
        let mut rest = self.text.as_str();
        while let Some(position) = rest.find(['%', '#']) {
            out.push_str(rest.get(..position).unwrap_or_default());
            let token = rest.get(position..).unwrap_or_default();
            // The handle of a channel is a number of this compilation.
            let end = if token.starts_with("#stablehlo.channel_handle") {
                token.find('>').map_or(token.len(), |end| end + 1)
            } else {
                let part = |c: char| !(c.is_alphanumeric() || "_#.".contains(c));
                let inner = token.get(1..).unwrap_or_default();
                if token.starts_with('#') {
                    out.push_str(
                        inner
                            .get(..inner.find(part).unwrap_or(inner.len()))
                            .unwrap_or_default(),
                    );
                }
                1 + inner.find(part).unwrap_or(inner.len())
            };
            rest = token.get(end..).unwrap_or_default();
        }
        out.push_str(rest);
        let text = if self.callee.is_some() {
            ""
        } else {
            out.as_str()
        };
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    }

    /// What loops are counted by.
    pub fn counter(&self) -> CounterPart {
        let word = |text: &str| {
            let text = text.trim_start();
            let end = text.find(|c: char| !(c.is_alphanumeric() || c == '-'));
            text.get(..end.unwrap_or(text.len())).map(str::to_owned)
        };
        let after = |key: &str| self.text.split_once(key).and_then(|(_, rest)| word(rest));
        let part = match self.opcode.as_str() {
            "constant" => self
                .text
                .split_once("dense<")
                .and_then(|(_, value)| value.split_once('>')?.0.parse().ok())
                .filter(
                    |_| matches!(self.shape(), Some(Shape::Array(array)) if array.dims.is_empty()),
                )
                .map(CounterPart::Constant),
            "compare" => after("#stablehlo<comparison_direction ")
                .or_else(|| word(&self.text))
                .and_then(|direction| CompareDirection::parse(&direction))
                .map(CounterPart::Compare),
            _ => None,
        };
        part.unwrap_or_default()
    }

    pub fn attributes(&self) -> Attributes {
        let text = self.text.as_str();
        let custom_call_target = (self.opcode == "custom-call").then(|| {
            let quoted = text.split_once("call_target_name = \"").map(|(_, it)| it);
            let named = text.trim_start().strip_prefix('@');
            let target = quoted.or(named)?;
            let end = target.find(['"', '(']).unwrap_or(target.len());
            target.get(..end).map(str::to_owned)
        });
        let config = text.split_once("backend_config = \"");
        let config = config.and_then(|(_, it)| Some(it.split_once('"')?.0.replace("\\22", "\"")));
        let dims = |key: &str| two_lists(text, key);
        let (lhs_contracting, rhs_contracting) = dims("contracting_dims = ");
        let (lhs_batch, rhs_batch) = dims("batching_dims = ");
        let dot = DotDimensions {
            lhs_contracting,
            rhs_contracting,
            lhs_batch,
            rhs_batch,
            ..DotDimensions::default()
        };
        let collective = CollectiveAttributes {
            groups: dense(text, "replica_groups = dense<").map(ReplicaGroups::Listed),
            pairs: pairs(text),
            channel_id: scan::number_after(text, "channel_handle<handle = "),
            uses_global_ids: text.contains("use_global_device_ids"),
        };
        Attributes {
            dot: (self.opcode == "dot").then(|| Box::new(dot)),
            precision: PrecisionConfig {
                operands: precisions(text),
                algorithm: 0,
            },
            collective: (collective != CollectiveAttributes::default())
                .then(|| Box::new(collective)),
            custom_call_target: custom_call_target.flatten(),
            declared_flops: config.and_then(|it| config::declared_flops(it.as_bytes())),
            sharding: types::sharding(text),
            ..Attributes::default()
        }
    }
}

/// The text after the name of an op, without its regions.
struct WithoutRegions {
    tail: String,
}

/// Whether a line break follows the brace.
fn is_region(after: &str) -> bool {
    after.trim_start_matches([' ', '\r']).starts_with('\n')
}

/// A region, whose first line may name its arguments: `^bb0(%x: tensor<f32>):`.
fn region(body: &str) -> OpRegion<'_> {
    let trimmed = body.trim_start();
    if !trimmed.starts_with('^') {
        return OpRegion {
            arguments: "",
            body,
        };
    }
    let Some(open) = trimmed.find('(') else {
        return OpRegion {
            arguments: "",
            body,
        };
    };
    let (arguments, end, _) = scan::inside(trimmed, open);
    let body = trimmed.get(end..).unwrap_or_default();
    let body = body.split_once('\n').map_or("", |(_, rest)| rest);
    OpRegion { arguments, body }
}

/// Position and length of the values in a text; in a loop, those after the equals sign.
fn values(text: &str, is_loop: bool) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for (position, _) in text.match_indices('%') {
        let after = text.get(position + 1..).unwrap_or_default();
        let end = after.find(|c: char| !(c.is_alphanumeric() || "_#.$-".contains(c)));
        let len = 1 + end.unwrap_or(after.len());
        let before = text.get(..position).unwrap_or_default().trim_end();
        if !is_loop || before.ends_with('=') {
            out.push((position, len));
        }
    }
    out
}

fn opcode(full: &str) -> String {
    let (dialect, op) = full.split_once('.').unwrap_or(("func", full));
    match (dialect, op) {
        ("stablehlo" | "mhlo", "dot_general") => "dot".to_owned(),
        ("stablehlo" | "mhlo", "broadcast_in_dim") => "broadcast".to_owned(),
        ("chlo", "ragged_dot") => "ragged-dot".to_owned(),
        ("stablehlo" | "mhlo", "case" | "if") => "conditional".to_owned(),
        ("stablehlo" | "mhlo", "optimization_barrier") => "opt-barrier".to_owned(),
        ("stablehlo" | "mhlo" | "func", op) => op.replace('_', "-"),
        _ => full.to_owned(),
    }
}

/// `key = [1] x [0]`.
fn two_lists(text: &str, key: &str) -> (Vec<u64>, Vec<u64>) {
    let lists = text.split_once(key).and_then(|(_, rest)| {
        let (left, rest) = rest.strip_prefix('[')?.split_once(']')?;
        let right = rest.trim_start().strip_prefix('x')?.trim_start();
        let (right, _) = right.strip_prefix('[')?.split_once(']')?;
        Some((numbers(left)?, numbers(right)?))
    });
    lists.unwrap_or_default()
}

fn numbers(list: &str) -> Option<Vec<u64>> {
    let parts = list.split(',').map(str::trim).filter(|it| !it.is_empty());
    parts.map(|it| it.parse().ok()).collect()
}

/// `dense<[[0, 1], [2, 3]]>`; `None` for other forms.
fn dense(text: &str, key: &str) -> Option<Vec<Vec<u64>>> {
    let (_, rest) = text.split_once(key)?;
    let (list, _) = rest.split_once('>')?;
    let list = list.trim();
    if let Ok(only) = list.parse() {
        return Some(vec![vec![only]]);
    }
    let inner = list.strip_prefix('[')?.strip_suffix(']')?;
    let groups = inner.split('[').filter(|it| !it.trim().is_empty());
    groups
        .map(|group| numbers(group.split(']').next().unwrap_or(group)))
        .collect()
}

fn pairs(text: &str) -> Vec<(u64, u64)> {
    let lists = dense(text, "source_target_pairs = dense<").unwrap_or_default();
    let pair = |list: Vec<u64>| match list[..] {
        [source, target] => Some((source, target)),
        _ => None,
    };
    lists.into_iter().filter_map(pair).collect()
}

fn precisions(text: &str) -> Vec<ProductPrecision> {
    let list = text
        .split_once("precision = [")
        .and_then(|(_, it)| it.split_once(']'));
    let list = list.map(|(list, _)| list).unwrap_or_default();
    let words = list.split(',').map(str::trim).filter(|it| !it.is_empty());
    words
        .map(|word| match word {
            "HIGH" => ProductPrecision::High,
            "HIGHEST" => ProductPrecision::Highest,
            _ => ProductPrecision::Default,
        })
        .collect()
}
