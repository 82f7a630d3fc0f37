//! Small captures of every format, written for tests, to be changed.

use std::fmt::Write as _;

use sample_traces::rare::{CounterSamples, MegascaleSample, PallasKernel, SparseOffload};
use sample_traces::session::SampleSession;
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::{trace_json, xspace_bytes};
use serde_json::Value;

use super::mutate::{Field, fields};

/// A capture.
pub struct Seed {
    /// Says what it is.
    pub title: &'static str,
    /// The file that is opened and changed.
    pub name: &'static str,
    pub content: Content,
    /// Files that importers look for beside it.
    pub beside: Vec<(&'static str, &'static str)>,
}

/// A file, as far as changes understand it.
pub enum Content {
    Text(String),
    Json(Value),
    Proto(Vec<Field>),
    /// Messages, each behind its length.
    Frames(Vec<Vec<Field>>),
}

fn seed(title: &'static str, name: &'static str, content: Content) -> Seed {
    Seed { title, name, content, beside: Vec::new() }
}

fn text(title: &'static str, name: &'static str, content: &str) -> Seed {
    seed(title, name, Content::Text(content.to_owned()))
}

/// One of each.
pub fn all() -> Vec<Seed> {
    let spec = || TrainingSpec { data: 2, model: 1, layers: 1, steps: 3, ..TrainingSpec::default() };
    let sessions = [
        ("training", SyntheticRun::new(spec()).session()),
        (
            "training, overlapped",
            SyntheticRun::new(TrainingSpec { overlap: true, recompile_at: Some(1), ..spec() }).session(),
        ),
        ("kernel", PallasKernel { executions: 2, steps: 3, ..PallasKernel::default() }.session()),
        ("counters", CounterSamples::default().session()),
        ("sparse core", SparseOffload::default().session()),
        ("slices", MegascaleSample::default().session()),
    ];
    let mut seeds = Vec::new();
    for (title, session) in &sessions {
        seeds.push(seed(title, "host.xplane.pb", Content::Proto(proto(session))));
        let document = serde_json::from_str(&trace_json(session)).expect("the writer writes JSON");
        seeds.push(seed(title, "host.trace.json", Content::Json(document)));
    }
    seeds.push(text("any program", "program.json", EVERYTHING));
    let document = serde_json::from_str(&EVERYTHING.replace("{},\n ]", "{}]")).expect("valid but for its slips");
    seeds.push(seed("any program", "program.json", Content::Json(document)));
    seeds.extend(simulated());
    seeds
}

fn proto(session: &SampleSession) -> Vec<Field> {
    fields(&xspace_bytes(session), 0).expect("the writer writes protobufs")
}

fn simulated() -> Vec<Seed> {
    let neusim = format!("{NEUSIM}\n{}\n", NEUSIM_ROWS.join("\n"));
    let beside = |seed: Seed, beside: &[(&'static str, &'static str)]| Seed { beside: beside.to_vec(), ..seed };
    vec![
        beside(text("NeuSim", "m_prefill.csv", &neusim), &[("m.json", CHIP)]),
        text("GenZ", "prefill_model_df.csv", GENZ),
        beside(
            text("SCALE-Sim", "COMPUTE_REPORT.csv", COMPUTE),
            &[("DETAILED_ACCESS_REPORT.csv", ACCESS), ("scale.cfg", CONFIG), ("topology.csv", TOPOLOGY)],
        ),
        text("scheduled HLO", "jit_loop.v5e.txt", LOOP),
        text("schedule", "jit_f.v5e.schedule.txt", SCHEDULE),
        beside(text("ONNXim", "run.log", &onnxim()), &[("config.json", ONNXIM_CONFIG)]),
        text("PyTorchSim", "run.log", &lines("[2026-01-01 00:00:00.000] [trace] ", &TOGSIM)),
        text("ASTRA-sim", "log.log", &astra_sim()),
        seed("Chakra", "work.0.et", Content::Frames(chakra())),
    ]
}

fn lines(head: &str, lines: &[&str]) -> String {
    lines.iter().fold(String::new(), |text, line| text + head + line + "\n")
}

