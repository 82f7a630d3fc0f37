//! Matmuls and other ops beside their peaks.

use super::*;

#[test]
fn slow_matmuls_are_judged_against_the_peak() {
    // 100 µs at the peak are 1e8 operations.
    let matmul = |flops: &str| {
        one_op(
            "convolution fusion",
            &format!("flops={flops} hbm_read=1 hbm_write=1"),
        )
    };
    assert_eq!(saving(&matmul("49e6"), "K12"), Some(51_000_000));
    assert_eq!(saving(&matmul("51e6"), "K12"), None);
    // Another kind of op is a matter of K14.
    assert_eq!(
        ids(&one_op("loop fusion", "flops=49e6 hbm_read=1 hbm_write=1")),
        ["K14"]
    );
    // Limited by memory is not far from the peak of compute.
    assert!(
        !ids(&one_op(
            "convolution fusion",
            "flops=1e6 hbm_read=80_000 hbm_write=1"
        ))
        .contains(&"K12")
    );
}

#[test]
fn ops_at_the_memory_roof_are_not_called_slow() {
    // 100 µs at the peak are 1e5 bytes.
    let op = |bytes: u32| {
        one_op(
            "loop fusion",
            &format!("flops=1 hbm_read={bytes} hbm_write=0"),
        )
    };
    assert_eq!(ids(&op(71_000)), ["K13"]);
    assert_eq!(ids(&op(60_000)), Vec::<&str>::new());
    assert_eq!(ids(&op(49_000)), ["K14"]);
    assert_eq!(saving(&op(49_000), "K14"), Some(51_000_000));
}

#[test]
fn roofline_rules_need_costs_and_peaks() {
    let report = report(&mixed(50, "add.1", "loop fusion"));
    let silent: Vec<_> = report.cannot_tell.iter().map(|rule| rule.id).collect();
    assert!(
        ["K12", "K13", "K14"].iter().all(|id| silent.contains(id)),
        "{silent:?}"
    );
    assert!(
        report
            .cannot_tell
            .iter()
            .all(|rule| !rule.reason.is_empty())
    );
}

#[test]
fn tiny_ops_are_counted_together() {
    let picture = |tiny: usize| {
        let many: String = "ab".repeat(tiny / 2);
        format!(
            "
            @column 1us
            ops: {}{many}
            M = fusion.1 [convolution fusion]
            a = add.1 [loop fusion]
            b = add.2 [loop fusion]
            ",
            run('M', 100 - tiny),
        )
    };
    assert_eq!(saving(&picture(10), "K15"), Some(5_000_000));
    assert_eq!(ids(&picture(10)), ["K15"]);
    assert_eq!(saving(&picture(8), "K15"), None);
    // Cycles of an assumed clock have no length.
    let mut builder = text_builder(&picture(10));
    builder.log(trace_model::IssueKind::AssumedClock, String::new);
    let cycles = report_of(&builder.finish(), HintOptions::default());
    assert!(cannot_tell(&cycles, "K15"));
}

#[test]
fn padding_hint_needs_matmul_sizes() {
    // 64 of 128 are useful.
    assert_eq!(saving(&matmul(1024, 64, 1024, ""), "K11"), Some(50_000_000));
    assert_eq!(saving(&matmul(1024, 1024, 1024, ""), "K11"), None);
    let unknown = report(&one_op("convolution fusion", "flops=1"));
    assert!(
        ["K11", "K17"]
            .iter()
            .all(|id| unknown.cannot_tell.iter().any(|rule| rule.id == *id))
    );
}

/// What the ops read and write decides what is left to do.
#[test]
fn advice_that_is_followed_already_is_not_given() {
    let brief = |id: &str, category: &str, costs: &str, result: &str, read: &str| {
        let text =
            format!("{costs} :: %fusion.1 = {result} fusion({read}), kind=kOutput, calls=%f");
        let report = report(&one_op(category, &text));
        let found = report.hints.into_iter().find(|hint| hint.id == id);
        found.unwrap_or_else(|| panic!("no {id}")).brief
    };
    let page = |id: &str| {
        let mut rules = rules().iter();
        Page(rules.find(|rule| rule.id == id).unwrap().page).brief()
    };
    let product = |dtype: &str| {
        let read = format!("{dtype}[512,512]{{1,0}} %a, {dtype}[512,512]{{1,0}} %b");
        let costs = "flops=40e6 hbm_read=1 hbm_write=1";
        brief(
            "K12",
            "convolution fusion",
            costs,
            "f32[512,512]{1,0}",
            &read,
        )
    };
    assert_eq!(product("f32"), page("K12"));
    assert!(product("bf16").starts_with("They read 16 bits or fewer an element already"));

    let reading = |category: &str, dtype: &str| {
        let read = format!("{dtype}[8,512]{{1,0}} %a, {dtype}[512,512]{{1,0}} %w");
        let costs = "flops=1 hbm_read=80_000 hbm_write=0";
        brief("K13", category, costs, "bf16[8,512]{1,0}", &read)
    };
    assert!(reading("convolution fusion", "f32").contains("in bfloat16, int8 or fp8"));
    assert_eq!(reading("loop fusion", "f32"), page("K13"));
    assert!(reading("convolution fusion", "bf16").contains("keep weights in int8 or fp8"));
    assert!(reading("loop fusion", "bf16").contains("fuse them"));

    let slow = |shape: &str| {
        let costs = "flops=1 hbm_read=40_000 hbm_write=0";
        brief("K14", "loop fusion", costs, shape, &format!("{shape} %a"))
    };
    assert_eq!(slow("f32[4096,3]{1,0}"), page("K14"));
    assert!(
        slow("f32[3,4096]{0,1}") == page("K14"),
        "by layout, not by order"
    );
    assert!(slow("f32[4096,4096]{1,0}").contains("fill registers of 8 × 128 already"));
}
