//! Messages and participants of collectives from their HLO text.

use super::*;

fn message(text: &str, kind: CollectiveKind) -> CollectiveTraffic {
    let module = HloModule::from_text(text).unwrap();
    let op = module.instructions.last().unwrap();
    CollectiveTraffic::of_instruction(&module, collective_in(&module, op), None, kind, 4)
}

#[test]
fn bus_bandwidth_follows_the_reference_convention() {
    const MIB_256: u64 = 256 << 20;
    let busbw = |kind| sent_bytes(kind, MIB_256, 8) / 5e-3 / 1e9;
    assert!((MIB_256 as f64 / 5e-3 / 1e9 - 53.687).abs() < 5e-4);
    assert!((busbw(CollectiveKind::AllReduce) - 93.952).abs() < 5e-4);
    assert!((busbw(CollectiveKind::AllGather) - 46.976).abs() < 5e-4);
    assert!(bus_factor(CollectiveKind::AllReduce, 1).abs() < f64::EPSILON);
}

#[test]
fn message_size_uses_operand_or_result_by_kind() {
    let size = |text: &str, kind| message(text, kind).bytes;
    let gather = "%ag = f32[8,4]{1,0} all-gather(f32[1,4]{1,0} %p), replica_groups=[1,8]<=[8], dimensions={0}";
    assert_eq!(size(gather, CollectiveKind::AllGather), Some(128));
    let start =
        "%ags = (f32[1,4]{1,0}, f32[8,4]{1,0}) all-gather-start(f32[1,4]{1,0} %p), dimensions={0}";
    assert_eq!(size(start, CollectiveKind::AllGather), Some(128));
    let scatter = "%rs = f32[1,4]{1,0} reduce-scatter(f32[8,4]{1,0} %p), dimensions={0}";
    assert_eq!(size(scatter, CollectiveKind::ReduceScatter), Some(128));
    let permute = "%cps = (f32[4]{0}, f32[4]{0}, u32[]{:S(2)}, u32[]{:S(2)}) collective-permute-start(f32[4]{0} %p)";
    assert_eq!(size(permute, CollectiveKind::CollectivePermute), Some(16));
    let tuple =
        "%ar = (f32[4]{0}, bf16[2]{0}) all-reduce(f32[4]{0} %p, bf16[2]{0} %q), to_apply=%add";
    assert_eq!(size(tuple, CollectiveKind::AllReduce), Some(20));
    let start = "%ars = f32[4]{0} all-reduce-start(%p), to_apply=%add";
    assert_eq!(size(start, CollectiveKind::AllReduce), Some(16));
    let wrapped =
        "%a = ((f32[8]{0}), f32[8]{0}, u32[]) async-start(f32[8]{0} %p), calls=%all-to-all.clone";
    assert_eq!(size(wrapped, CollectiveKind::AllToAll), Some(32));
    let ragged = "%r = f32[8] ragged-all-to-all(f32[16] %in, f32[8] %out, s64[4] %a, s64[4] %b, s64[4] %c, s64[4] %d)";
    let ragged = message(ragged, CollectiveKind::RaggedAllToAll);
    assert_eq!((ragged.bytes, ragged.is_upper_bound), (Some(64), true));
    let recv = "%rv = (f32[8]{0}, u32[], token[]) recv(token[] %t), channel_id=3";
    assert_eq!(size(recv, CollectiveKind::Recv), Some(32));
    assert_eq!(
        size("%x = token[] custom-call()", CollectiveKind::Unknown),
        None
    );
}

/// If operand shapes are missing, the input of a reduce-scatter is everyone's result.
#[test]
fn reduce_scatter_without_operands_sums_all_results() {
    let bare = "%rs = f32[1,4]{1,0} reduce-scatter(%p), replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}";
    assert_eq!(
        message(bare, CollectiveKind::ReduceScatter).bytes,
        Some(128)
    );
}

