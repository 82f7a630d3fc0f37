//! Costs that the author of a kernel declares.

use super::*;

#[test]
fn declared_costs_give_rates_and_impossible_ones_are_flagged() {
    let trace = |flops: &str| {
        text_trace(&format!(
            "
            @device flops=1e15 hbm=1e12 TPU v6 lite
            ops: KKKKKKKKKK
            K = k.1 [custom-call] {flops} bytes=1000
            "
        ))
    };
    let possible = kernel(&report_of(&trace("flops=5e6")).unwrap(), "k");
    assert_eq!(
        (possible.declared, possible.flops),
        (DeclaredCosts::Yes, Some(5_000_000))
    );
    assert!((possible.flops_per_second.unwrap() - 5e14).abs() < 1.0);
    assert!((possible.flops_percent.unwrap().0 - 50.0).abs() < 1e-9);
    let report = report_of(&trace("flops=2e7")).unwrap();
    assert_eq!(kernel(&report, "k").declared, DeclaredCosts::Impossible);
    assert!(report.hints[0].contains("more than the device can do"));
    let none = kernel(&report_of(&trace("")).unwrap(), "k");
    assert_eq!(
        (none.declared, none.flops, none.flops_percent),
        (DeclaredCosts::No, None, None)
    );
}

/// The costs that each execution records are summed.
#[test]
fn declared_costs_are_summed_over_executions() {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let (name, category) = (builder.intern("k"), Some(builder.intern("custom-call")));
    let op = builder.op(Op {
        name,
        category,
        ..Op::default()
    });
    let label = builder.label("k", Some(op));
    for (start, flops) in [(0, 100), (1_000, 40)] {
        let range = TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(1_000));
        let key = builder.add_slice(ops, SliceSpec::new(range, label));
        builder.set_attr(key, SliceAttr::Flops, flops);
    }
    let report = report_of(&builder.finish()).unwrap();
    assert_eq!(
        (report.kernels[0].flops, report.kernels[0].occurrences),
        (Some(140), 2)
    );
}

/// A kernel of 100 µs with these shapes, name, and declared operations.
fn with_shapes(name: &str, shapes: &str, flops: u64) -> Kernel {
    let (result, operands) = shapes.split_once(" of ").unwrap();
    let operands: Vec<String> = operands
        .split(' ')
        .enumerate()
        .map(|(k, shape)| format!("{shape} %p{k}"))
        .collect();
    let picture = format!(
        "@column 100us
        @device flops=1e15 hbm=1e12 TPU v6 lite
        ops: K
        K = {name}.1 [custom-call] flops={flops} :: %{name}.1 = {result} custom-call({}), custom_call_target=\"tpu_custom_call\"",
        operands.join(", ")
    );
    kernel(&report_of(&text_trace(&picture)).unwrap(), name)
}

#[test]
fn cost_of_a_single_block_is_flagged_as_too_low() {
    const PRODUCT: &str = "f32[2048,2048]{1,0} of f32[2048,1024]{1,0} f32[1024,2048]{1,0}";
    const BATCH: &str = "f32[8,512,512]{2,1,0} of f32[8,512,256]{2,1,0} f32[8,256,512]{2,1,0}";
    const SQUARE: &str = "f32[512,512]{1,0} of f32[512,512]{1,0} f32[512,512]{1,0}";
    let needed = 2 * 2048 * 1024 * 2048;
    // An eighth of the operations, as a real kernel declares it.
    let found = with_shapes("kernel", PRODUCT, 1_076_887_552);
    assert_eq!(
        (found.declared, found.needed_flops),
        (DeclaredCosts::TooFew, Some(needed))
    );
    assert!((found.needed_flops_percent.unwrap().0 - 100.0 * needed as f64 / 1e11).abs() < 1e-9);
    assert!(
        (found.flops_percent.unwrap().0 - 100.0 * 1_076_887_552.0 / 1e11).abs() < 1e-9,
        "nothing is replaced"
    );
    assert_eq!(
        with_shapes("kernel", PRODUCT, needed).declared,
        DeclaredCosts::Yes
    );
    // One product of a batch of eight.
    let all = 8 * 2 * 512 * 256 * 512;
    assert_eq!(
        with_shapes("kernel", BATCH, all / 8).needed_flops,
        Some(all)
    );
    assert_eq!(
        with_shapes("kernel", BATCH, all).declared,
        DeclaredCosts::Yes
    );
    // With only a few operations per element it is no product, unless the name suggests one.
    assert_eq!(
        with_shapes("add", SQUARE, 3 * 512 * 512).declared,
        DeclaredCosts::Yes
    );
    assert_eq!(
        with_shapes("matmul", SQUARE, 3 * 512 * 512).declared,
        DeclaredCosts::TooFew
    );
    let other = with_shapes(
        "matmul",
        "f32[512,512]{1,0} of f32[512,100]{1,0} f32[50,512]{1,0}",
        512,
    );
    assert_eq!(
        (other.declared, other.needed_flops),
        (DeclaredCosts::Yes, None)
    );
}

#[test]
fn declared_costs_above_peak_tolerate_rounding() {
    const PLAIN: &str = "f32[8]{0} of f32[8]{0}";
    assert_eq!(
        with_shapes("kernel", PLAIN, 100_100_000_000).declared,
        DeclaredCosts::Yes
    );
    assert_eq!(
        with_shapes("kernel", PLAIN, 101_000_000_000).declared,
        DeclaredCosts::Impossible
    );
}
