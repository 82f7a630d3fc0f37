//! Costs of known kernels by their shapes. Operands, their order and names are those that JAX 0.10.2 passes to the
//! kernels, or those of a real capture of vLLM; expected numbers are closed forms, and where JAX declares a cost, its.

use super::*;

/// A trace of one device on which one op of 100 µs runs for each of `calls`: name, `result of operands`, declared flops.
fn trace(calls: &[(&str, &str, u64)]) -> String {
    let mut picture = "@column 100us\n@device flops=1e15 hbm=1e12 TPU v6 lite\nops: ".to_owned();
    let letters = ('A'..='Z').zip(calls);
    picture.extend(letters.clone().map(|(letter, _)| letter));
    for (at, (letter, (name, shapes, flops))) in letters.enumerate() {
        let (result, operands) = shapes.split_once(" of ").unwrap();
        let operands: Vec<String> = operands
            .split(' ')
            .enumerate()
            .map(|(k, shape)| format!("{shape} %p{k}"))
            .collect();
        let call = format!(
            "\n{letter} = {name}.{at} [custom-call] flops={flops} :: %{name}.{at} = {result} \
             custom-call({}), custom_call_target=\"tpu_custom_call\"",
            operands.join(", ")
        );
        picture.push_str(&call);
    }
    picture
}

fn costs(calls: &[(&str, &str, u64)]) -> Vec<KernelCost> {
    report_of(&text_trace(&trace(calls))).unwrap().costs
}

fn cost(name: &str, shapes: &str, flops: u64) -> KernelCost {
    let found = costs(&[(name, shapes, flops)]);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0].clone()
}

const Q: &str = "bf16[2,8,1024,128]";
const FLASH: &str =
    "bf16[2,8,1024,128] of bf16[2,8,1024,128] bf16[2,8,1024,128] bf16[2,8,1024,128]";
const FULL: u64 = 4 * 2 * 8 * 1024 * 1024 * 128;

/// Of DeepSeek-3 in `MaxText`: heads of 192 for scores, 128 for values.
const SPLASH: &str = "(f32[128,128], f32[128,128], f32[128,128], bf16[128,256,128], f32[128,256,128]) of \
        s8[1,1,1] s8[1,1,1] bf16[128,256,192] bf16[128,256,192] bf16[128,256,128] s32[256,128] s32[8,256] s32[256,128]";

/// One query for each of eight sequences.
const PAGED: &str = "(f32[8,16,1,128], f32[8,16,1,1], f32[8,16,1,1]) of s32[8] s32[256] s32[1] s32[1] \
        f32[8,16,1,128] bf16[4,256,16,128] bf16[4,256,16,128]";

fn percent(found: Option<Percent>) -> f64 {
    found.unwrap().0
}

/// JAX declares 8,640,266,240 operations for this kernel, causal or not.
#[test]
fn attention_has_costs_with_and_without_a_mask() {
    let found = cost("flash_attention", FLASH, 8_640_266_240);
    assert_eq!(
        (found.kind, found.limit, found.flops, found.causal_flops),
        (
            KernelKind::FlashAttention,
            CostLimit::Exact,
            Some(FULL),
            Some(FULL / 2)
        )
    );
    assert_eq!(found.hbm_bytes, Some(4 * 2 * 8 * 1024 * 128 * 2));
    // 100 µs at 1e15 operations a second.
    let per = |flops: u64| 100.0 * flops as f64 / 1e11;
    let shares = [
        found.flops_percent,
        found.causal_percent,
        found.declared_percent,
    ];
    for (share, expected) in shares.into_iter().zip([FULL, FULL / 2, 8_640_266_240]) {
        assert!((percent(share) - per(expected)).abs() < 1e-5);
    }
    assert_eq!(found.declared_fit, DeclaredFit::WithoutMask);
    assert_eq!(
        found.finding,
        "flash_attention needs 8.590 GFLOP by its shapes without a mask, which is what it declares; with a causal mask it \
         is half of that; MFU is 8.6 % without a mask, 4.3 % with a causal mask, 8.6 % as declared; HFU is at most 12.9 % by \
         shapes padded to tiles of 256: padding makes 1.50 times the operations, less what the kernel skips of its mask, \
         which shapes do not tell"
    );
    let fits = [0, FULL / 2, FULL / 8].map(|flops| cost("flash_attention", FLASH, flops));
    assert_eq!(
        fits.clone().map(|cost| cost.declared_fit),
        [
            DeclaredFit::Nothing,
            DeclaredFit::Causal,
            DeclaredFit::Differs
        ]
    );
    assert!((fits[2].declared_of_shapes_percent.unwrap().0 - 12.5).abs() < 1e-9);
    assert_eq!(
        (fits[0].declared_flops, fits[0].declared_percent),
        (None, None)
    );
    let report = report_of(&text_trace(&trace(&[("flash_attention", FLASH, FULL / 8)]))).unwrap();
    assert_eq!(
        (report.kernels[0].declared, report.kernels[0].needed_flops),
        (DeclaredCosts::Yes, None),
        "a mask may leave any part"
    );
    let table = &report.tables()[2];
    assert_eq!(table.id, "kernel_costs");
    assert!(
        table.notes.contains(&report.costs[0].finding),
        "{:?}",
        table.notes
    );
}