fn onnxim() -> String {
    let parts: [&[&str]; 4] = [&ONNXIM_BEGIN, &ONNXIM_PRODUCT, &ONNXIM_LAYER, &ONNXIM_END];
    lines("[2026-01-01 00:00:00.000] [info] ", &parts.concat())
}

fn astra_sim() -> String {
    let events = [
        (true, 0, 1, "all-gather_0", 7),
        (false, 4, 1, "all-gather_0", 7),
        (true, 4, 2, "matmul_0", 4),
        (true, 4, 3, "ALL_REDUCE", 7),
        (false, 6, 2, "matmul_0", 4),
        (false, 9, 3, "ALL_REDUCE", 7),
    ];
    let mut text = String::new();
    for (begins, tick, node, name, kind) in events {
        let what = if begins { "issue" } else { "callback" };
        let _ = writeln!(
            text,
            "[12:00] [workload] [debug] {what},sys->id=0, tick={tick}, node->id={node}, node->name={name}, \
             node->type={kind}"
        );
        if node == 2 && begins {
            text += "[12:00] [workload] [debug] operation_intensity=2, perf=50, elapsed_time=1 compute_utilization=0.5 \
                     memory_utilization=0.25 tensor_size=40 num_ops=80\n";
        }
    }
    text + "[12:00] [workload] [info] sys[0] finished, 9 cycles, exposed communication 3 cycles.\n"
}

/// Three nodes: a gather, and two products that need what is before them.
fn chakra() -> Vec<Vec<Field>> {
    let node = |id: u8, name: &str, kind: u8, needs: &[u8], micros: u8| {
        let mut bytes = vec![0x08, id, 0x12, name.len() as u8];
        bytes.extend(name.as_bytes());
        bytes.extend([0x18, kind, 0x2a, needs.len() as u8]);
        bytes.extend(needs);
        bytes.extend([0x38, micros]);
        bytes
    };
    let frames = [
        b"\x0a\x050.0.4".to_vec(),
        node(1, "gather", 7, &[], 4),
        node(2, "mm", 4, &[1], 3),
        node(3, "mm", 4, &[1, 2], 2),
    ];
    frames.iter().map(|frame| fields(frame, 0).expect("written so")).collect()
}

/// What Chrome's viewer reads, with the slips of real writers.
const EVERYTHING: &str = r#" {"displayTimeUnit": "ns", "unknown": {"a": [1, "]}", {}]}, "traceEvents": [
    {"ph":"X","pid":1,"tid":2,"ts":1.5,"dur":10,"name":"a \"quoted\" n\u00e4me \ud83d\ude00","args":{"n":1,"t":"x]}","deep":{"b":[1,2]}}},
    {"name": "late phase", "ts": "3.25", "dur": "1e1", "tid": "2", "pid": "1", "ph": "X"},
    {"ph":"B","pid":1,"tid":3,"ts":9,"name":"outer","args":{"step_num":7}},
    {"ph":"E","pid":1,"tid":3,"ts":4},
    {"ph":"B","pid":1,"tid":3,"ts":2,"name":"early"},
    {"ph":"E","pid":1,"tid":3,"ts":19,"args":{"end":true}},
    {"ph":"b","cat":"c","id":"0x1","pid":1,"tid":2,"ts":1,"name":"async"},
    {"ph":"b","cat":"c","id":"0x1","pid":1,"tid":2,"ts":2,"name":"inner"},
    {"ph":"n","cat":"c","id":"0x1","pid":1,"tid":2,"ts":2.5,"name":"mark"},
    {"ph":"e","cat":"c","id":"0x1","pid":1,"tid":2,"ts":3,"name":"inner"},
    {"ph":"e","cat":"c","id":"0x1","pid":1,"tid":2,"ts":8,"name":"async"},
    {"ph":"C","pid":1,"ts":1,"name":"memory","args":{"used":5,"free":"2.5"}},
    {"ph":"C","pid":1,"ts":2,"name":"memory","args":{"used":6}},
    {"ph":"i","pid":1,"tid":2,"ts":5,"name":"tick","s":"t"},
    {"ph":"s","id":9,"pid":1,"tid":2,"ts":2,"name":"f","cat":"k"},
    {"ph":"f","id":9,"pid":1,"tid":3,"ts":10,"name":"f","cat":"k","bp":"e"},
    {"ph":"M","pid":1,"name":"process_name","args":{"name":"program"}},
    {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"worker"}},
    {"ph":"O","pid":1,"tid":2,"ts":5,"name":"object","id":1},
    {"ph":"X","pid":1,"tid":2,"ts":100,"dur":1,"name":"last","sf":"2"},
    {},
 ], "stackFrames": {"1": {"name": "main"}, "2": {"name": "callee", "parent": "1"}}, "otherData": {"version": "1.0"}} "#;

