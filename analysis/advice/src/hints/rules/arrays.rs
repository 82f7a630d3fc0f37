//! What the texts of ops tell of the arrays that they read and write.

use super::prelude::*;
use hlo::{ArrayShape, HloText};

use crate::hints::OpSelection;

/// Arrays with less than this share of the elements of the largest do not matter.
const LARGE: f64 = 1.0 / 16.0;
/// What holds for this share of their time holds for ops.
pub(super) const NEARLY_ALL: f64 = 0.9;
/// Lanes and sublanes of a vector register.
const REGISTER: [u64; 2] = [128, 8];

/// Whether `wanted` ops take nearly all of the time of some.
pub(super) fn nearly_all(selection: &OpSelection<'_>, wanted: impl Fn(&OpRow) -> bool) -> bool {
    let rows = selection.rows.iter().filter(|row| wanted(row));
    let time: Picos = rows.map(|row| selection.devices.self_time(row)).sum();
    time.as_ps_f64() >= NEARLY_ALL * selection.self_ps.as_ps_f64()
}

/// Whether the text of an op shows the large arrays that it reads, and none has elements of more than 16 bits.
pub(super) fn reads_narrow(facts: &HintFacts<'_>, row: &OpRow) -> bool {
    let read = |text: &HloText<'_>| all_large(&operands(text), is_narrow);
    text_of(facts, row).is_some_and(|text| read(&text))
}

/// Whether the text of an op shows large arrays, and their minor dimensions fill vector registers.
pub(super) fn fills_registers(facts: &HintFacts<'_>, row: &OpRow) -> bool {
    let fills = |text: &HloText<'_>| {
        let result = text.result();
        let results = result.iter().flat_map(|shape| shape.arrays()).cloned();
        let arrays: Vec<_> = results.chain(operands(text)).collect();
        all_large(&arrays, has_full_registers)
    };
    text_of(facts, row).is_some_and(|text| fills(&text))
}

/// The text of an op, taken apart.
pub(super) fn text_of<'f>(facts: &HintFacts<'f>, row: &OpRow) -> Option<HloText<'f>> {
    let model = facts.cx.model;
    HloText::parse(model.str(model.op(row.op?).hlo_text?))
}

fn operands<'f>(text: &HloText<'f>) -> Vec<ArrayShape<'f>> {
    let arrays = text
        .operand_list()
        .into_iter()
        .filter_map(|operand| operand.shape?.array().cloned());
    arrays.collect()
}

/// False where there is none.
fn all_large(arrays: &[ArrayShape<'_>], is: impl Fn(&ArrayShape<'_>) -> bool) -> bool {
    let elements = |array: &ArrayShape<'_>| array.elements().unwrap_or(0) as f64;
    let most = arrays.iter().map(elements).fold(0.0, f64::max);
    most > 0.0
        && arrays
            .iter()
            .filter(|array| elements(array) >= LARGE * most)
            .all(is)
}

fn is_narrow(array: &ArrayShape<'_>) -> bool {
    hlo::element_bits(array.dtype).is_some_and(|bits| bits <= 16)
}

fn has_full_registers(array: &ArrayShape<'_>) -> bool {
    let last_first = (0..array.dims.len()).rev();
    let minor: Vec<usize> = if array.minor_to_major.is_empty() {
        last_first.collect()
    } else {
        array
            .minor_to_major
            .iter()
            .filter_map(|&index| usize::try_from(index).ok())
            .collect()
    };
    let sizes = minor.iter().filter_map(|&index| array.dims.get(index));
    sizes.zip(REGISTER).all(|(&size, least)| size >= least)
}
