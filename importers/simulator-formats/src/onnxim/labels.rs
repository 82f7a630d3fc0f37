//! Layers as ops, with the sizes and bytes of their matmul.

use importer_common::names::TakenNames;
use importer_common::prelude::*;
use importer_common::simulated::{label_of_op, op_with_costs, product_text};

use super::line::MatmulDims;
use super::run::OnnximMatmul;
use crate::chakra::npu::is_matmul;

/// Tolerance of GFLOPs and GB, which are printed with seven digits.
const TOLERANCE: f64 = 1e-6;

/// Labels of layers. Layers with the same name are one op if they do the same work.
#[derive(Default)]
pub(super) struct OnnximLabels {
    known: HashMap<(StringId, Option<MatmulDims>), LabelId>,
    taken: TakenNames,
}

impl OnnximLabels {
    pub fn of(
        &mut self,
        name: StringId,
        product: Option<&OnnximMatmul>,
        out: &mut TraceBuilder,
    ) -> LabelId {
        let work = (name, product.map(|product| product.sizes));
        if let Some(label) = self.known.get(&work) {
            return *label;
        }
        let number = self.known.len() as u64 + 1;
        let distinct = self
            .taken
            .distinct(out.str(name).to_owned(), "work", number);
        let label = label(&distinct, product, out);
        self.known.insert(work, label);
        label
    }
}

fn label(name: &str, product: Option<&OnnximMatmul>, out: &mut TraceBuilder) -> LabelId {
    let (flops, bytes) = product.map_or((None, None), amounts);
    let hlo_text = product
        .zip(bytes)
        .and_then(|(product, bytes)| hlo(&product.sizes, bytes));
    let op = Op {
        hlo_text: hlo_text.map(|text| out.intern(&text)),
        ..op_with_costs(flops, bytes)
    };
    let category = (product.is_some() || is_matmul(name)).then_some("dot");
    label_of_op(name, category, op, out)
}

/// Operations and bytes as printed; exact where the dimensions explain the digits: a product with or without an added
/// bias.
fn amounts(product: &OnnximMatmul) -> (Option<u64>, Option<u64>) {
    let MatmulDims {
        rows,
        inner,
        columns,
    } = product.sizes;
    let plain = 2.0 * rows as f64 * inner as f64 * columns as f64;
    let exact = |printed: f64, candidates: [f64; 2]| {
        let fits = |candidate: &f64| (candidate / printed - 1.0).abs() < TOLERANCE;
        candidates.into_iter().find(fits).unwrap_or(printed).round() as u64
    };
    let flops = product
        .gflops
        .map(|gflops| exact(gflops * 1e9, [plain + rows as f64 * columns as f64, plain]));
    (
        flops,
        product
            .gigabytes
            .map(|gigabytes| (gigabytes * 1e9).round() as u64),
    )
}

/// The product as HLO text, from which analyses take its dimensions. The element size follows from the total number of
/// bytes.
fn hlo(sizes: &MatmulDims, bytes: u64) -> Option<String> {
    let MatmulDims {
        rows,
        inner,
        columns,
    } = *sizes;
    let both = |a: u64, b: u64| a as f64 * b as f64;
    let numbers = both(rows, inner) + both(inner, columns) + both(rows, columns);
    let kind = ["s8", "bf16", "f32"]
        .into_iter()
        .zip([1.0, 2.0, 4.0])
        .find(|(_, width)| {
            let plain = bytes as f64 / (numbers * width);
            let biased = bytes as f64 / ((numbers + columns as f64) * width);
            [plain, biased]
                .into_iter()
                .any(|ratio| (ratio - 1.0).abs() < TOLERANCE)
        });
    Some(product_text(kind?.0, [rows, inner, columns]))
}