const NEUSIM: &str = "Fusion index,Description,Config,Name,OpType,Count,Bounded-by,Execution time,Compute time,Memory \
    time,ICI/NVLink time,MXU time,VPU time,Vmem time,Bytes accessed,Input Tensor Shapes,FLOP Count,Op Code,\
    einsum_B_size,einsum_M_size,einsum_N_size,einsum_K_size";
const NEUSIM_ROWS: [&str; 4] = [
    "1,-norm-,c,N,VPU,3,Memory,100,10,100,0,0,10,5,400,DT_BFLOAT16:[4],8,LayerNorm,,,,",
    "2,up,c,U,MXU,3,Compute,900,900,90,0,900,30,40,300,\"DT_BFLOAT16:[4,8],DT_BFLOAT16:[8,2]\",128,Einsum,1,4,2,8",
    "3,split,c,S,VPU,3,ICI/NVLink,500,4,50,500,0,4,1,64,DT_BFLOAT16:[4],2,ReduceScatter,,,,",
    "4,head,c,H,MXU,1,Memory,200,20,200,0,20,1,1,4000,DT_FLOAT:[1],40,Einsum,1,1,2,10",
];
const CHIP: &str = r#"{"name":"5p","num_sa":8,"sa_dim":128,"freq_GHz":1.7,"hbm_bw_GBps":2765.0,"num_chips":4}"#;
const GENZ: &str = "Layer Name,Op Type,Dimension,Bound,Latency (msec),Num ops (MFLOP),Total Data (MB),Compute time \
    (msec),Memory time (msec),Communication time (msec)\n\
    embed,GEMM,x,Compute,2.0,4000,1,2.0,0.25,0.0\n\
    Repeat,Repeat,3,Collective,0.0,0.0,0.0,0.0,0.0,0.0\n\
    QKV,GEMM,\"[(1, 2), 3]\",Memory,0.5,1.5,2,0.1,0.5,0.0\n\
    MHA AR,Sync,\"(1, 2)\",Collective,0.25,0.0,0.0,0.0,0.0,0.25\n\
    End Repeat,EndRepeat,3,Collective,0.0,0.0,0.0,0.0,0.0,0.0\n\
    head,GEMM,x,Compute,1.0,1000,9,1.0,0.25,0.0\n";
const COMPUTE: &str = "LayerID, Total Cycles (incl. prefetch), Total Cycles, Stall Cycles, Overall Util %, \
    Mapping Efficiency %, Compute Util %,\n\
    0, 160, 100, 10, 50.0, 100.0, 40.0,\n\
    1, 60, 40, 0, 25.0, 50.0, 20.0,\n";
const ACCESS: &str = "LayerID, SRAM IFMAP Start Cycle, SRAM IFMAP Stop Cycle, SRAM IFMAP Reads, SRAM Filter Start \
    Cycle, SRAM Filter Stop Cycle, SRAM Filter Reads, SRAM OFMAP Start Cycle, SRAM OFMAP Stop Cycle, SRAM OFMAP \
    Writes, DRAM IFMAP Start Cycle, DRAM IFMAP Stop Cycle, DRAM IFMAP Reads, DRAM Filter Start Cycle, DRAM Filter \
    Stop Cycle, DRAM Filter Reads, DRAM OFMAP Start Cycle, DRAM OFMAP Stop Cycle, DRAM OFMAP Writes,\n\
    0, 1.0, 90.0, 64, 1.0, 90.0, 64, 9.0, 99.0, 32, -40.0, -1.0, 80, -20.0, -1.0, 40, 100.0, 119.0, 32,\n\
    1, 1.0, 30.0, 64, 1.0, 30.0, 64, 9.0, 39.0, 32, -4.0, -1.0, 16, -10.0, -1.0, 40, 20.0, 29.0, 32,\n";
