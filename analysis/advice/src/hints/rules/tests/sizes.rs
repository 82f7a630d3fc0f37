//! Sizes and types of matmuls, and loops around little work.

use super::{cannot_tell, ids, matmul, report, run, saving};

/// So many of a hundred columns of 1 µs are one product on a v5e, the rest copies.
fn product(columns: usize, sizes: (u64, u64, u64), types: (&str, &str), bytes: u64) -> String {
    let (m, k, n) = sizes;
    let flops = 2 * m * k * n;
    format!(
        "
        @column 1us
        @device flops=197e12 hbm=819e9 TPU v5 lite
        ops: {}{}
        x = fusion.1 [convolution] flops={flops} hbm_read={bytes} hbm_write=1 :: %fusion.1 = {}[{m},{n}]{{1,0}} dot({}[{m},{k}]{{1,0}} %a, {}[{k},{n}]{{1,0}} %b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
        z = add.1 [loop fusion]
        ",
        run('x', columns),
        run('z', 100 - columns),
        types.0,
        types.0,
        types.1,
    )
}

/// So many rows of 4096 × 4096: 33.6 MB take 41 µs.
pub(super) fn few_rows(columns: usize, rows: u64) -> String {
    product(columns, (rows, 4096, 4096), ("bf16", "bf16"), 33_600_000)
}

/// 2048³ takes 87 µs at the peak.
pub(super) fn dense(columns: usize, types: (&str, &str)) -> String {
    product(columns, (2048, 2048, 2048), types, 1)
}

#[test]
fn small_batch_reading_all_weights_is_a_hint() {
    let few = few_rows;
    let hint = report(&few(45, 16))
        .hints
        .iter()
        .find(|hint| hint.id == "K16")
        .cloned()
        .unwrap();
    assert!(
        hint.statement
            .contains("M of fusion.1 (sequences × tokens) is 16, up to 241"),
        "{}",
        hint.statement
    );
    // 33.55 MB of weights, half of which take 20.5 µs, in one product of 45 µs.
    let saving = hint.saving_ps.unwrap().as_ps_f64();
    assert!((saving * 1e-6 - 20.48).abs() < 0.1, "{saving}");
    let narrow = product(45, (16, 4096, 4096), ("s8", "s8"), 33_600_000);
    let narrow = report(&narrow);
    let narrow = narrow.hints.iter().find(|hint| hint.id == "K16").unwrap();
    assert_eq!(narrow.saving_ps, None, "they are narrow already");
    // What is recorded goes before what the weights need; weights that cannot be read in the time were there before.
    let little = product(45, (16, 4096, 4096), ("bf16", "bf16"), 3_360_000);
    let before = product(10, (4, 8192, 8192), ("bf16", "bf16"), 8_000_000);
    for picture in [little, before.replace(&run('z', 90), "")] {
        let report = report(&picture);
        let hint = report.hints.iter().find(|hint| hint.id == "K16");
        let saving = hint.map(|hint| hint.saving_ps);
        assert_eq!(saving, Some(None), "{picture}");
    }
    // That it is bound by HBM follows from the small batch.
    let both: Vec<_> = ids(&few(45, 16))
        .into_iter()
        .filter(|id| ["K13", "K16"].contains(id))
        .collect();
    assert_eq!(both, ["K16", "K13"]);
    // Below a third of the time it does not pay; above the ridge it is no longer memory.
    assert!(!ids(&few(29, 16)).contains(&"K16"));
    assert!(!ids(&few(45, 256)).contains(&"K16"));
    let unknown = report("ops: MMMM\nM = fusion.1 [convolution fusion]");
    assert!(["K16", "K18"].iter().all(|id| cannot_tell(&unknown, id)));
}

#[test]
fn dense_bfloat16_matmuls_suggest_narrower_types() {
    assert_eq!(
        saving(&dense(90, ("bf16", "bf16")), "K18"),
        Some(45_000_000)
    );
    assert!(!ids(&dense(90, ("s8", "s8"))).contains(&"K18"));
    // 1024³ takes 11 µs: at a sixth of the peak another type does not help.
    let slow = product(66, (1024, 1024, 1024), ("bf16", "bf16"), 1);
    assert!(!ids(&slow).contains(&"K18"));
    // Less than the limit of device time.
    let little = product(39, (1280, 1280, 1280), ("bf16", "bf16"), 1);
    assert!(!ids(&little).contains(&"K18"));
    let enough = product(40, (1408, 1408, 1408), ("bf16", "bf16"), 1);
    assert!(ids(&enough).contains(&"K18"));
}

/// A v5e is twice as fast in int8, a v7x in fp8.
#[test]
fn the_code_is_of_the_type_that_the_chip_multiplies_faster() {
    let code = |chip: &str, flops: &str| {
        let picture = dense(90, ("bf16", "bf16"))
            .replace("TPU v5 lite", chip)
            .replace("flops=197e12", flops);
        let report = report(&picture);
        let hint = report.hints.iter().find(|hint| hint.id == "K18").unwrap();
        (hint.statement.clone(), hint.code.clone().unwrap())
    };
    let (statement, int8) = code("TPU v5 lite", "flops=197e12");
    assert!(statement.contains("computes int8 twice") && int8.contains("x_int8"));
    let (statement, fp8) = code("TPU v7x", "flops=197e12");
    assert!(statement.contains("computes fp8 twice"), "{statement}");
    assert!(
        fp8.contains("float8_e4m3fn") && !fp8.contains("int"),
        "{fp8}"
    );
}

#[test]
fn padding_is_no_hint_for_memory_bound_ops() {
    assert!(!ids(&product(45, (16, 4096, 4096), ("f32", "f32"), 33_600_000)).contains(&"K11"));
}

/// A loop of so many iterations, each so many µs of which one is the loop's own.
pub(super) fn looping(trips: usize, us: usize) -> String {
    let inside = format!("{}.", run('a', us - 1)).repeat(trips);
    format!(
        "@column 1us\nops: {}\n   : {inside}\nW = while.1 [while]\na = fusion.1 [loop fusion]",
        run('W', trips * us),
    )
}

#[test]
fn short_loops_suggest_unrolling() {
    // A quarter of 64 × 1 µs stays.
    assert_eq!(saving(&looping(64, 19), "K23"), Some(48_000_000));
    assert!(!ids(&looping(63, 19)).contains(&"K23"));
    assert!(!ids(&looping(64, 20)).contains(&"K23"));
    assert!(cannot_tell(
        &report("ops: MMMM\nM = fusion.1 [convolution fusion]"),
        "K23"
    ));
}

#[test]
fn multi_pass_matmuls_are_found_by_precision() {
    let at = |precision: &str| {
        matmul(
            1024,
            1024,
            1024,
            &format!(", operand_precision={{{precision},{precision}}}"),
        )
    };
    // One of six.
    assert_eq!(saving(&at("highest"), "K17"), Some(83_333_333));
    assert_eq!(saving(&at("high"), "K17"), Some(66_666_667));
    assert_eq!(saving(&at("default"), "K17"), None);
    assert_eq!(ids(&at("highest")), ["K12", "K17"]);
}

/// The text shows types, and not which operands are multiplied.
#[test]
fn missing_types_of_products_have_their_reason() {
    let picture = "
        @column 1us
        @device flops=197e12 hbm=819e9 TPU v5 lite
        ops: xxxxxxxxxx
        x = fusion.1 [convolution fusion] flops=3 hbm_read=1 hbm_write=1 :: %fusion.1 = bf16[4096,4096]{1,0} fusion(bf16[4096,4096]{1,0} %a, bf16[4096,4096]{1,0} %b), kind=kOutput, calls=%f
        ";
    let found = report(picture);
    let silent = found.cannot_tell.iter().find(|rule| rule.id == "K18");
    let reason = &silent.unwrap().reason;
    assert!(
        reason.ends_with("no operand explains the recorded operations"),
        "{reason}"
    );
}
