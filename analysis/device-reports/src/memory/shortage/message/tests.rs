//! Messages written anew after the forms that compilers and runtimes of several years print.

use super::*;

#[test]
fn scoped_allocations_are_read() {
    let read = read(
        "Ran out of memory in memory space vmem while allocating on stack for %attention.3 = f32[64,128]{1,0:T(8,128)} \
         custom-call(%a), custom_call_target=\"tpu_custom_call\". Scoped allocation with size 41.75M and limit 16.00M \
         exceeded scoped vmem limit by 25.75M.",
    );
    let mib = |quarters: u64| Some(quarters << 18);
    let told = &read[0];
    assert_eq!(told.memory, "vmem");
    assert_eq!(
        (told.needed_bytes, told.capacity_bytes, told.over_bytes),
        (mib(167), mib(64), mib(103))
    );
    assert_eq!(told.buffers[0].instruction, "attention.3");
}

#[test]
fn messages_of_one_sentence_are_read() {
    let log = "E0000 xla.cc:1] RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries \
               (40.25G) exceeds available HBM (15.75G).\n\
               RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.50G, SparseCore Hbm usage 174.00G, exceeding available \
               bytes: 95.50G\n";
    let read = read(log);
    let gib = |quarters: u64| Some(quarters << 28);
    let of = |at: usize| {
        let told: &MemoryShortage = &read[at];
        (told.needed_bytes, told.capacity_bytes, told.over_bytes)
    };
    assert_eq!(of(0), (gib(161), gib(63), gib(98)));
    assert!(read[0].is_least && read[0].fixes.iter().all(|fix| fix.suffices.is_none()));
    assert_eq!(read[0].kind("temporaries"), gib(161));
    assert_eq!(of(1), (gib(834), gib(382), gib(452)));
    assert_eq!(read[1].kind("program of the SparseCores"), gib(696));
    assert!(read.iter().all(|told| told.memory == "hbm"));
    assert!(super::read("Ran out of memory on HBM, the").is_empty());
}

#[test]
fn requests_and_allocations_of_kernels_are_read() {
    let of = |log: &str| {
        let told = read(log).remove(0);
        (told.memory, told.needed_bytes, told.capacity_bytes)
    };
    let mib = |count: u64| Some(count << 20);
    assert_eq!(
        of(
            "Resource exhausted: Failed to allocate request for 32.00MiB (33554432B) on device ordinal 0"
        ),
        ("hbm".to_owned(), mib(32), None)
    );
    assert_eq!(
        of("RESOURCE_EXHAUSTED: Out of memory allocating 8388608 bytes."),
        ("main memory".to_owned(), mib(8), None)
    );
    let kernel = "RESOURCE_EXHAUSTED: Allocation (size=2097152) would exceed memory (size=1048576) :: #allocation4 \
                  [shape = 'u8[2097152]{0}', space=smem, size = 0x200000, tag = 'prefetched SMEM operand 0']";
    assert_eq!(of(kernel), ("smem".to_owned(), mib(2), mib(1)));
    let told = read(kernel).remove(0);
    assert_eq!(told.buffers[0].instruction, "prefetched SMEM operand 0");
    assert!(told.is_least);
}

/// The text beside a dumped program.
#[test]
fn buffer_assignments_are_read() {
    let text = "BufferAssignment:\nallocation 0: size 16384, parameter 0, shape |f32[64,64]| at ShapeIndex {}:\n value: <9 \
                x.1 @0> (size=16384,offset=0): f32[64,64]{1,0}\nallocation 1: size 8192, parameter 1, shape |f32[64,32]| at \
                ShapeIndex {}, maybe-live-out:\n value: <10 w.1 @0> (size=8192,offset=0): f32[64,32]{1,0}\nallocation 2: \
                size 32768, preallocated-temp:\n value: <11 fusion.2{0} @0> (size=20480,offset=0): f32[64,64]{1,0}\n \
                value: <12 copy.3 @0> (size=16384,offset=8192): f32[64,64]{1,0}\nallocation 3: size 4, thread-local:\n \
                value: <0 add.1 @0> (size=4,offset=0): f32[]\nallocation 4: size 4096, color 1, constant:\n value: <13 c @0> \
                (size=4096,offset=0): f32[1024]{0}\n\nTotal bytes used: 57348 (56.0KiB)\n";
    let told = read(text).remove(0);
    assert_eq!(told.needed_bytes, Some(16_384 + 8192 + 32_768));
    assert_eq!(told.shared_bytes, Some(8192));
    assert_eq!(told.kind("temporaries"), Some(32_768));
    assert_eq!(told.kind("arguments"), Some(24_576));
    let largest = &told.buffers[0];
    assert_eq!(largest.instruction, "fusion.2{0}");
    assert_eq!(largest.padding_bytes, Some(4096));
    assert_eq!(told.buffers.len(), 4, "neither stacks nor other memories");
    assert!(
        told.unknown
            .iter()
            .any(|what| what.contains("4.00 KiB in other memories"))
    );
    assert!(!told.is_least);
    let cut = read(&text.replace("size 32768, ", "size , ")).remove(0);
    assert!(cut.is_least && cut.kind("temporaries").is_none(), "{cut:?}");
    assert!(read("BufferAssignment:\n\nno allocation").is_empty());
}