const CONFIG: &str = "[architecture_presets]\nArrayHeight: 4\nArrayWidth: 2\nDataflow: ws\n";
const TOPOLOGY: &str = "Layer,M,N,K,\nup,10,8,5,\ndown,2,8,5,\n";
const LOOP: &str = r#"HloModule jit_loop, is_scheduled=true, num_partitions=4

%body (t: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {
  %t = (s32[]{:S(6)}, f32[8,8]{1,0}) parameter(0)
  %x = f32[8,8]{1,0} get-tuple-element(%t), index=1
  %dot.1 = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, backend_config={"window_config":{"estimated_cycles":"1500"}}
  %dot.2 = f32[8,8]{1,0} dot(%dot.1, /*index=1*/%x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, backend_config={"window_config":{"estimated_cycles":"3000"}}
  %i = s32[]{:S(6)} get-tuple-element(%t), index=0
  ROOT %tuple = (s32[]{:S(6)}, f32[8,8]{1,0}) tuple(%i, %dot.2)
}

%cond (c: (s32[], f32[8,8])) -> pred[] {
  %c = (s32[]{:S(6)}, f32[8,8]{1,0}) parameter(0)
  ROOT %lt = pred[] constant(true)
}

ENTRY %main (p: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {
  %p = (s32[]{:S(6)}, f32[8,8]{1,0}) parameter(0)
  ROOT %while.1 = (s32[]{:S(6)}, f32[8,8]{1,0}) while(%p), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"3"}}
}
"#;
const SCHEDULE: &str = r#"hlo_module {
  name: "jit_f"
  computations {
    name: "main"
    instructions { name: "p" opcode: "parameter" shape { element_type: BF16 dimensions: 8 dimensions: 8 } id: 0 }
    instructions {
      name: "ag-start" opcode: "all-gather-start"
      shape { element_type: TUPLE tuple_shapes { element_type: BF16 dimensions: 8 dimensions: 8 } tuple_shapes { element_type: BF16 dimensions: 16 dimensions: 8 } }
      id: 1 operand_ids: 0
      collective_device_list { iota_replica_group_list { num_replica_groups: 1 num_devices_per_group: 2 iota_reshape_dims: 2 } }
    }
    instructions {
      name: "dot.1" opcode: "dot" shape { element_type: F32 dimensions: 8 dimensions: 8 layout { minor_to_major: 1 minor_to_major: 0 memory_space: 1 } }
      id: 2 operand_ids: 0 operand_ids: 0
      dot_dimension_numbers { lhs_contracting_dimensions: 1 rhs_contracting_dimensions: 0 }
      metadata { op_name: "jit(f)/dot \"x\"" stack_frame_id: 2 }
    }
    instructions { name: "ag-done" opcode: "all-gather-done" shape { element_type: BF16 dimensions: 16 dimensions: 8 } id: 3 operand_ids: 1 }
    instructions { name: "dot.2" opcode: "dot" shape { element_type: F32 dimensions: 16 dimensions: 8 } id: 4 operand_ids: 3 operand_ids: 0 dot_dimension_numbers { lhs_contracting_dimensions: 1 } }
    id: 0
    root_id: 4
  }
  stack_frame_index {
    file_names: "train.py"
    function_names: "f"
    file_locations { file_name_id: 1 function_name_id: 1 line: 7 }
    stack_frames { file_location_id: 1 }
    stack_frames { file_location_id: 1 parent_frame_id: 1 }
  }
}
computation_schedules {
  instructions { end_timestamp_cycles: 1 }
  instructions { id: 1 start_timestamp_cycles: 1 end_timestamp_cycles: 2 memory_usage_after: 256 }
  instructions { id: 2 start_timestamp_cycles: 2 end_timestamp_cycles: 1002 memory_usage_after: 512 }
  instructions { id: 3 start_timestamp_cycles: 3001 end_timestamp_cycles: 3002 memory_usage_after: 512 }
  instructions { id: 4 start_timestamp_cycles: 3002 end_timestamp_cycles: 7002 }
  scheduler_statistics { total_cycles: 7002 memory_pressure_peak: 640 }
  cycles_per_microsecond: 1000
}
"#;
const ONNXIM_BEGIN: [&str; 4] = [
    "Simulator Configuration:",
    "[Core 0] Systolic Array Throughput: 512 GFLOPS, Spad size: 1 KB, Accumulator size: 1 KB",
    "[Core 1] Systolic Array Throughput: 512 GFLOPS, Spad size: 1 KB, Accumulator size: 1 KB",
    "DRAM Bandwidth 100 GB/s",
];
const ONNXIM_CONFIG: &str = r#"{"core_freq": 1000, "core_config": {"core_0": {"core_width": 16, "core_height": 8},
                        "core_1": {"core_width": 16, "core_height": 8}}}"#;
