use super::*;

fn class(category: &str, text: &str, name: &str) -> OpClass {
    classify_texts((!category.is_empty()).then_some(category), text, name).0
}

#[test]
fn op_group_positions_are_unique() {
    let mut places = OpGroup::ALL.map(OpGroup::index);
    places.sort_unstable();
    assert_eq!(places, std::array::from_fn(|place| place));
}

#[test]
fn recorded_categories_map_to_groups() {
    let cases = [
        ("convolution fusion", OpGroup::MatMul),
        ("output fusion", OpGroup::MatMul),
        ("convolution base-dilated", OpGroup::MatMul),
        ("loop fusion", OpGroup::Vector),
        ("reduce", OpGroup::Vector),
        ("rng-bit-generator", OpGroup::Vector),
        ("data formatting", OpGroup::DataMovement),
        ("copy-start", OpGroup::DataMovement),
        ("copy-done", OpGroup::AsyncWait),
        ("all-reduce", OpGroup::Collective),
        ("all-gather-done", OpGroup::Collective),
        ("custom-call", OpGroup::CustomKernel),
        ("infeed", OpGroup::HostIo),
        ("host send-done", OpGroup::HostIo),
        ("while", OpGroup::Control),
        ("megacore fusion", OpGroup::Control),
        ("sparsecorev0 infeed wait", OpGroup::SparseCore),
        ("something new", OpGroup::Other),
    ];
    for (category, group) in cases {
        assert_eq!(class(category, "", "x").group, group, "{category}");
    }
}

#[test]
fn category_takes_precedence_over_text_and_name() {
    // JAX names the op after `psum`; a fusion may be called after a collective.
    let psum = class("all-reduce", "", "psum.3");
    assert_eq!(psum.collective, Some(CollectiveKind::AllReduce));
    assert!(!class("loop fusion", "", "all-reduce_add_fusion").is_collective());
}

#[test]
fn async_ops_have_a_role_and_a_wrapped_op() {
    let text = "%slice-start = (s8[8]{0}, s8[4]{0:S(1)}, s32[]{:S(2)}) async-start(s8[8]{0} %p), calls=%async_computation";
    let slice = class("async-start", text, "slice-start");
    assert!(slice.is_start() && !slice.is_collective());
    assert_eq!(slice.group, OpGroup::DataMovement);
    assert_eq!(
        class("async-done", "", "slice-done.1").group,
        OpGroup::AsyncWait
    );
    let scatter = class("async-done", "", "reduce-scatter-done.2");
    assert_eq!(
        (scatter.collective, scatter.role),
        (Some(CollectiveKind::ReduceScatter), Some(AsyncRole::Done))
    );
    assert_eq!(scatter.group, OpGroup::Collective);
    let called = "%as.1 = bf16[8]{0} async-start(bf16[8]{0} %p), calls=%all_to_all_computation";
    assert_eq!(
        class("async-start", called, "as.1").collective,
        Some(CollectiveKind::AllToAll)
    );
    assert!(class("send", "", "send.1").is_start());
}

#[test]
fn host_transfers_are_not_collective_communication() {
    assert!(!class("host recv-done", "", "recv-done.1").is_collective());
    let text = "%send.1 = (f32[2]{0}, u32[]) send(f32[2]{0} %p, token[] %t), channel_id=1, is_host_transfer=true";
    assert_eq!(class("", text, "send.1").group, OpGroup::HostIo);
    assert!(class("recv-done", "", "recv-done").is_collective());
}

#[test]
fn fused_collectives_are_marked() {
    let fused = class("all-reduce fusion", "", "fusion.1");
    assert!(fused.is_fused_collective() && fused.collective == Some(CollectiveKind::AllReduce));
    let text = "%f = f32[8]{0} fusion(f32[16]{0} %p), kind=kCustom, calls=%all-reduce-scatter.1";
    assert_eq!(
        class("", text, "f").collective,
        Some(CollectiveKind::ReduceScatter)
    );
    let hidden = class("custom fusion", "", "async_collective_fusion.7");
    assert_eq!(
        (hidden.collective, hidden.is_fused_collective()),
        (Some(CollectiveKind::Unknown), true)
    );
}

/// A training step of several chips, as the compiler writes it.
const START: &str = "%async-collective-start.3 = (bf16[1,512,7168]{2,1,0:T(8,128)(2,1)}, \
     bf16[1,2048,7168]{2,1,0:T(8,128)(2,1)}, s32[2]{0:S(4)}, u32[]{:S(2)}, u32[]{:S(2)}, /*index=5*/u32[]{:S(2)}) \
     fusion(bf16[1,512,7168]{2,1,0:T(8,128)(2,1)} %fusion.550), kind=kCustom, \
     output_to_operand_aliasing={{0}: (0, {})}, calls=%fused_computation.402";
const DONE: &str = "%async-collective-done.3 = bf16[1,2048,7168]{2,1,0:T(8,128)(2,1)} \
     fusion(bf16[1,512,7168]{2,1,0:T(8,128)(2,1)} %get-tuple-element.1640, \
     bf16[1,2048,7168]{2,1,0:T(8,128)(2,1)} %get-tuple-element.1641, s32[2]{0:S(4)} %get-tuple-element.1643), \
     kind=kCustom, output_to_operand_aliasing={{}: (1, {})}, calls=%fused_computation.404";

