//! Changes between two programs of one function, with the source of this information.
//!
//! Nothing is guessed: if neither the parameters of the programs, nor arguments of events, nor the text of ops show a
//! different shape, there is no result.

use facts::prelude::*;
use hlo::{HloModule, HloText, Instruction, Shape};

use super::program_similarity::ProgramOps;

/// Where a change was found, best source first.
#[engine::titled]
pub enum ChangeSource {
    /// Shapes of the parameters of both programs, as compiled.
    Parameters = "parameters of the programs",
    /// Shapes in arguments of the events that compile.
    EventArguments = "arguments of events",
    /// Shapes in the text of ops with the same provenance in both programs.
    OpText = "texts of ops",
    /// An argument of an annotation that differs from the steps before: it coincides with the change, but is not proof.
    Annotation = "annotation of the step",
}

/// A difference.
#[engine::reported]
pub struct ShapeChange {
    /// The parameter, op or argument that differs.
    pub what: String,
    /// Its value before.
    pub from: String,
    /// Its value now.
    pub to: String,
    /// Dimensions that differ, where both are arrays of the same rank.
    pub dims: Vec<DimChange>,
}

/// A dimension that differs.
#[engine::reported]
#[derive(Copy, Eq, PartialOrd, Ord)]
pub struct DimChange {
    /// Its index from the left, starting with 0.
    pub dim: usize,
    /// Size before.
    pub from: u64,
    /// Size now.
    pub to: u64,
}

impl ShapeChange {
    /// The differences between two shapes; `None` if type and sizes are the same.
    pub(super) fn between(what: &str, from: &Shape<'_>, to: &Shape<'_>) -> Option<Self> {
        let old = sizes(from);
        let new = sizes(to);
        if old == new {
            return None;
        }
        let dims = match (from, to) {
            (Shape::Array(a), Shape::Array(b)) if a.dims.len() == b.dims.len() => {
                let pairs = a.dims.iter().zip(&b.dims).enumerate();
                pairs
                    .filter(|(_, (a, b))| a != b)
                    .map(|(dim, (&from, &to))| DimChange { dim, from, to })
                    .collect()
            }
            _ => Vec::new(),
        };
        Some(Self {
            what: what.to_owned(),
            from: old,
            to: new,
            dims,
        })
    }

    /// `tokens bf16[8,128] → bf16[8,160]: dim 1 128 → 160`
    pub fn sentence(&self) -> String {
        let dims: Vec<_> = self
            .dims
            .iter()
            .map(|dim| format!("dim {} {} → {}", dim.dim, dim.from, dim.to))
            .collect();
        let dims = if dims.is_empty() {
            String::new()
        } else {
            format!(": {}", dims.join(", "))
        };
        format!("{} {} → {}{dims}", self.what, self.from, self.to)
    }

    /// The first change, and the number of further ones.
    pub(super) fn summary(changes: &[Self]) -> Option<String> {
        let (first, others) = changes.split_first()?;
        Some(first.sentence() + &engine::and_more(others.len()))
    }
}

/// Type and sizes without layout: `bf16[8,128]`.
pub(super) fn sizes(shape: &Shape<'_>) -> String {
    match shape {
        Shape::Array(array) => {
            format!("{}[{}]", array.dtype, joined(&array.dims, ","))
        }
        Shape::Tuple(parts) => format!("({})", joined(parts.iter().map(sizes), ", ")),
    }
}

/// Differences between two programs, by the best source that shows any.
pub(super) fn between_programs(
    cx: &Context<'_>,
    ops: &ProgramOps,
    before: ProgramId,
    after: ProgramId,
) -> Option<(ChangeSource, Vec<ShapeChange>)> {
    if let (Ok(before), Ok(after)) = (cx.hlo(before), cx.hlo(after)) {
        let changes = parameter_changes(&before, &after);
        if !changes.is_empty() {
            return Some((ChangeSource::Parameters, changes));
        }
    }
    let changes = op_changes(cx, ops.of(before), ops.of(after));
    (!changes.is_empty()).then_some((ChangeSource::OpText, changes))
}

/// Parameters of the same number that differ, or a different number of parameters.
fn parameter_changes(before: &HloModule, after: &HloModule) -> Vec<ShapeChange> {
    let old = before.parameters();
    let new = after.parameters();
    if old.len() != new.len() {
        let count = |parameters: &[(u64, &Instruction)]| parameters.len().to_string();
        return vec![ShapeChange {
            what: "number of parameters".to_owned(),
            from: count(&old),
            to: count(&new),
            dims: Vec::new(),
        }];
    }
    let pairs = old.iter().zip(&new).filter(|(a, b)| a.0 == b.0);
    let changes = pairs.filter_map(|((number, a), (_, b))| {
        // `p['emb']` in the program, else as the compiler calls it.
        let name = if a.op_name.is_empty() {
            &a.name
        } else {
            &a.op_name
        };
        ShapeChange::between(
            &format!("parameter {number} ({name})"),
            a.shape.as_ref()?,
            b.shape.as_ref()?,
        )
    });
    changes.collect()
}

