//! What the matrix units did, by counters and by padded shapes.

use hlo::{HloModule, InstructionRef};

use super::*;
use crate::ops::hardware_counters::{CounterMetric, CounterUnit};
use crate::ops::kernels::matrix_units::{self, KnownWork};

/// The work of a call of `name` in `scope` whose text is `result of operands`.
fn work_in(scope: &str, name: &str, shapes: &str) -> Option<ShapeCost> {
    let (result, operands) = shapes.split_once(" of ").unwrap();
    let operands: Vec<String> = operands
        .split(' ')
        .enumerate()
        .map(|(at, shape)| format!("{shape} %p{at}"))
        .collect();
    let text = format!(
        "%k = {result} custom-call({}), custom_call_target=\"tpu_custom_call\"",
        operands.join(", ")
    );
    let module = HloModule::from_text(&text).unwrap();
    let last = module.last().unwrap();
    let call = InstructionRef::new(Arc::new(module), last).unwrap();
    shapes::cost(name, scope, &call)
}

fn work(name: &str, shapes: &str) -> ShapeCost {
    work_in("", name, shapes).unwrap()
}

const FLASH: &str =
    "bf16[2,8,1024,128] of bf16[2,8,1024,128] bf16[2,8,1024,128] bf16[2,8,1024,128]";

/// The name counts before the scope: layers and functions around a kernel are named after other kernels, too.
#[test]
fn scope_does_not_hide_a_known_kernel() {
    let product = "bf16[1024,256] of bf16[1024,512] bf16[512,256]";
    for scope in [
        "jit(ragged_paged_attention)/pallas_call",
        "gmm/splash_attention",
        "jit(all_gather)/megablox",
    ] {
        let flash = work_in(scope, "flash_attention", FLASH).unwrap();
        assert_eq!(flash.kind, KernelKind::FlashAttention, "{scope}");
        let matmul = work_in(scope, "matmul_kernel", product);
        assert_eq!(matmul.unwrap().kind, KernelKind::Matmul, "{scope}");
    }
    let named_by_scope = work_in("jit(flash_attention)", "attention_kernel", FLASH).unwrap();
    assert_eq!(named_by_scope.kind, KernelKind::FlashAttention);
}

/// Heads of 128 fill half of a tile where they are summed over; where they are columns, these take the role of rows.
#[test]
fn heads_are_padded_to_tiles() {
    let cost = work("flash_attention", FLASH);
    let of_shapes = cost.flops.unwrap() as f64;
    let times = |tile| cost.padded_flops(tile).unwrap() / of_shapes;
    assert!((times(128) - 1.0).abs() < 1e-12 && (times(256) - 1.5).abs() < 1e-12);
    let grouped = work(
        "gmm",
        "f32[1024,256] of s32[9] bf16[1024,512] bf16[8,512,256]",
    );
    assert_eq!(grouped.padded_flops(256), None, "rows of groups are values");
}

fn said(name: &str, shapes: &str, rate: f64, tile: u64, counters: Option<f64>) -> String {
    let cost = work(name, shapes);
    let times = cost
        .padded_flops(tile)
        .map(|padded| padded / cost.flops.unwrap() as f64);
    let known = KnownWork {
        cost: &cost,
        tile: Some(tile),
        rate,
        padded_rate: times.map(|times| times * rate),
    };
    let found = known.hardware(counters.map(Percent));
    assert_eq!(found.percent.is_some(), found.from.is_some());
    found.said.unwrap_or_default()
}

#[test]
fn differences_to_the_model_have_a_reason() {
    let flash = |rate, tile, counters| said("flash_attention", FLASH, rate, tile, Some(counters));
    assert_eq!(
        flash(40.0, 128, 40.5),
        "HFU is 40.5 % by counters, as much as without a mask: it skips nothing"
    );
    assert_eq!(
        flash(40.0, 256, 60.0),
        "HFU is 60.0 % by counters, 1.50 times what its shapes need: padding to tiles of 256"
    );
    assert_eq!(
        flash(40.0, 128, 24.0),
        "HFU is 24.0 % by counters, 0.60 of all products: the kernel skips the rest of its mask; a causal mask needs half, \
         and blocks that it cuts are computed whole"
    );
    assert_eq!(
        flash(40.0, 256, 80.0),
        "HFU is 80.0 % by counters, 2.00 times what its shapes need beside padding to tiles of 256: it computes some of it \
         again, or in several passes"
    );
    let product = "bf16[1024,256] of bf16[1024,512] bf16[512,256]";
    let matmul = |counters| said("matmul", product, 40.0, 256, counters);
    assert_eq!(matmul(Some(41.0)), "HFU is 41.0 % by counters");
    assert_eq!(
        matmul(None),
        "",
        "without padding and mask it is the model's"
    );
    assert!(matmul(Some(20.0)).ends_with("or it multiplies narrower numbers"));
    let narrow = "bf16[1024,512] of bf16[1024,200] bf16[200,512]";
    assert_eq!(
        said("matmul", narrow, 40.0, 256, None),
        "HFU is 51.2 % by shapes padded to tiles of 256: padding makes 1.28 times the operations"
    );
    assert!(
        said("matmul", narrow, 90.0, 256, None).ends_with("pads less, and its HFU is not known")
    );
    let grouped = "f32[1024,256] of s32[9] bf16[1024,512] bf16[8,512,256]";
    assert_eq!(
        said("gmm", grouped, 120.0, 256, Some(30.0)),
        "HFU is 30.0 % by counters, 0.25 of the limit by shapes: sequences or groups are smaller than the shapes allow"
    );
    assert_eq!(
        said("gmm", grouped, 50.0, 256, None),
        "",
        "nothing is known"
    );
}

/// Instructions count before busy cycles, and cores have their own cycles.
#[test]
fn counters_of_several_cores_are_added() {
    let counter = |id, core, achieved, peak| CounterMetric {
        id,
        title: id,
        core: Some(core),
        achieved,
        peak: Some(peak),
        unit: CounterUnit::Cycles,
        of: String::new(),
    };
    let counted = |of: &[CounterMetric]| {
        let of: Vec<_> = of.iter().map(|metric| ("TPU:0", metric)).collect();
        matrix_units::counted(&of)
    };
    let busy = [
        counter("mxu_busy", 0, 90.0, 100.0),
        counter("hbm", 0, 5.0, 9.0),
    ];
    assert_eq!(counted(&busy), Some(Percent(90.0)));
    let instructions = [
        counter("mxu_bf16", 0, 40.0, 200.0),
        counter("mxu_fp8", 0, 20.0, 200.0),
        counter("mxu_bf16", 1, 40.0, 200.0),
    ];
    let all: Vec<_> = busy.into_iter().chain(instructions).collect();
    assert_eq!(counted(&all), Some(Percent(25.0)));
    assert_eq!(counted(&all[1..2]), None);
}
