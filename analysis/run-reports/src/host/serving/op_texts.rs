//! Parameters of programs that the capture does not hold, from the texts of their ops.
//!
//! An exported JSON has no programs, but the text of each op names its operands with their shapes, and parameters keep names
//! of their own (`%param.33`). Those that an op in place returns with the same shape are updated (a cache), the others are
//! weights or small inputs. An op does not read more than the compiler counts for it, so that of an embedding only what
//! is gathered counts. Parameters that only ops without a text read are missing: the sum is a lower limit.

use device_reports::{OpRow, Ops};
use facts::prelude::*;
use hlo::{HBM, HloModule, Shape};

/// A parameter of a program.
#[derive(Default)]
struct Parameter {
    bytes: u64,
    /// What ops read of it at most; `None` if an op has no count.
    read: Option<u64>,
    is_updated: bool,
}

/// Whether an operand is a parameter by its name: `param.33`, `Arg_2.5`.
fn is_parameter(name: &str) -> bool {
    let name = name.trim_start_matches('%');
    let (stem, rest) = name.split_at(name.find(['.', '_']).unwrap_or(name.len()));
    let is_number = rest
        .chars()
        .all(|letter| matches!(letter, '.' | '_') || letter.is_ascii_digit());
    is_number && matches!(stem, "param" | "parameter" | "Arg")
}

/// Bytes in HBM of weights and of parameters that are updated, by program.
pub(super) fn parameter_bytes(cx: &Context<'_>) -> BTreeMap<Arc<str>, (u64, u64)> {
    let mut by_program: BTreeMap<Arc<str>, BTreeMap<String, Parameter>> = BTreeMap::new();
    let Ok(ops) = cx.report::<Ops>() else {
        return BTreeMap::new();
    };
    for row in &ops.rows {
        let text = row.op.and_then(|op| cx.model.op(op).hlo_text);
        let Some(module) = text.and_then(|text| HloModule::from_text(cx.model.str(text))) else {
            continue;
        };
        let parameters = by_program.entry(Arc::clone(&row.program)).or_default();
        add(row, &module, parameters);
    }
    let sums = by_program.into_iter().map(|(program, parameters)| {
        let sum = |is_updated: bool| {
            let of_sort = parameters
                .values()
                .filter(|one| one.is_updated == is_updated);
            of_sort
                .map(|one| match one.read {
                    Some(read) if !is_updated => read.min(one.bytes),
                    _ => one.bytes,
                })
                .fold(0_u64, u64::saturating_add)
        };
        (program, (sum(false), sum(true)))
    });
    sums.collect()
}

/// Adds the parameters that an op reads.
fn add(row: &OpRow, module: &HloModule, parameters: &mut BTreeMap<String, Parameter>) {
    let Some(op) = module.last().and_then(|last| module.instruction(last)) else {
        return;
    };
    let results = op.arrays();
    let moves = op.opcode.contains("copy") || op.opcode.contains("async");
    // Zero is no count: kernels have none.
    let counted = row
        .costs
        .bytes
        .filter(|&bytes| bytes > 0 && row.executions > 0.0);
    let counted = counted.map(|bytes| (bytes as f64 / row.executions).round() as u64);
    for operand in module.operands(op) {
        let Some(Shape::Array(array)) = operand.shape.as_deref() else {
            continue;
        };
        if array.memory_space != HBM || !is_parameter(&operand.name) {
            continue;
        }
        let Some(bytes) = array.bytes() else {
            continue;
        };
        let one = parameters
            .entry(operand.name.to_string())
            .or_insert(Parameter {
                read: Some(0),
                ..Parameter::default()
            });
        one.bytes = one.bytes.max(bytes);
        one.read = one
            .read
            .zip(counted)
            .map(|(sum, more)| sum.saturating_add(more));
        one.is_updated |= !moves
            && results
                .iter()
                .any(|result| result.dims == array.dims && result.dtype == array.dtype);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_told_by_their_names() {
        for name in ["param", "%param.33", "parameter.2", "Arg_2.5"] {
            assert!(is_parameter(name), "{name}");
        }
        for name in ["fusion.3", "param_fusion", "copy-done.1", "parameters.1"] {
            assert!(!is_parameter(name), "{name}");
        }
    }
}