const ONNXIM_PRODUCT: [&str; 3] = [
    "[GemmWs] Keys K = 16, N = 8, M = 32",
    "[GemmWS]: total 0.000008448 GFLOPs, 0.000001856 GB",
    "[GemmWS]: Theoretical time(ms): 0.00002 Compute time: 0.0000165 Memory time: 0.00002",
];
const ONNXIM_LAYER: [&str; 7] = [
    "Start layer Gemm_0",
    "Layer Gemm_0 Core 0 Get Tile at 0",
    "Layer Gemm_0 Core 1 Get Tile at 1",
    "Layer 7 Core 0 Finish Tile at 90 Remain tile 2",
    "Layer 7 Core 1 Finish Tile at 100 Remain tile 1",
    "Layer Gemm_0 finish at 100",
    "Total compute time 100",
];
const ONNXIM_END: [&str; 2] = [
    "Simulation Finished at 2000 cycle 2 us",
    "Core [0] : Systolic Array Utilization(%) 50.00 (25.00% PE util), Vector Unit Utilization(%) 0.00, Total cycle: 2000",
];
const TOGSIM: [&str; 15] = [
    "[Config/Core] Core 0: core_freq_mhz: 1000, systolic_arrays_per_core: 2",
    "[0][Core 0][TILE_SCHEDULED ]",
    "[0][Core 0][INST_ISSUED    ][INST_ID=1] MOVIN (addr_name=arg0 dram=0x1 rank=2 async=true)",
    "[3][Core 0][ASYNC_DMA_ISSUE][INST_ID=1] MOVIN (ASYNC subgraph_id=0 addr_name=arg0 tag_id=[0x1])",
    "[10][Core 0][DRAM_RESP_DONE ][INST_ID=1] MOVIN (ASYNC subgraph_id=0 addr_name=arg0 tag_id=[0x1])",
    "[10][Core 0][INST_ISSUED    ][INST_ID=2] COMP (compute_type=1 compute_cycle=10 overlapping_cycle=0 sa=0 tile=0)",
    "[12][Core 0][INST_ISSUED    ][INST_ID=3] COMP (compute_type=1 compute_cycle=10 overlapping_cycle=0 sa=0 tile=0)",
    "[14][Core 0][INST_ISSUED    ][INST_ID=4] COMP (compute_type=1 compute_cycle=16 overlapping_cycle=0 sa=1 tile=0)",
    "[20][Core 0][INST_FINISHED  ][INST_ID=2] COMP (compute_type=1 compute_cycle=10 overlapping_cycle=0 sa=0 tile=0)",
    "[30][Core 0][INST_FINISHED  ][INST_ID=3] COMP (compute_type=1 compute_cycle=10 overlapping_cycle=0 sa=0 tile=0)",
    "[30][Core 0][INST_FINISHED  ][INST_ID=4] COMP (compute_type=1 compute_cycle=16 overlapping_cycle=0 sa=1 tile=0)",
    "[30][Core 0][INST_ISSUED    ][INST_ID=5] COMP (compute_type=0 compute_cycle=5 overlapping_cycle=0 sa=-1 tile=0)",
    "[35][Core 0][INST_FINISHED  ][INST_ID=5] COMP (compute_type=0 compute_cycle=5 overlapping_cycle=0 sa=-1 tile=0)",
    "[35][Core 0][INST_ISSUED    ][INST_ID=6] MOVOUT (addr_name=out dram=0x1 rank=2)",
    "[50][Core 0][INST_FINISHED  ][INST_ID=6] MOVOUT (addr_name=out tile=0)",
];
