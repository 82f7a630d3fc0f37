//! FLOPs of matmuls and convolutions, and bytes of sliced operands.

use super::*;

fn flops(line: &str, operands: [&str; 2]) -> InstructionFlops {
    let text = format!(
        "HloModule m\n\nENTRY %main (a: f32[1], b: f32[1]) -> f32[1] {{\n  %a = {} parameter(0)\n  %b = {} \
         parameter(1)\n  ROOT %r = {line}\n}}\n",
        operands[0], operands[1]
    );
    let program = ScheduledProgram::parse(&text).unwrap();
    let main = program.computation(program.entry.unwrap()).unwrap();
    CostAnalysis::new(&program).flops(main, main.root().unwrap())
}

#[test]
fn counts_flops_of_every_matmul_form() {
    let two = |flops: u64| InstructionFlops::product(2 * flops);
    let dot = "f32[8,16]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    assert_eq!(flops(dot, ["bf16[8,4]", "bf16[4,16]"]), two(8 * 4 * 16));
    let plain = "f32[8,16] convolution(%a, %b), dim_labels=bf_io->bf";
    assert_eq!(flops(plain, ["bf16[8,4]", "bf16[4,16]"]), two(8 * 4 * 16));
    // A batch dimension that is written as a dilated window.
    let batched = "f32[6,8,16] convolution(%a, %b), window={size=6 stride=5 lhs_dilate=6}, dim_labels=0bf_0io->0bf";
    assert_eq!(
        flops(batched, ["bf16[6,8,4]", "bf16[6,4,16]"]),
        two(6 * 8 * 4 * 16)
    );
    let slides = "bf16[2,8,8,16] convolution(%a, %b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f";
    assert_eq!(
        flops(slides, ["bf16[2,8,8,4]", "bf16[3,3,4,16]"]),
        two(2 * 22 * 22 * 4 * 16)
    );
    // A window of size 0, and one of the largest possible size: neither an endless loop nor an overflow.
    let empty = "f32[1,18446744073709551615,1] convolution(%a, %b), window={size=0}, dim_labels=b0f_i0o->b0f";
    assert_eq!(flops(empty, ["f32[1,1,1]", "f32[1,0,1]"]), two(0));
    let wide = "f32[1,4,1] convolution(%a, %b), window={size=1 stride=18446744073709551615 \
                lhs_dilate=18446744073709551615 pad=-9223372036854775808_0}, dim_labels=b0f_i0o->b0f";
    assert_eq!(
        flops(wide, ["f32[1,18446744073709551615,1]", "f32[1,1,1]"]),
        two(0)
    );
    let huge = "f32[9999999999,9999999999] convolution(%a, %b), dim_labels=bf_io->bf";
    assert_eq!(
        flops(huge, ["bf16[9999999999,4]", "bf16[4,9999999999]"]),
        InstructionFlops::product(u64::MAX)
    );
    assert_eq!(
        flops("f32[8,4] add(%a, %b)", ["f32[8,4]", "f32[8,4]"]),
        InstructionFlops::elements(32)
    );
    assert_eq!(
        flops("f32[8,4] tanh(%a)", ["f32[8,4]", "f32[8,4]"]),
        InstructionFlops::default()
    );
    assert_eq!(
        flops("f32[8,4] convolution(%c)", ["f32[8,4]", "f32[8,4]"]),
        InstructionFlops::default()
    );
}

/// Beyond a total number of positions, all positions of windows are assumed to be inside.
#[test]
fn window_flops_share_a_budget() {
    let window = WindowDims {
        size: 3,
        stride: 1,
        pad: 1,
        base_dilation: 1,
        dilation: 1,
    };
    let mut budget = 40;
    assert_eq!(
        [8, 8].map(|output| window.positions(8, output, &mut budget)),
        [(22, true), (24, false)]
    );
    assert_eq!(budget, 16);
}

#[test]
fn sliced_operand_counts_only_the_slice() {
    let text = "HloModule m\n\n%view (v: bf16[64,64]) -> bf16[64,64] {\n  %v = bf16[64,64]{1,0} parameter(0)\n  \
        ROOT %bc = bf16[64,64]{1,0} bitcast(%v)\n}\n\n%f (p: bf16[64,64], i: s32[]) -> bf16[8,64] {\n  \
        %p = bf16[64,64]{1,0} parameter(0)\n  %w = bf16[64,64]{1,0} fusion(%p), kind=kLoop, calls=%view\n  \
        %i = s32[] parameter(1)\n  ROOT %ds = bf16[8,64]{1,0} dynamic-slice(%w, %i, %i), \
        dynamic_slice_sizes={8,64}\n}\n\nENTRY %main (w: bf16[64,64], i: s32[]) -> bf16[8,64] {\n  \
        %w.1 = bf16[64,64]{1,0} parameter(0)\n  %i.1 = s32[]{:S(6)} parameter(1)\n  \
        ROOT %fu = bf16[8,64]{1,0:S(1)} fusion(%w.1, %i.1), kind=kLoop, calls=%f\n}\n";
    let program = ScheduledProgram::parse(text).unwrap();
    let main = program.computation(program.entry.unwrap()).unwrap();
    let access = |space, access| MemoryAccess {
        space,
        access,
        bytes: 1024,
    };
    let expected = [
        access(MemorySpace::Hbm, Access::Read),
        access(MemorySpace::Vmem, Access::Write),
    ];
    assert_eq!(
        CostAnalysis::new(&program).bytes(main, main.root().unwrap()),
        expected
    );
}