/// Fewer queries than keys: nothing says where the diagonal is.
#[test]
fn attention_with_other_keys_has_no_causal_cost() {
    let shapes = "bf16[2,8,1024,128] of bf16[2,8,1024,128] bf16[2,8,2048,128] bf16[2,8,2048,128]";
    // JAX declares 17,246,978,048 operations and 25,165,824 bytes.
    let found = cost("flash_attention", shapes, 17_246_978_048);
    assert_eq!(
        (
            found.flops,
            found.causal_flops,
            found.hbm_bytes,
            found.declared_fit
        ),
        (Some(2 * FULL), None, Some(25_165_824), DeclaredFit::Agrees)
    );
    // Keys and values of positions before those of the queries are a cache.
    assert_eq!(found.cache_bytes, Some(2 * 2 * 8 * 2048 * 128 * 2));
    assert_eq!(cost("flash_attention", FLASH, 0).cache_bytes, None);
}

#[test]
fn gradients_of_attention_have_more_products() {
    let residuals = "f32[2,8,1024,128]";
    let operands = format!("{Q} {Q} {Q} {residuals} {residuals} {Q} {residuals}");
    let dkv = cost(
        "flash_mha_bwd_dkv_block_q_128",
        &format!("({Q}, {Q}) of {operands}"),
        0,
    );
    let dq = cost(
        "flash_mha_bwd_dq_block_k_128",
        &format!("{Q} of {operands}"),
        0,
    );
    assert_eq!((dkv.flops, dq.flops), (Some(2 * FULL), Some(FULL / 2 * 3)));
    let splash = cost("splash_mha_fwd_segmented_residuals", SPLASH, 0);
    assert_eq!(
        (splash.kind, splash.flops),
        (
            KernelKind::SplashAttention,
            Some(2 * 128 * 256 * 256 * (192 + 128))
        )
    );
    // Queries of 8 heads share keys and values of 2; the fused gradient returns those of queries by block of keys.
    let grouped =
        "s8[1,8,8] s8[1,8,8] bf16[8,1024,128] bf16[2,1024,128] bf16[2,1024,128] s32[1024,128]";
    // Names may hold the sizes of blocks of the other passes.
    let forward = cost(
        "splash_mha_fwd_no_residuals_block_kv_dkv_512_block_q_dq_512_use_fused_bwd_kernel_False",
        &format!("bf16[8,1024,128] of {grouped}"),
        0,
    );
    let all = cost(
        "splash_mha_dkv_no_residuals",
        &format!("(bf16[8,8,1024,128], bf16[2,1024,128], bf16[2,1024,128]) of {grouped}"),
        0,
    );
    let one = 4 * 8 * 1024 * 1024 * 128;
    assert_eq!((forward.flops, all.flops), (Some(one), Some(one / 2 * 5)));
}

/// Operands of a kernel of vLLM on v7x, of which lengths are not known.
const RPA: &str = "(bf16[4,1024,3,2,128], bf16[7007,64,4,2,128]) of s32[] s32[256] s32[131072] s32[257] s32[3] \
    s32[3] s32[4] s32[6] bf16[4,1024,3,2,128] bf16[1024,4,2,128] bf16[7007,64,4,2,128]";