/// Ops by provenance and category, in the order of the program.
fn by_provenance<'a>(
    cx: &Context<'a>,
    ops: &[OpId],
) -> BTreeMap<(&'a str, &'a str), Vec<HloText<'a>>> {
    let mut out: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let text = |id: Option<trace_model::StringId>| id.map(|id| cx.model.str(id));
    for &op in ops {
        let op = cx.model.op(op);
        let Some(parsed) = text(op.hlo_text).and_then(HloText::parse) else {
            continue;
        };
        let key = (
            text(op.framework_name).unwrap_or_default(),
            text(op.category).unwrap_or_default(),
        );
        out.entry(key).or_default().push(parsed);
    }
    out
}

/// Names that compilers give to the parameters of a program.
fn is_parameter(name: &str) -> bool {
    ["param", "Arg_", "arg_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || ["p", "arg"].iter().any(|prefix| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
}

/// Shapes that differ between ops of the same provenance: those of parameters that they read, otherwise the
/// dimensions that differ most often.
fn op_changes(cx: &Context<'_>, before: &[OpId], after: &[OpId]) -> Vec<ShapeChange> {
    let before = by_provenance(cx, before);
    let after = by_provenance(cx, after);
    let mut parameters: BTreeMap<String, ShapeChange> = BTreeMap::new();
    let mut others: BTreeMap<Vec<DimChange>, (usize, ShapeChange)> = BTreeMap::new();
    for (key, old) in &before {
        // With another number of ops, fusion was different: the ops cannot be paired.
        let Some(new) = after.get(key).filter(|new| new.len() == old.len()) else {
            continue;
        };
        for (old, new) in old.iter().zip(new) {
            for (name, change) in text_changes(old, new) {
                if is_parameter(&name) {
                    parameters.entry(name).or_insert(change);
                } else {
                    others.entry(change.dims.clone()).or_insert((0, change)).0 += 1;
                }
            }
        }
    }
    if !parameters.is_empty() {
        return parameters.into_values().collect();
    }
    let mut others: Vec<(usize, ShapeChange)> = others.into_values().collect();
    largest_first(&mut others, |row| row.0, |row| &row.1.what);
    others.into_iter().map(|(_, change)| change).collect()
}

/// Operands and result that differ, by name.
fn text_changes(old: &HloText<'_>, new: &HloText<'_>) -> Vec<(String, ShapeChange)> {
    let before = old.operand_list();
    let after = new.operand_list();
    let mut out = Vec::new();
    if before.len() == after.len() {
        for (a, b) in before.iter().zip(&after) {
            let (Some(from), Some(to)) = (&a.shape, &b.shape) else {
                continue;
            };
            let what = if is_parameter(a.name) {
                a.name.to_owned()
            } else {
                format!("{} of {}", a.name, old.name)
            };
            out.extend(
                ShapeChange::between(&what, from, to).map(|change| (a.name.to_owned(), change)),
            );
        }
    }
    if let (Some(from), Some(to)) = (old.result(), new.result()) {
        out.extend(
            ShapeChange::between(old.name, &from, &to).map(|change| (old.name.to_owned(), change)),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(from: &str, to: &str) -> Option<String> {
        let shape = |text| Shape::parse(text).unwrap();
        ShapeChange::between("x", &shape(from), &shape(to)).map(|change| change.sentence())
    }

    #[test]
    fn changed_dimension_is_named() {
        assert_eq!(
            change(
                "bf16[8,128,512]{2,1,0:T(8,128)}",
                "bf16[8,160,512]{2,1,0:T(8,128)}"
            )
            .as_deref(),
            Some("x bf16[8,128,512] → bf16[8,160,512]: dim 1 128 → 160")
        );
        // Only the layout differs: the program gets the same value.
        assert_eq!(change("f32[8,4]{1,0}", "f32[8,4]{0,1}"), None);
        assert_eq!(
            change("f32[8]", "bf16[8]").as_deref(),
            Some("x f32[8] → bf16[8]")
        );
        assert_eq!(
            change("f32[8]", "f32[8,1]").as_deref(),
            Some("x f32[8] → f32[8,1]")
        );
        assert_eq!(
            change("(f32[2], u32[])", "(f32[3], u32[])").as_deref(),
            Some("x (f32[2], u32[]) → (f32[3], u32[])")
        );
    }

    #[test]
    fn parameters_are_distinguished_from_other_operands() {
        for name in [
            "param.3",
            "param_0.1",
            "Arg_0.1",
            "p0",
            "p1.2",
            "parameter.7",
            "arg12.1",
        ] {
            assert!(is_parameter(name), "{name}");
        }
        for name in ["pad.1", "fusion.3", "argmax.1", "copy-done", "p"] {
            assert!(!is_parameter(name), "{name}");
        }
    }
}