#[test]
fn async_collective_fusions_are_not_kernels() {
    for (text, name, role) in [
        (START, "async-collective-start.3", AsyncRole::Start),
        (DONE, "async-collective-done.3", AsyncRole::Done),
    ] {
        for category in ["custom fusion", ""] {
            let found = class(category, text, name);
            // Only an all-gather makes a dimension longer.
            assert_eq!(
                (found.collective, found.role),
                (Some(CollectiveKind::AllGather), Some(role)),
                "{name}"
            );
            assert_eq!(
                (found.group, found.is_fused_collective()),
                (OpGroup::Collective, false)
            );
        }
    }
    let of_name = |category: &str, name: &str| {
        (
            class(category, "", name).collective,
            class(category, "", name).role,
        )
    };
    let unknown = Some(CollectiveKind::Unknown);
    assert_eq!(
        of_name("custom fusion", "async-collective-start"),
        (unknown, Some(AsyncRole::Start))
    );
    assert_eq!(
        of_name("custom fusion", "async_collective_done.1.clone"),
        (unknown, Some(AsyncRole::Done))
    );
    assert_eq!(
        of_name("", "async-collective-done.12"),
        (unknown, Some(AsyncRole::Done))
    );
    let scatter = (Some(CollectiveKind::ReduceScatter), Some(AsyncRole::Start));
    assert_eq!(of_name("custom fusion", "reduce-scatter-start.4"), scatter);
    assert_eq!(
        of_name("async-start", "async-collective-start.2"),
        (unknown, Some(AsyncRole::Start))
    );
    // Any suffix may follow the name of a collective: such an op is fused with other work, or not a collective.
    assert_eq!(
        of_name("custom fusion", "all-reduce_starter.1"),
        (None, None)
    );
}

#[test]
fn unchanged_shapes_leave_the_collective_kind_unknown() {
    let same = START.replace("2048", "512");
    assert_eq!(
        class("custom fusion", &same, "async-collective-start.3").collective,
        Some(CollectiveKind::Unknown)
    );
    let smaller = START.replace("bf16[1,2048,7168]", "bf16[1,128,7168]");
    let found = class("custom fusion", &smaller, "async-collective-start.3");
    assert_eq!(found.collective, Some(CollectiveKind::ReduceScatter));
    // Neither a multiple nor in a single dimension.
    for other in [
        "bf16[1,700,7168]",
        "bf16[2,1024,7168]",
        "f32[1,2048,7168]",
        "bf16[2048,7168]",
        "bf16[1,0,7168]",
    ] {
        let text = START.replace("bf16[1,2048,7168]", other);
        let found = class("custom fusion", &text, "async-collective-start.3");
        assert_eq!(found.collective, Some(CollectiveKind::Unknown), "{other}");
    }
}

#[test]
fn only_custom_calls_count_as_kernels() {
    assert_eq!(
        class("custom-call", "", "my_kernel.1").group,
        OpGroup::CustomKernel
    );
    assert_eq!(
        class("custom fusion", "", "fusion.12").group,
        OpGroup::Other
    );
    assert_eq!(
        class("gather fusion", "", "fusion.12").group,
        OpGroup::DataMovement
    );
}

#[test]
fn without_category_text_then_name_decides() {
    let fusion = |kind: &str| {
        format!("%fusion.1 = f32[8]{{0}} fusion(f32[8]{{0}} %p), kind={kind}, calls=%c")
    };
    let category = |text: &str, name: &str| classify_texts(None, text, name).1;
    assert_eq!(category(&fusion("kOutput"), "fusion.1"), "output fusion");
    assert_eq!(category(&fusion("kLoop"), "fusion.1"), "loop fusion");
    assert_eq!(
        category("%t = f32[8]{0} transpose(f32[8]{0} %p)", "t"),
        "data formatting"
    );
    assert_eq!(category("", "all-gather-start.12"), "all-gather-start");
    assert_eq!(category("", "broadcast_add_fusion.1"), "fusion");
    assert_eq!(category("", "copy-done"), "copy-done");
    assert!(class("", "", "while.2").may_have_inner_ops());
    assert!(!class("", "", "while.2").category_recorded());
}

#[test]
fn off_duty_categories_match_xprof() {
    for category in [
        "infeed",
        "outfeed",
        "host send",
        "host recv-done",
        "async-done",
        "megacore fusion",
    ] {
        assert!(class(category, "", "x").is_off_duty(), "{category}");
    }
    for category in ["copy-done", "all-reduce-done", "while", "recv-done"] {
        assert!(!class(category, "", "x").is_off_duty(), "{category}");
    }
}

#[test]
fn rematerialisation_is_detected_by_name() {
    assert!(
        class(
            "loop fusion",
            "%fusion.3.remat2 = f32[] fusion()",
            "fusion.3.remat2"
        )
        .is_remat()
    );
    assert!(
        !class(
            "loop fusion",
            "%fusion.3 = f32[] fusion(f32[] %a.remat)",
            "fusion.3"
        )
        .is_remat()
    );
}

/// JAX marks all of a `custom_vjp` within a checkpoint as recomputed, its gradients too.
#[test]
fn kernels_of_the_backward_pass_are_known_by_their_names() {
    for path in [
        "/attention/vmap(splash_mha_dkv_block_kv=512)/pallas_call",
        "/attention/vmap(splash_mha_dq_block_q=512)/pallas_call",
        "/flash_attention_bwd/pallas_call",
    ] {
        assert!(is_backward(path), "{path}");
    }
    for path in [
        "/attention/dot_general",
        "/attention/bd,dq->bq/dot_general",
        "/splash_mha_fwd_block_kv_dkv=512_use_fused_bwd_kernel=False/pallas_call",
    ] {
        assert!(!is_backward(path), "{path}");
    }
}