#[test]
fn async_collective_fusions_take_sizes_from_shapes() {
    let start = "%async-collective-start.3 = (bf16[1,512,8]{2,1,0}, bf16[1,2048,8]{2,1,0}, s32[2]{0:S(4)}) \
         fusion(bf16[1,512,8]{2,1,0} %f), kind=kCustom, calls=%fused_computation.402";
    let done = "%async-collective-done.3 = bf16[1,2048,8]{2,1,0} fusion(bf16[1,512,8]{2,1,0} %a, \
         bf16[1,2048,8]{2,1,0} %b), kind=kCustom, calls=%fused_computation.404";
    for text in [start, done] {
        let found = message(text, CollectiveKind::AllGather);
        assert_eq!(
            (found.bytes, found.participants),
            (Some(2048 * 8 * 2), Some(4))
        );
        assert!(!found.participants_estimated);
        assert_eq!(found.sent_bytes, Some(2048.0 * 8.0 * 2.0 * 3.0 / 4.0));
        // The shapes contradict any other pattern.
        assert_eq!(message(text, CollectiveKind::AllReduce).bytes, None);
    }
}

#[test]
fn participant_count_comes_from_groups_pairs_or_capture() {
    let all_reduce = |attributes: &str| {
        let text =
            format!("%ar = f32[10]{{0}} all-reduce(f32[10]{{0}} %p){attributes}, to_apply=%add");
        let message = message(&text, CollectiveKind::AllReduce);
        (
            message.participants,
            message.participants_estimated,
            message.sent_bytes,
        )
    };
    let sent = |n: f64| Some(80.0 * (n - 1.0) / n);
    assert_eq!(
        all_reduce(", replica_groups=[4,2]<=[2,4]T(1,0)"),
        (Some(2), false, sent(2.0))
    );
    assert_eq!(
        all_reduce(", channel_id=1, replica_groups=[2,4]<=[8], use_global_device_ids=true"),
        (Some(4), false, sent(4.0))
    );
    assert_eq!(
        all_reduce(", replica_groups=mesh['x'=2,'y'=4] {'y'}"),
        (Some(4), false, sent(4.0))
    );
    // Groups of one device use no network.
    assert_eq!(
        all_reduce(", replica_groups={{0},{1}}"),
        (Some(1), false, Some(0.0))
    );
    // All devices, however many there are.
    assert_eq!(
        all_reduce(", replica_groups={}"),
        (Some(4), true, sent(4.0))
    );
    assert_eq!(all_reduce(""), (Some(4), true, sent(4.0)));
    // Replicas with all their partitions: the text does not contain the number.
    assert_eq!(
        all_reduce(", channel_id=1, replica_groups={{0}}"),
        (Some(4), true, sent(4.0))
    );
    // Contradictory or oversized groups are ignored.
    assert_eq!(
        all_reduce(", replica_groups=[99999999,99999999]<=[9]"),
        (Some(4), true, sent(4.0))
    );
    let permute = "%cp = f32[4]{0} collective-permute(f32[4]{0} %p), source_target_pairs={{0,1},{1,2},{2,0},{3,3}}";
    let permute = message(permute, CollectiveKind::CollectivePermute);
    assert_eq!(
        (permute.participants, permute.sent_bytes),
        (Some(3), Some(16.0))
    );
}

#[test]
fn several_replica_groups_are_listed() {
    let groups = |groups: &str| {
        let text = format!("%ar = f32[1]{{0}} all-reduce(f32[1]{{0}} %p), replica_groups={groups}");
        message(&text, CollectiveKind::AllReduce).groups
    };
    assert_eq!(groups("[2,2]<=[4]"), Some(vec![vec![0, 1], vec![2, 3]]));
    assert_eq!(groups("[1,4]<=[4]"), None);
    // A million devices are read but never listed.
    assert_eq!(groups("[524288,2]<=[1048576]"), None);
}