/// Values at the same address are in memory at different times.
#[test]
fn padding_of_shared_memory_counts_once() {
    // Of 4096 bytes each, 3072, 2048 and 1024 are padding; the first two share a half of each other, and so do the others.
    let text = "BufferAssignment:\nallocation 0: size 8192, preallocated-temp:\n \
        value: <1 a @0> (size=4096,offset=0): f32[256]{0}\n value: <2 b @0> (size=4096,offset=2048): f32[512]{0}\n \
        value: <3 c @0> (size=4096,offset=4096): f32[768]{0}\n";
    let told = read(text).remove(0);
    assert_eq!(told.padding(), 3072 + 1024);
    assert!(told.shares_memory() && !told.is_least);
    let said = "needs 8.00 KiB of main memory; at most 4.00 KiB of it is padding";
    assert!(told.statement.contains(said), "{}", told.statement);
}

/// Wherever a plan ends inside of an allocation, more is needed than it says.
#[test]
fn cut_assignments_are_lower_limits() {
    let text = "BufferAssignment:\nallocation 0: size 4096, parameter 0, shape |f32[1024]| at ShapeIndex {}:\n \
        value: <1 a @0> (size=4096,offset=0): f32[1024]{0:T(1024)}\nallocation 1: size 8192, preallocated-temp:\n \
        value: <2 b @0> (size=4096,offset=0): f32[1024]{0}\n value: <3 c @0> (size=4096,offset=4096): f32[32,32]{1,0}\n";
    assert!(!read(text)[0].is_least);
    let whole = text.find("\nallocation 1").unwrap();
    let (start, end) = (
        text.find("value: <1").unwrap(),
        text.len() - "{1,0}\n".len(),
    );
    // Before a layout, and between allocations, a plan may end.
    let layout = text.find("{0:T").unwrap();
    let may_end = |at: &usize| *at == layout || (whole..whole + 14).contains(at);
    for at in (start..end).filter(|at| !may_end(at)) {
        let cut = read(&text[..at]).remove(0);
        assert!(cut.is_least, "{}: {cut:?}", &text[..at]);
        let parameter = cut.buffers.iter().find(|it| it.instruction == "a");
        assert!(parameter.is_none_or(|it| it.bytes == 4096), "{cut:?}");
    }
}

/// As XLA prints it where it assigns buffers itself.
#[test]
fn assignments_of_buffers_are_read() {
    let log = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 34359738368 bytes.\n\
               BufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:   16.00GiB\n   \
               maybe_live_out allocation:    8.00GiB\n     preallocated temp allocation:   32.00GiB\n  \
               preallocated temp fragmentation:    2.00GiB (6.25%)\n                 total allocation:   56.00GiB\n\
               Peak buffers:\n\tBuffer 1:\n\t\tSize: 16.00GiB\n\t\tOperator: op_name=\"jit(f)/dot_general\" \
               source_file=\"a.py\" source_line=7\n\t\tXLA Label: fusion\n\t\tShape: f32[65536,65536]\n\
               \t\t==========================\n\n\tBuffer 2:\n\t\tSize: 8.00GiB\n\t\tEntry Parameter Subshape: \
               f32[32768,65536]\n";
    let told = read(log).remove(0);
    let gib = |count: u64| Some(count << 30);
    assert_eq!(told.needed_bytes, gib(56));
    assert_eq!(told.kind("arguments"), gib(16));
    assert_eq!(told.kind("temporaries"), gib(30));
    assert_eq!(told.kind("fragmentation"), gib(2));
    assert_eq!(told.kind("results"), gib(8));
    assert_eq!(told.buffers.len(), 2);
    assert_eq!(told.buffers[0].source.as_deref(), Some("a.py:7"));
    assert_eq!(told.buffers[1].shape.as_deref(), Some("f32[32768,65536]"));
}

/// As JAX prints it since 2022.
const COMPILER: &str = r#"
step 0
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 17.00G of 15.50G hbm. Exceeded hbm capacity by 1.50G.

Total hbm usage >= 17.50G:
    reserved        512.00M
    program          14.00G
    arguments         3.00G

Output size 2.00G; shares 0B with arguments.

