//! Layers as ops, with the sizes and bytes of their matmul.

use hashbrown::HashMap;
use importer_common::names::TakenNames;
use trace_model::{Access, LabelId, MemoryAccess, MemorySpace, Op, StringId, TraceBuilder};

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
    pub(super) fn of(
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
        let op = op(&distinct, product, out);
        let op = out.op(op);
        let label = out.label(&distinct, Some(op));
        self.known.insert(work, label);
        label
    }
}

fn op(name: &str, product: Option<&OnnximMatmul>, out: &mut TraceBuilder) -> Op {
    let (flops, bytes) = product.map_or((None, None), amounts);
    let hlo_text = product
        .zip(bytes)
        .and_then(|(product, bytes)| hlo(&product.sizes, bytes));
    let memory = bytes.map(|bytes| MemoryAccess {
        space: MemorySpace::Hbm,
        access: Access::Unknown,
        bytes,
    });
    Op {
        name: out.intern(name),
        category: (product.is_some() || is_matmul(name)).then(|| out.intern("dot")),
        hlo_text: hlo_text.map(|text| out.intern(&text)),
        flops,
        model_flops: flops,
        bytes_accessed: bytes,
        memory: memory.into_iter().collect(),
        ..Op::default()
    }
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
    let (kind, _) = kind?;
    Some(format!(
        "%dot = {kind}[{rows},{columns}]{{1,0}} dot({kind}[{rows},{inner}]{{1,0}} %lhs, \
         {kind}[{inner},{columns}]{{1,0}} %rhs), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    ))
}