#[test]
fn lengths_of_paged_sequences_are_limits() {
    let found = cost("RPA-bq_32-bkvp_64-p_64-", RPA, 0);
    // 512 pages of 64 positions for each of 256 sequences; 4 heads of keys with 6 of queries each.
    let most = 4 * 24 * 1024 * (512 * 64) * 128;
    assert_eq!(
        (found.kind, found.limit, found.flops, found.causal_flops),
        (
            KernelKind::RaggedPagedAttention,
            CostLimit::AtMost,
            Some(most),
            None
        )
    );
    let (cache, queries, new) = (
        7007 * 64 * 8 * 128 * 2,
        1024 * 24 * 128 * 2,
        1024 * 8 * 128 * 2,
    );
    assert_eq!(found.hbm_bytes, Some(cache + 2 * queries + 2 * new));
    assert_eq!(found.cache_bytes, Some(cache));
    assert_eq!(
        (found.flops_percent, found.hbm_percent),
        (None, None),
        "more than the device can do says nothing"
    );
    assert!(
        found
            .finding
            .starts_with("RPA-bq_32-bkvp_64-p_64- needs at most 412.3 GFLOP"),
        "{}",
        found.finding
    );
    // A kernel that only decodes has one token of each sequence.
    assert_eq!(
        cost("RPAd-p_64-bq_1_1-bkv_256_256", RPA, 0).flops,
        Some(most / 4)
    );
    let fits = [most * 2, most / 100]
        .map(|flops| cost("RPA-bq_32-bkvp_64-p_64-", RPA, flops).declared_fit);
    assert_eq!(fits, [DeclaredFit::TooMany, DeclaredFit::Possible]);
    let old = "bf16[512,16,128] of s32[32] s32[32,64] s32[33] s32[2] s32[1] bf16[512,16,128] bf16[256,16,8,128]";
    let old = cost("ragged_paged_attention_kernel", old, 0);
    assert_eq!(old.flops, Some(4 * 16 * 512 * (64 * 16) * 128));
    let paged = cost("paged_flash_attention_kernel_inline_seq_dim", PAGED, 0);
    assert_eq!(
        (paged.kind, paged.flops),
        (
            KernelKind::PagedAttention,
            Some(4 * 16 * 8 * (32 * 16) * 128)
        )
    );
    assert_eq!(
        paged.hbm_bytes,
        Some(2 * 4 * 256 * 16 * 128 * 2 + 2 * 8 * 16 * 128 * 4)
    );
}

#[test]
fn products_have_the_costs_of_their_sizes() {
    let products = 2 * 1024 * 512 * 256;
    let indices = "s32[] s32[9] s32[15] s32[15] s32[1]";
    let gmm = format!("f32[1024,256] of {indices} bf16[1024,512] bf16[8,512,256]");
    let turned = format!("f32[1024,256] of {indices} bf16[1024,512] bf16[8,256,512]");
    let tgmm = format!("f32[8,512,256] of {indices} bf16[1024,512] bf16[1024,256]");
    let quantized = "bf16[1024,256] of bf16[1024,512] f4e2m1fn[256,512] f32[1,1,256]";
    let plain = "bf16[1024,256] of bf16[1024,512] bf16[512,256]";
    for (name, shapes, kind, limit) in [
        ("gmm", &*gmm, KernelKind::GroupedMatmul, CostLimit::AtMost),
        ("gmm", &turned, KernelKind::GroupedMatmul, CostLimit::AtMost),
        (
            "tgmm",
            &tgmm,
            KernelKind::TransposedGroupedMatmul,
            CostLimit::AtMost,
        ),
        (
            "quantized_matmul_kernel_512_256_512",
            quantized,
            KernelKind::QuantizedMatmul,
            CostLimit::Exact,
        ),
        ("matmul_kernel", plain, KernelKind::Matmul, CostLimit::Exact),
    ] {
        // JAX declares as many for grouped products.
        let found = cost(name, shapes, products);
        assert_eq!(
            (found.kind, found.limit, found.flops, found.declared_fit),
            (kind, limit, Some(products), DeclaredFit::Agrees),
            "{name}"
        );
    }
    assert_eq!(
        cost("quantized_matmul_kernel", quantized, 0).hbm_bytes,
        Some(1024 * 512 * 2 + 256 * 512 / 2 + 256 * 4 + 1024 * 256 * 2)
    );
    // A matrix in vector memory is no traffic of HBM.
    let near = "bf16[1024,256]{1,0:S(1)} of bf16[1024,512]{1,0} bf16[512,256]{1,0:S(1)}";
    assert_eq!(cost("matmul", near, 0).hbm_bytes, Some(1024 * 512 * 2));
}

