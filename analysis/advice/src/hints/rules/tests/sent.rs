//! What is sent twice, and what is sent between slices.

use trace_model::Picos;

use super::{cannot_tell, ids, report, run, saving};

/// A hundred columns, of which two all-gathers take so many each.
pub(super) fn gathers(columns: usize, second: &str) -> String {
    let text = |name: &str, operand: &str| {
        format!(
            "%{name} = bf16[64,128]{{1,0}} all-gather(bf16[32,128]{{1,0}} %{operand}), replica_groups={{{{0,1}}}}, dimensions={{0}}"
        )
    };
    let ops = format!(
        "{}{}{}",
        run('M', 100 - 2 * columns),
        run('R', columns),
        run('S', columns)
    );
    format!(
        "@column 10us\nTPU:0 ops: {ops}\nTPU:1 ops: {ops}\nM = f [convolution fusion]\n\
         R = all-gather.1 [all-gather] :: {}\nS = all-gather.2 [all-gather] :: {}",
        text("all-gather.1", "w.1"),
        text("all-gather.2", second),
    )
}

#[test]
fn repeated_gather_of_an_operand_is_a_hint() {
    // One of the two stays.
    assert_eq!(saving(&gathers(1, "w.1"), "K05"), Some(10_000_000));
    assert!(!ids(&gathers(1, "w.2")).contains(&"K05"));
    let statement = |picture: &str| {
        let hints = report(picture).hints;
        hints
            .iter()
            .find(|hint| hint.id == "K05")
            .map(|hint| hint.statement.clone())
            .unwrap_or_default()
    };
    assert!(
        statement(&gathers(1, "w.1")).contains("%w.1"),
        "{}",
        statement(&gathers(1, "w.1"))
    );
    // Half a percent of device time is not worth the memory.
    let short = gathers(1, "w.1").replace("MMM", "MMMMMMMMM");
    assert!(!ids(&short).contains(&"K05"));
    let silent = gathers(1, "w.1")
        .replace(" :: ", " shape=")
        .replace("%all", "all");
    assert!(cannot_tell(&report(&silent), "K05"));
}

/// A device that runs next to nothing makes no share smaller.
#[test]
fn repeated_transfers_are_a_share_of_the_time_of_busy_devices() {
    let idle = format!("TPU:2 ops: z{}\n", run('.', 99));
    let picture =
        gathers(10, "w.1").replace("M = f ", &format!("{idle}z = add.9 [loop fusion]\nM = f "));
    let found = report(&picture);
    let hint = found.hints.iter().find(|hint| hint.id == "K05").unwrap();
    let said = "are exposed for 10.0 % of the time of busy devices";
    assert!(hint.statement.ends_with(said), "{}", hint.statement);
}

/// A hundred columns, so many of them in the four ops of a transfer between slices
/// that gives the network so many columns.
pub(super) fn slices(stall: usize, slack: usize, elements: u64) -> String {
    let begin = |name: &str, opcode: &str, channel: u32| {
        format!(
            "{name} [host {opcode}] :: %{name} = (f32[{elements}]{{0}}, u32[], token[]) {opcode}(%p, %t), channel_id={channel}, \
             is_host_transfer=true, frontend_attributes={{_xla_host_transfer_rendezvous=\"grads\",\
             _xla_megascale_transfer_type=\"ALL_REDUCE\",_xla_megascale_target=\"{{1,2}}x{{0:3}}\"}}"
        )
    };
    let end = |name: &str, opcode: &str, of: &str, channel: u32| {
        format!(
            "{name} [host {opcode}] :: %{name} = (f32[{elements}]{{0}}, token[]) {opcode}(%{of}), channel_id={channel}, is_host_transfer=true"
        )
    };
    format!(
        "
        @column 10us
        modules: {}
        ops: ArB{}{}{}
        M = jit_f(1)
        f = fusion.1 [convolution fusion]
        A = {}
        r = {}
        B = {}
        R = {}
        ",
        run('M', 100),
        run('f', slack),
        run('R', stall - 3),
        run('f', 100 - slack - stall),
        begin("send.1", "send", 1),
        end("send-done.1", "send-done", "send.1", 1),
        begin("recv.2", "recv", 2),
        end("recv-done.2", "recv-done", "recv.2", 2),
    )
}

#[test]
fn dcn_stall_and_bandwidth_hints() {
    // Of a hundred columns the four ops take five.
    let found = report(&slices(5, 80, 8));
    let hint = found.hints.iter().find(|hint| hint.id == "K10").unwrap();
    assert_eq!(
        hint.saving_ps,
        Some(Picos::from_ps(50_000_000)),
        "{}",
        hint.statement
    );
    assert!(!ids(&slices(4, 80, 8)).contains(&"K10"));
    // 800 µs for bytes that need 12.5 GB/s: 10 MB, of which each of two slices sends as much.
    assert!(ids(&slices(4, 80, 4_000_000)).contains(&"K10"));
    assert!(!ids(&slices(4, 80, 2_000_000)).contains(&"K10"));
    assert!(cannot_tell(
        &report("ops: MMMM\nM = fusion.1 [convolution fusion]"),
        "K10"
    ));
    // These are no calls back to the host.
    assert!(!ids(&slices(20, 60, 8)).contains(&"K42"));
}

/// A hundred columns, so many of them waiting for a call to Python.
pub(super) fn calls(columns: usize) -> String {
    format!(
        "@column 10us\nops: {}{}\nM = f [convolution fusion]\n\
         r = recv-done.1 [host recv-done] tf=jit(f)/debug_callback :: %recv-done.1 = (f32[2]{{0}}, token[]) recv-done(%recv.1), is_host_transfer=true",
        run('M', 100 - columns),
        run('r', columns)
    )
}

#[test]
fn host_transfers_count_as_host_callbacks() {
    assert_eq!(saving(&calls(5), "K42"), Some(50_000_000));
    assert_eq!(saving(&calls(4), "K42"), None);
}
