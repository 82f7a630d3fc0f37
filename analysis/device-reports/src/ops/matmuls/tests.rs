use std::sync::Arc;

use hlo::{HloModule, InstructionRef, MatrixProduct};

use super::from_shapes::infer;

fn inferred(text: &str, flops: Option<u64>) -> Result<MatrixProduct, &'static str> {
    let module = Arc::new(HloModule::from_text(text).unwrap());
    let id = module.find("f").unwrap();
    infer(&InstructionRef::new(module, id).unwrap(), flops)
}

fn sizes(text: &str, flops: Option<u64>) -> Option<[u64; 3]> {
    inferred(text, flops)
        .ok()
        .map(|product| [product.m, product.k, product.n])
}

#[test]
fn recorded_flops_reveal_the_contracted_dimension() {
    // As in a real capture: the activation is sliced and multiplied inside the fusion.
    let text = concat!(
        "%f = bf16[1024,5120]{1,0:T(8,128)(2,1)S(1)} fusion(bf16[5120,13824]{1,0:T(16,128)(2,1)} %w, ",
        "bf16[1024,1,27648]{2,0,1:T(16,128)(2,1)} %x), kind=kOutput, calls=%fused_computation.136"
    );
    assert_eq!(
        sizes(text, Some(145_025_925_120)),
        Some([1024, 13824, 5120])
    );
    // A number of operations that no operand explains.
    assert_eq!(sizes(text, Some(400_000_000_000)), None);
    // Without operations, the shapes alone do not decide.
    assert_eq!(sizes(text, None), None);
}

#[test]
fn plain_matmuls_need_no_recorded_flops() {
    let fusion = |a: &str, b: &str, c: &str| {
        format!("%f = bf16[{c}] fusion(bf16[{a}] %a, bf16[{b}] %b), kind=kOutput, calls=%c")
    };
    assert_eq!(
        sizes(&fusion("64,256", "256,512", "64,512"), None),
        Some([64, 256, 512])
    );
    assert_eq!(
        sizes(&fusion("256,64", "512,256", "512,64"), None),
        Some([64, 256, 512])
    );
    assert_eq!(
        sizes(&fusion("512,512", "512,512", "512,512"), None),
        Some([512, 512, 512])
    );
    // Elementwise.
    assert_eq!(sizes(&fusion("64,256", "64,256", "64,256"), None), None);
    assert_eq!(
        inferred("%f = bf16[8] fusion(%a, %b), kind=kOutput, calls=%c", None).unwrap_err(),
        super::from_shapes::NO_SHAPES
    );
}

#[test]
fn infers_batched_and_multi_dimensional_matmuls() {
    let product = |a: &str, b: &str, c: &str| {
        let text = format!(
            "%f = bf16[{c}] custom-call(bf16[{a}] %a, bf16[{b}] %b), custom_call_target=\"tpu_custom_call\""
        );
        inferred(&text, None).ok().map(|product| {
            (
                [product.batch, product.m, product.k, product.n],
                product.flops(),
            )
        })
    };
    let flops = Some(2 * 8 * 64 * 256 * 512);
    assert_eq!(
        product("8,64,256", "8,256,512", "8,64,512"),
        Some(([8, 64, 256, 512], flops))
    );
    assert_eq!(
        product("2,4,64,256", "2,4,256,512", "2,4,64,512"),
        Some(([8, 64, 256, 512], flops))
    );
    // Weights that the whole batch shares: its rows follow each other.
    assert_eq!(
        product("8,64,256", "256,512", "8,64,512"),
        Some(([1, 512, 256, 512], flops))
    );
    assert_eq!(
        product("512,256", "8,64,256", "8,64,512"),
        Some(([1, 512, 256, 512], flops))
    );
    // Another batch, or a sum over more than the last dimension.
    assert_eq!(product("8,64,256", "4,256,512", "8,64,512"), None);
    assert_eq!(product("8,64,256", "8,64,256", "8,64,256"), None);
}

#[test]
fn ambiguous_shapes_have_no_size() {
    // 128 could be summed over with either weight: [128,256] or [128,512].
    let text = "%f = bf16[256,512] fusion(bf16[128,256] %a, bf16[128,512] %b, bf16[128,64] %c), kind=kOutput, calls=%c";
    assert_eq!(
        sizes(text, Some(2 * 128 * 256 * 512)),
        Some([256, 128, 512])
    );
    let text =
        "%f = bf16[64,8,512] fusion(bf16[128,64] %a, bf16[128,512] %b), kind=kOutput, calls=%c";
    assert_eq!(
        inferred(text, Some(2 * 128 * 64 * 8 * 512)).unwrap_err(),
        super::from_shapes::AMBIGUOUS
    );
}