/// Both operands of one byte: twice the rate of bf16 on this chip.
#[test]
fn narrow_operands_have_their_own_peak() {
    let shares = ["s8", "bf16"].map(|dtype| {
        let shapes = format!("s32[1024,256] of {dtype}[1024,512] {dtype}[512,256]");
        percent(cost("matmul", &shapes, 0).flops_percent)
    });
    assert!((shares[0] * 2.0 - shares[1]).abs() < 1e-5, "{shares:?}");
}

/// A narrow operand and a wide one: which of them the kernel converts is told by its time only. 268 GFLOP take at least
/// 293 µs in bf16 on v6e, half of that in int8.
#[test]
fn kernels_faster_than_bf16_multiply_narrow_numbers() {
    let shapes = "bf16[1024,25600] of bf16[1024,5120] f4e2m1fn[25600,5120] f32[10,1,25600]";
    let in_us = |time: &str| {
        let picture = trace(&[("quantized_matmul_kernel", shapes, 0)])
            .replace("100us", time)
            .replace("flops=1e15", "flops=918e12");
        report_of(&text_trace(&picture)).unwrap().costs[0].clone()
    };
    let (slow, fast) = (in_us("400us"), in_us("200us"));
    let flops = 2.0 * 1024.0 * 5120.0 * 25600.0;
    let of_peak = |us: f64| 100.0 * flops / (918e6 * us);
    assert!((slow.flops_percent.unwrap().0 - of_peak(400.0)).abs() < 1e-9);
    assert!((fast.flops_percent.unwrap().0 - of_peak(200.0) / 2.0).abs() < 0.1);
    let said = |cost: &KernelCost| cost.finding.contains("so it multiplies narrow numbers");
    assert!(said(&fast) && !said(&slow), "{}", fast.finding);
}

#[test]
fn kernels_between_devices_receive_the_parts_of_others() {
    let gather = cost(
        "all_gather_matmul_kernel_bn_256_bk_512_rhs_transpose_False",
        "(bf16[1024,256], bf16[3,256,512]) of bf16[256,512] bf16[512,256]",
        0,
    );
    assert_eq!(
        (gather.kind, gather.flops, gather.received_bytes),
        (
            KernelKind::AllGatherMatmul,
            Some(2 * 1024 * 512 * 256),
            Some(3 * 256 * 512 * 2)
        )
    );
    let scatter = cost(
        "reduce_scatter_matmul",
        "bf16[256,256] of bf16[1024,512] bf16[512,256]",
        0,
    );
    assert_eq!(
        (scatter.kind, scatter.flops, scatter.received_bytes),
        (
            KernelKind::ReduceScatterMatmul,
            Some(2 * 1024 * 512 * 256),
            Some(3 * 256 * 256 * 2)
        )
    );
    let moved = cost("all_gather", "f32[8,16,128] of f32[16,128]", 0);
    assert_eq!(
        (moved.kind, moved.flops, moved.received_bytes),
        (KernelKind::AllGather, None, Some(7 * 16 * 128 * 4))
    );
    assert_eq!(
        moved.finding,
        "all_gather is all-gather by its name and shapes: no product, 57.34 kB received"
    );
}