Program hbm requirement 14.00G:
    global            1.00M
    scoped            4.00M
    HLO temp         13.90G (90.0% utilization: Unpadded (9.50G) Padded (13.50G), 1.0% fragmentation (100.00M))

  Largest program allocations in hbm:

  1. Size: 4.00G
     Operator: op_name="jit(step)/jit(main)/jvp(Model)/layers/mlp/dot_general[dimension_numbers=(((1,), (0,)), ((), ()))]" source_file="/home/u/mlp.py" source_line=88
     Shape: f32[1024,1024,8]{2,1,0:T(8,128)}
     Unpadded size: 256.00M
     Extra memory due to padding: 3.75G (16.0x expansion)
     XLA label: %fusion.7 = f32[1024,1024,8]{2,1,0:T(8,128)} fusion(%p.1), kind=kLoop
     Allocation type: HLO temp
     ==========================

  2. Size: 1.00G
     Operator: op_name="jit(step)/add" stack_frame_id=4
     Shape: bf16[8192,65536]{1,0:T(8,128)(2,1)}
     Unpadded size: 1.00G
     XLA label: add.3 = add(fusion.7, p.2)
     Allocation type: HLO temp
     ==========================

Traceback ended
"#;

fn only(log: &str) -> MemoryShortage {
    let mut found = read(log);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

fn kinds(of: &MemoryShortage) -> Vec<(&str, u64)> {
    of.kinds
        .iter()
        .map(|kind| (kind.kind.as_str(), kind.bytes >> 20))
        .collect()
}

#[test]
fn tables_of_the_compiler_are_read() {
    let found = only(COMPILER);
    assert_eq!(found.needed_bytes, Some(17 << 30));
    assert_eq!(found.over_bytes, Some(3 << 29));
    assert_eq!(
        kinds(&found),
        [
            ("reserved by the system", 512),
            ("arguments", 3072),
            ("results", 2048),
            ("global", 1),
            ("scoped", 4),
            ("temporaries", 14133),
            ("fragmentation", 100)
        ]
    );
    assert_eq!(found.kinds[5].padding_bytes, Some(4 << 30));
    let first = &found.buffers[0];
    assert_eq!(
        (
            first.instruction.as_str(),
            first.source.as_deref(),
            first.padding_bytes
        ),
        ("fusion.7", Some("/home/u/mlp.py:88"), Some(15 << 28))
    );
    assert_eq!(found.buffers[1].source, None, "a frame id names no line");
    assert_eq!(
        found.statement,
        "the program needs 17.00 GiB of HBM, and there are 15.50 GiB: 1.50 GiB too few; 4.00 GiB of it is padding; most of \
         what is listed is from mlp.py:88 (4.00 GiB)"
    );
    // Above the tables, in the units of the tables.
    let decimal = found.decimal_statement();
    assert!(
        decimal.contains("needs 18.25 GB of HBM, and there are 16.64 GB: 1.611 GB too few"),
        "{decimal}"
    );
}

#[test]
fn fixes_that_suffice_come_first_with_their_bytes() {
    let found = only(COMPILER);
    let fixes: Vec<(&str, u64, Option<bool>)> = found
        .fixes
        .iter()
        .map(|fix| (fix.id.as_str(), fix.frees_bytes >> 20, fix.suffices))
        .collect();
    assert_eq!(
        fixes,
        [
            ("donate", 2048, Some(true)),
            ("dtype", 2048, Some(true)),
            ("shard", 2048, Some(true)),
            ("padding", 3840, Some(true)),
            ("rematerialize", 4096, Some(true)),
            ("microbatch", 7066, Some(true))
        ]
    );
    assert!(
        found.fixes[3]
            .action
            .contains("has 8 elements of a tile of 128"),
        "{:?}",
        found.fixes[3]
    );
}

#[test]
fn loggers_prefixes_and_exceptions_in_one_line_are_read_and_repetitions_dropped() {
    let prefix = "2020-05-04 09:05:40.719: E    1578 tensorflow/xla_util.cc:76] ";
    let lines: Vec<String> = COMPILER
        .lines()
        .map(|line| format!("{prefix}{line}"))
        .collect();
    let logged = lines.join("\n");
    let in_one_line = format!("XlaRuntimeError('{}')", COMPILER.replace('\n', "\\n"));
    let expected = only(COMPILER);
    let collected: Vec<String> = (10..)
        .zip(COMPILER.lines())
        .map(|(second, line)| format!("[rank3] 2026-01-01T00:00:{second}Z worker-3: {line}"))
        .collect();
    for log in [logged.clone(), in_one_line.clone(), collected.join("\n")] {
        let found = only(&log);
        assert_eq!(
            (&found.kinds, &found.buffers),
            (&expected.kinds, &expected.buffers)
        );
    }
    let many = format!("{COMPILER}\n{logged}\nnoise\n{COMPILER}");
    assert_eq!(read(&many).len(), 1, "the same message");
}

#[test]
fn messages_of_the_runtime_are_read() {
    let program = "RuntimeError: Resource exhausted: From /job:tpu_worker/replica:0/task:0:\n\
        Attempting to reserve 3.95G at the bottom of memory. That was not possible. There are 2.92G free, 0B reserved, and 1.92G reservable.; \n\
        HBM capacity 8.00G:\n       Top-of-Memory reserved:  529.00M (     554,696,704 bytes)\n\
        \x20         Currently allocated:    6.08G (   6,532,939,776 bytes)\n\
        Persistent allocations include some or all of:\n    arguments                478.00M (89.4% utilization)\n\
        \x20   output                     5.00G (71.6% utilization) [may share some memory with arguments]\n\n\
        Program hbm requirement 4.34G:\n    HLO temp          3.93G (97.4% utilization: Unpadded (3.81G) Padded (3.92G), 0.4% fragmentation (14.00M))\n    overlays          2.00M\n";
    let found = only(program);
    assert_eq!(found.capacity_bytes.map(|bytes| bytes >> 20), Some(1966));
    assert_eq!(
        kinds(&found),
        [
            ("reserved by the system", 529),
            ("allocated before", 6225),
            ("arguments", 478),
            ("results", 5120),
            ("temporaries", 4010),
            ("fragmentation", 14),
            ("overlays", 2)
        ]
    );
    let buffer = only(
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 129.50M. That was not possible. There are 78.00M free.; (0x0x0_HBM0)",
    );
    assert_eq!(
        (buffer.needed_bytes, buffer.capacity_bytes),
        (Some(259 << 19), Some(78 << 20))
    );
    assert!(
        buffer
            .unknown
            .iter()
            .any(|text| text.contains("which buffers")),
        "{buffer:?}"
    );
    let loading = only(
        "Error loading program 'jit_step': Attempting to reserve 2.00G at the bottom of memory. That was not possible. There are 1.00G free, 0B reserved, and 1.00G reservable.",
    );
    assert_eq!(loading.program.as_deref(), Some("jit_step"));
}

#[test]
fn older_tables_without_padding_and_other_memories_are_read() {
    let old = "Compilation failure: Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm.\n Exceeded hbm capacity by 25.74G.\n\n\
        Total hbm usage >= 41.74G:\n    reserved        528.00M\n    program          41.22G\n    arguments       unknown size\n\nOutput size unknown.\n\n\
        Program hbm requirement 41.22G:\n    HLO temp         41.19G (24.2% utilization, 0.7% fragmentation (293.00M))\n";
    let found = only(old);
    assert_eq!(found.over_bytes.map(|bytes| bytes >> 20), Some(26357));
    assert_eq!(found.kinds[1].padding_bytes, None, "unknown, not zero");
    assert_eq!(found.unknown.len(), 3, "{:?}", found.unknown);
    let vmem = "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 29.95M of 16.00M vmem. Exceeded vmem capacity by 13.95M.\n\n\
        Program vmem requirement 29.95M:\n    scoped           29.95M\n\n  Largest program allocations in vmem:\n\n  1. Size: 29.66M\n\
        \x20    XLA label: register allocator spill slots call depth 2\n     Allocation type: scoped\n";
    let found = only(vmem);
    assert_eq!(found.memory, "vmem");
    assert!(
        found.fixes[0]
            .action
            .contains("--xla_tpu_scoped_vmem_limit_kib=30669"),
        "{:?}",
        found.fixes
    );
}

#[test]
fn hostile_logs_do_no_harm() {
    assert_eq!(read("").len(), 0);
    assert_eq!(
        read("an ordinary log\nUsed 3 of 4 eggs\n1. Size: 4.00G\n").len(),
        0
    );
    for at in 0..COMPILER.len() {
        let cut = COMPILER.get(..at).unwrap_or_default();
        assert!(read(cut).len() <= 1);
    }
    let many =
        (0..10_000).map(|n| format!("Attempting to allocate {n}.00M. That was not possible."));
    let many = many.collect::<Vec<_>>().join("\n");
    assert_eq!(read(&many).len(), MOST_MESSAGES);
    let buffers = format!(
        "{}{}",
        &COMPILER[..400],
        "  Largest program allocations in hbm:\n".to_owned()
            + &"  1. Size: 1.00G\n".repeat(100_000)
    );
    assert!(only(&buffers).buffers.len() <= MOST_BUFFERS);
    let huge = "Ran out of memory in memory space hbm. Used 99999999999999999999P of 1G hbm. Exceeded hbm capacity by 1e400G.";
    assert_eq!(only(huge).needed_bytes, None);
}
