//! What an op does, whatever it is called and whoever wrote it, so that a fusion that became a kernel, or a collective
//! with another name, is compared with what it replaced.

use std::borrow::Cow;

use device_reports::StepPart;
use facts::category::classify_texts;
use facts::prelude::*;
use hlo::{ArrayShape, HloText, Shape, element_bits};
use trace_model::without_number;

use super::summary::OpTimes;

/// Operands kept in a summary: kernels can have dozens, and the first ones tell what is computed.
const MOST_OPERANDS: usize = 8;
/// Types of operands that have less than this share of the elements of the largest say nothing about the weights.
const LARGE_OPERAND: f64 = 1.0 / 16.0;

/// What an op does.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OpPurpose {
    pub time_use: TimeUse,
    /// Ops that are counted together: `XLA bf16 fusions`, `all-reduce`, `mlp/mul`.
    pub group: String,
}

impl OpPurpose {
    pub(super) fn of(op: &OpTimes) -> Self {
        let is_kernel = op.part == StepPart::Kernel;
        let time_use = if is_kernel && is_matrix_product(op) {
            TimeUse::MatMul
        } else {
            op.part.into()
        };
        let group = match time_use {
            _ if is_kernel => kernel(op, time_use),
            TimeUse::MatMul => {
                let (writer, kind) = product_kind(&op.name);
                with_type(writer, op, kind)
            }
            TimeUse::Collective => collective(op),
            TimeUse::AsyncWait | TimeUse::HostIo | TimeUse::SparseCore => {
                without_number(&op.name).to_owned()
            }
            _ => origin(op),
        };
        Self { time_use, group }
    }
}

/// The sizes of the first result, whatever its type: `[8, 128]`.
pub(super) fn result_dims(op: &OpTimes) -> Option<String> {
    let shape = Shape::parse(op.shape.as_deref()?)?;
    Some(format!("{:?}", shape.arrays().first()?.dims))
}

/// Types and sizes of the operands, as in `bf16[8,128], s8[128,512]`; `None` if the text does not give them.
pub(super) fn operands(text: &HloText<'_>) -> Option<String> {
    let arrays = text
        .operand_list()
        .into_iter()
        .filter_map(|operand| Some(operand.shape?.array()?.clone()));
    let texts: Vec<String> = arrays
        .take(MOST_OPERANDS)
        .map(|array| format!("{}{:?}", array.dtype, array.dims).replace(' ', ""))
        .collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// The operands of an op, as far as the summary has them.
fn arrays(op: &OpTimes) -> Vec<ArrayShape<'_>> {
    let texts = op.operands.as_deref().unwrap_or_default().split(", ");
    // A saved summary may hold any text.
    let texts = texts.take(MOST_OPERANDS);
    let shapes = texts.filter_map(|text| Shape::parse(text)?.array().cloned());
    shapes.collect()
}

/// The element type of what a product multiplies with: the narrowest of its large operands. Weights are quantized first.
pub(super) fn weight_type(op: &OpTimes) -> Option<String> {
    let arrays = arrays(op);
    let elements = |array: &ArrayShape<'_>| array.elements().unwrap_or(0) as f64;
    let matrices = || arrays.iter().filter(|array| sides(array).len() >= 2);
    let largest = matrices().map(elements).fold(0.0, f64::max);
    let large = matrices().filter(|array| elements(array) >= LARGE_OPERAND * largest);
    let narrowest = large
        .filter_map(|array| Some((element_bits(array.dtype)?, array.dtype)))
        .min();
    narrowest.map(|(_, dtype)| dtype.to_owned()).or_else(|| {
        let shape = Shape::parse(op.shape.as_deref()?)?;
        let first = shape.arrays().first()?.dtype.to_owned();
        element_bits(&first).map(|_| first)
    })
}

/// Sizes without those of one.
fn sides(array: &ArrayShape<'_>) -> Vec<u64> {
    array.dims.iter().copied().filter(|&dim| dim > 1).collect()
}

/// Whether a kernel multiplies matrices: its name says so, or two operands of `m × k` and `k × n` give `m × n`. Attention
/// does both and more, and has a name of its own.
fn is_matrix_product(op: &OpTimes) -> bool {
    const NAMES: [&str; 6] = [
        "matmul",
        "gemm",
        "gmm",
        "dot_general",
        "einsum",
        "ragged_dot",
    ];
    // The names nearest to the kernel: a product may stand in the scope of an attention layer.
    let path = op.framework.as_deref().unwrap_or_default();
    let nearest = path.rsplit('/').take(3);
    let names: Vec<&str> = nearest.chain([op.name.as_str()]).collect();
    let has = |wanted: &str| names.iter().any(|name| name.contains(wanted));
    if NAMES.into_iter().any(has) {
        return true;
    }
    if has("attention") || has("attn") {
        return false;
    }
    let last_two = |array: &ArrayShape<'_>| match sides(array)[..] {
        [.., a, b] => Some((a, b)),
        _ => None,
    };
    let result = op
        .shape
        .as_deref()
        .and_then(Shape::parse)
        .as_ref()
        .and_then(|shape| last_two(shape.arrays().first()?));
    let Some((m, n)) = result else { return false };
    let operands: Vec<(u64, u64)> = arrays(op).iter().filter_map(last_two).collect();
    let inner = |(a, b): (u64, u64), outer: u64| match (a == outer, b == outer) {
        (true, _) => Some(b),
        (_, true) => Some(a),
        _ => None,
    };
    let pairs = operands
        .iter()
        .enumerate()
        .flat_map(|(index, &a)| operands.iter().skip(index + 1).map(move |&b| (a, b)));
    pairs.into_iter().any(|(a, b)| {
        let fits = |left, right| inner(left, m).is_some_and(|k| inner(right, n) == Some(k));
        fits(a, b) || fits(b, a)
    })
}