/// Name and shapes have to agree, and all sizes have to be countable.
#[test]
fn other_names_and_shapes_have_no_costs() {
    let huge =
        "bf16[4294967296,4294967296] of bf16[4294967296,4294967296] bf16[4294967296,4294967296]";
    for (name, shapes) in [
        ("my_kernel", FLASH),
        (
            "flash_attention",
            "bf16[2,8,1024,64] of bf16[2,8,1024,128] bf16[2,8,1024,128] bf16[2,8,1024,128]",
        ),
        (
            "flash_attention",
            "bf16[2,8,1024,128] of bf16[2,8,1024,128] bf16[2,3,1024,128] bf16[2,3,1024,128]",
        ),
        ("flash_attention", "bf16[8] of bf16[8]"),
        ("flash_mha_bwd", FLASH),
        ("gmm", "bf16[8,8] of bf16[8,8] bf16[8,8]"),
        ("matmul", "bf16[8,8] of bf16[8,9] bf16[10,8]"),
        ("matmul", huge),
        ("matmul", "bf16[0,8] of bf16[0,8]"),
        ("all_gather", "f32[7,16,128] of f32[0,16,128]"),
        ("all_gather_matmul", "bf16[0,8] of bf16[8,8] bf16[8,8]"),
        ("RPA-p_64-", "bf16[4,8] of bf16[4,8] bf16[4,8]"),
        (
            "paged_attention",
            "f32[8,16,128] of f32[8,16,128] bf16[0,1,1,128] bf16[0,1,1,128]",
        ),
    ] {
        assert_eq!(costs(&[(name, shapes, 5)]), [], "{name} {shapes}");
    }
}

/// Layers run the same kernel: one row, with the sums of all their ops on all devices; other sizes are another row.
#[test]
fn ops_of_the_same_sizes_and_declared_costs_are_one_row() {
    let small = "bf16[1024,256] of bf16[1024,512] bf16[512,256]";
    let large = "bf16[1024,512] of bf16[1024,512] bf16[512,512]";
    let one = 2 * 1024 * 512 * 256;
    let calls = [
        ("matmul", small, one),
        ("matmul", small, one),
        ("matmul", large, 0),
        ("matmul", large, one),
    ];
    let picture = trace(&calls).replace("ops: ABCD", "TPU:0 ops: ABCD\nTPU:1 ops: A.C");
    let report = report_of(&text_trace(&picture)).unwrap();
    let rows: Vec<_> = report
        .costs
        .iter()
        .map(|cost| {
            (
                cost.occurrences,
                cost.flops,
                cost.declared_flops,
                cost.mean_time_ps,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (3, Some(one), Some(one), 1e8),
            // One of the ops declares nothing.
            (2, Some(2 * one), None, 1e8),
            (1, Some(2 * one), Some(one), 1e8)
        ]
    );
}

/// A text that was cut does not show all operands.
#[test]
fn cut_texts_have_no_costs() {
    let whole = trace(&[("flash_attention", FLASH, 5)]);
    for cut in [whole.rfind(" %p2").unwrap(), whole.rfind(", bf16").unwrap()] {
        assert_eq!(report_of(&text_trace(&whole[..cut])).unwrap().costs, []);
    }
}

/// 8.59 GFLOP take at least 8.6 µs on this device.
#[test]
fn more_than_the_device_can_do_is_told() {
    let fast = |name: &str, shapes: &str, flops| {
        let picture = trace(&[(name, shapes, flops)]).replace("100us", "5us");
        report_of(&text_trace(&picture)).unwrap().costs[0].clone()
    };
    let masked = fast("flash_attention", FLASH, FULL);
    assert_eq!(
        (masked.flops_percent, masked.declared_percent),
        (None, None)
    );
    assert!((masked.causal_percent.unwrap().0 - 100.0 * (FULL / 2) as f64 / 5e9).abs() < 1e-9);
    assert!(
        masked.finding.ends_with(
            "MFU is 85.9 % with a causal mask; declared are more operations than the device can do in that time; all \
             operations without a mask are more than it can do in that time, so it skips a part"
        ),
        "{}",
        masked.finding
    );
    let product = fast(
        "matmul",
        "f32[2048,2048] of f32[2048,1024] f32[1024,2048]",
        0,
    );
    assert!(
        product
            .finding
            .ends_with("so that its name or the peak mislead"),
        "{}",
        product.finding
    );
}
