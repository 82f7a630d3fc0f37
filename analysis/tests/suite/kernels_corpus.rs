//! Kernels of real captures: their work by the shapes of their operands.

use analysis::reports::host::serving::{CacheFrom, WeightsFrom};
use analysis::reports::ops::kernels::{CostLimit, DeclaredFit, KernelCost, KernelKind};
use analysis::reports::{Kernels, Serving};

use super::time_corpus::near;
use crate::capture::open;

fn of<'a>(costs: &'a [KernelCost], name: &str) -> &'a KernelCost {
    let mut named = costs.iter().filter(|cost| cost.kernel.starts_with(name));
    let found = named.next().unwrap_or_else(|| panic!("{name}: {costs:?}"));
    assert_eq!(named.next().map(|cost| &cost.kernel), None);
    found
}

/// Attention of `MaxText` on v5p: 16 heads of 128, 2,048 tokens. The forward pass declares three quarters of what there is
/// without a mask, the gradients several times what they do.
#[test]
fn attention_of_a_training_step() {
    let Some(capture) = open("regressions/v5p_async_collectives_rebuilt.xplane.pb.gz") else {
        return;
    };
    let report = capture.report::<Kernels>();
    let pairs = 16 * 2048 * 2048;
    for (name, sizes, percent) in [
        ("splash_mha_fwd", 256, 60.8),
        ("vmap_splash_mha_dkv", 512, 45.1),
        ("vmap_splash_mha_dq", 384, 41.3),
    ] {
        let cost = of(&report.costs, name);
        assert_eq!(
            (cost.kind, cost.limit, cost.flops, cost.causal_flops),
            (
                KernelKind::SplashAttention,
                CostLimit::Exact,
                Some(2 * pairs * sizes),
                Some(pairs * sizes)
            )
        );
        assert!(
            near(cost.flops_percent.unwrap().0, percent, 0.05),
            "{cost:?}"
        );
        assert_eq!(cost.declared_fit, DeclaredFit::Differs);
    }
    let declared = |name| {
        of(&report.costs, name)
            .declared_of_shapes_percent
            .unwrap()
            .0
    };
    assert!(near(declared("splash_mha_fwd"), 75.14, 0.01));
    assert!(near(declared("vmap_splash_mha_dq"), 492.29, 0.01));
}

/// A model of vLLM in two builds on v7x, the second with weights of four bits.
#[test]
fn kernels_of_a_server() {
    let [Some(wide), Some(narrow)] =
        ["a", "b"].map(|build| open(&format!("tpu/v7x_vllm_tp2_{build}.trace.json.gz")))
    else {
        return;
    };
    let reports = [wide.report::<Kernels>(), narrow.report::<Kernels>()];
    // 4 heads of keys, with 6 and 8 of queries; pages of 64 and 128 positions, in rows of 512 and 320.
    for (report, heads, keys) in [(&reports[0], 24, 512 * 64), (&reports[1], 32, 320 * 128)] {
        let cost = of(&report.costs, "RPA-");
        assert_eq!(
            (cost.kind, cost.limit, cost.flops),
            (
                KernelKind::RaggedPagedAttention,
                CostLimit::AtMost,
                Some(4 * heads * 1024 * keys * 128)
            )
        );
    }
    assert_eq!((reports[0].costs.len(), reports[1].costs.len()), (1, 5));
    for (name, k, n) in [
        ("quantized_matmul_kernel_512_6400_1024", 5120, 25600),
        ("quantized_matmul_kernel_1024_5120_512", 12800, 5120),
        ("quantized_matmul_kernel_512_5120_2560", 5120, 5120),
        ("quantized_matmul_kernel_256_5120_4096", 4096, 5120),
    ] {
        let cost = of(&reports[1].costs, name);
        let found = (cost.kind, cost.limit, cost.flops, cost.declared_fit);
        let expected = (
            KernelKind::QuantizedMatmul,
            CostLimit::Exact,
            Some(2 * 1024 * k * n),
            DeclaredFit::Nothing,
        );
        assert_eq!(found, expected, "{name}");
    }
}

/// The JSON of the same server holds no program: the texts of ops tell the matrices of its 64 layers on one of two devices,
/// of bf16 and of four bits, and the pages of the cache, of which nothing says how many are read.
#[test]
fn weights_and_cache_of_a_server() {
    let matrices = |heads: u64, of_output: u64, inner: u64| {
        5120 * (heads * 128 + of_output + 2 * inner + inner) * 64
    };
    let cache = |pages: u64, positions: u64| pages * positions * 4 * 2 * 128 * 2 * 64;
    for (build, bytes, pages) in [
        ("a", 2 * matrices(28, 2560, 13_824), cache(7007, 64)),
        ("b", matrices(40, 4096, 12_800) / 2, cache(4889, 128)),
    ] {
        let Some(capture) = open(&format!("tpu/v7x_vllm_tp2_{build}.trace.json.gz")) else {
            return;
        };
        let report = capture.report::<Serving>();
        let step = &report.reads[0];
        // Those that sample tokens or select rows multiply nothing: what they read are inputs.
        let is_sampler = |program: &str| program.contains("sample") || program.contains("select");
        assert!(!report.reads.iter().any(|one| is_sampler(&one.program)));
        assert!(step.program.starts_with("jit_step_fun"), "{step:?}");
        assert_eq!(step.weights_from, WeightsFrom::OpTexts);
        let share = step.weight_bytes as f64 / bytes as f64;
        assert!((1.0..1.03).contains(&share), "{share} {step:?}");
        assert_eq!(
            (step.cache_from, step.most_cache_bytes, step.cache_bytes),
            (CacheFrom::NotKnown, Some(pages), None)
        );
    }
}