/// `quantized_matmul f4e2m1fn`: a kernel without its block sizes.
fn kernel(op: &OpTimes, time_use: TimeUse) -> String {
    let stem = kernel_stem(&op.name);
    if time_use == TimeUse::MatMul {
        with_type(stem, op, "")
    } else {
        stem.to_owned()
    }
}

/// `quantized_matmul` of `quantized_matmul_kernel_512_6400`, `RPA` of `RPA-bq_32-bkvp_64`: numbers in the name of a kernel
/// are block sizes, and a dash begins the name of a parameter.
fn kernel_stem(name: &str) -> &str {
    let name = without_number(name);
    let separator = |index: usize| matches!(name.as_bytes().get(index), Some(b'_' | b'-' | b'.'));
    let number = name
        .bytes()
        .enumerate()
        .position(|(index, byte)| byte.is_ascii_digit() && index > 0 && separator(index - 1));
    let before = number.and_then(|index| name.get(..index)).unwrap_or(name);
    let before = match before.split_once('-') {
        Some((stem, _)) if number.is_some() && !stem.is_empty() => stem,
        _ => before,
    };
    let stem = before.trim_end_matches(['_', '-', '.']);
    let stem = stem.strip_suffix("_kernel").unwrap_or(stem);
    if stem.is_empty() { name } else { stem }
}

/// `XLA bf16 fusions`, `gmm s8`.
fn with_type(what: &str, op: &OpTimes, kind: &str) -> String {
    let words = [
        Some(what.to_owned()),
        weight_type(op),
        Some(kind.to_owned()),
    ];
    joined(words.into_iter().flatten(), " ").trim().to_owned()
}

/// Who wrote a product, and its kind; other names than XLA's are those of layers, which simulators give.
fn product_kind(name: &str) -> (&'static str, &'static str) {
    match name {
        name if name.contains("fusion") => ("XLA", "fusions"),
        name if name.contains("conv") => ("XLA", "convolutions"),
        name if name.contains("dot") => ("XLA", "dots"),
        _ => ("", "dots"),
    }
}

impl OpTimes {
    /// The kind of a collective, whatever its name: `all-reduce` for one that is called `psum`.
    pub fn collective_kind(&self) -> Option<String> {
        self.is_collective.then(|| collective(self))
    }
}

/// The kind of the collective, whatever its name and however it is started and awaited.
fn collective(op: &OpTimes) -> String {
    let (class, category) = classify_texts(Some(&op.category), "", &op.name);
    let kind = class
        .collective
        .filter(|kind| *kind != CollectiveKind::Unknown)
        .or_else(|| classify_texts(None, "", &op.name).0.collective);
    kind.map_or(category, |kind| kind.name().to_owned())
}

/// The last two names of the framework, without numbers of layers; without them the file, else the op's name.
fn origin(op: &OpTimes) -> String {
    let framework = op.framework.as_deref().and_then(last_names);
    framework
        .or_else(|| {
            op.source.as_deref().map(|source| {
                let file = source.rsplit('/').next().unwrap_or(source);
                file.split(':').next().unwrap_or(file).to_owned()
            })
        })
        .unwrap_or_else(|| without_number(&op.name).to_owned())
}

/// `mlp/mul` of `jit(step)/layers_3/mlp/mul[dtype=bf16]:`; `layers_#/mul` of `jit(step)/layers_3/mul`.
fn last_names(path: &str) -> Option<String> {
    // A fusion has the names of several ops; the first is that of its root.
    let path = path.split([';', '[']).next()?.trim_end_matches(':');
    let mut names = path.rsplit('/').filter(|name| !name.is_empty());
    let last = names.next()?;
    let scope = names.next().filter(|scope| !scope.starts_with("jit("));
    Some(match scope {
        Some(scope) => format!("{}/{last}", numbers_replaced(scope)),
        None => last.to_owned(),
    })
}

/// The text with `#` for each number.
pub(super) fn numbers_replaced(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_ascii_digit() { '#' } else { c };
        if c != '#' || !out.ends_with('#') {
            out.push(c);
        }
    }
    Cow::Owned(out)
}
