//! Classifies host events by the names that runtimes give them.
//!
//! The rules are data: the first that matches the stripped name wins. They are applied to labels, of which a trace has
//! thousands, not to slices, of which it has millions. Names come from JAX, PJRT, libtpu, XLA and `PyTorch`/XLA.

use engine::glob;
use engine::prelude::*;
use serde::Serialize;
use trace_model::pausing;

use super::python_frame::PythonFrame;

/// Kinds of host work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostClass {
    /// Python to jaxpr.
    Trace,
    /// Jaxpr to `StableHLO`.
    Lower,
    /// `StableHLO` to executable.
    Compile,
    /// Looking for a compiled program.
    Cache,
    /// Executable to device.
    Load,
    /// Handing work to a device.
    Dispatch,
    /// Host to device.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// Feeding input.
    Infeed,
    /// Taking output.
    Outfeed,
    /// Waiting for a device.
    Wait,
    /// Lazy-tensor bookkeeping.
    Lazy,
    /// Everything else.
    User,
}

use HostClass::{
    Cache, Compile, DeviceToHost, Dispatch, HostToDevice, Infeed, Lazy, Load, Lower, Outfeed,
    Trace, User, Wait,
};

/// Patterns of the names of each class, in which `*` is any text. The first match wins. Single compiler passes are not
/// listed: they run only inside one of the events listed here, so they would add no time.
const RULES: &[(HostClass, &[&str])] = &[
    (Trace, &["*trace_to_jaxpr*"]),
    (
        Lower,
        &[
            "lower_sharding_computation",
            "lower_jaxpr_to_module",
            "*jaxpr_to_mlir_module*",
        ],
    ),
    (
        Compile,
        &[
            "backend_compile*",
            "*Compiler::Compile*",
            "*Compiler::RunBackend*",
            "*Compiler::RunHloPasses*",
            "*Client::Compile*",
            "XLA::TPU *",
            "XLA::JF *",
            "XlaCompile*",
            "XlaPass*",
            "XlaAutotunerMeasurement*",
            "XlaCreateGpuExecutable",
            "XlaBufferAssignment",
            "XlaEmitLlvmIr",
            "XLAGraphExecutor::Compile",
            "*TpuCompile*",
            "CompileAndLoad*",
        ],
    ),
    (
        Cache,
        &[
            "*compilation_cache*",
            "*compile_or_get_cached*",
            "LoadProgramMaybeFromCache",
            "LoadProgramCacheMiss",
        ],
    ),
    (
        Load,
        &[
            "LoadProgram",
            "LoadProgramAsync",
            "*Client::LoadInternal",
            "CopyProgramsToSharedMemory",
        ],
    ),
    (
        Dispatch,
        &[
            "PjitFunction(*",
            "ParseArguments",
            "shard_args",
            "cpp_pjit_shard_arg_fallback",
            "ExecuteReplicated.__call__",
            "*LoadedExecutable::Execute*",
            "PJRT_LoadedExecutable_Execute*",
            "*ExecuteHelperOnSingleDevice*",
            "*ExecutePrepare*",
            "*ExecuteLaunch*",
            "*ExecuteSharded*",
            "*ExecutePortable*",
            "*CreateOutputs*",
            "Handle input event recording",
            "tpu::System::Execute*",
            "DoEnqueueProgram",
            "EnqueueContinuationProgram",
            "EnqueueRequestLocked",
            "RunProgramRequest",
            "TpuExecuteOp",
            "AllocateOutputBuffer*",
            "AllocateRawBuffer",
            "DeferredTpuAllocator::Allocate",
            "Release semaphore",
            "Handle inputs",
            "Handle outputs*",
            "*ComputationClient::Execute*",
            "ExecuteComputationWithBarrier*",
        ],
    ),
    (
        HostToDevice,
        &[
            "DevicePut*",
            "batched_device_put",
            "*BufferFromHost*",
            "batched_copy_array_to_devices_with_sharding",
            "BatchedCopyToDeviceWithSharding*",
            "tpu::System::TransferToDevice*",
            "TransferH2DRequest",
            "H2D Dispatch",
            "*::TransferToDevice",
            "*::TransferShardsToDevice",
            "*TransferToServer*",
            "WriteHbm",
            "*LinearizeInto*",
            "Linearize*",
            "XlaLinearize*",
            "MapDmaBuffer",
            "*CopyToMemoryViaPcieOrMemcpy*",
            "PCIe/Memcpy Dispatch",
        ],
    ),
    (
        DeviceToHost,
        &[
            "tpu::System::TransferFromDevice*",
            "TransferD2HRequest",
            "D2H Dispatch",
            "TransferBufferFromDevice*",
            "*ToLiteral*",
            "np.asarray(jax.Array)",
            "*copy_to_host_async",
            "*::TransferFromDevice",
            "*::GetDataShard*",
            "ReadHbm",
            "Delinearize*",
            "XlaDelinearize*",
        ],
    ),
    (
        Infeed,
        &["*InfeedEnqueue*", "Iterator*", "EnqueueTPUEmbedding*"],
    ),
    (Outfeed, &["OutfeedDequeue*"]),
    (
        Wait,
        &[
            "Wait for *",
            // A launch may wait here until earlier programs have ended.
            "Acquire semaphore",
            "*BlockUntilReady*",
            "BlockHostUntil*",
            "*BlockHostUntilReady*",
            "*block_until_ready*",
            // A thread that waits for a buffer or a future of PJRT.
            "*Buffer::Await",
            "*Future::Await",
            "PJRT_Event_Await*",
            "ReadSyncFlag",
            "DeviceBarrier",
            "TensorCollectionBarrier",
            "CompleteCallbacks",
        ],
    ),
    (
        Lazy,
        &[
            "StepMarker",
            "SyncTensorsGraph*",
            "SyncLiveTensorsGraph",
            "ScheduleSyncTensorsGraph",
            "CollectSyncTensors",
            "RunPostOrder",
            "ReshardData",
        ],
    ),
];

/// Strips decorations from a name: a leading `[3] `, a trailing `#k=v,k=v#`.
pub fn stripped(name: &str) -> &str {
    let name = match name
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        Some((ordinal, rest)) if ordinal.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => name,
    };
    match name.strip_suffix('#').and_then(|rest| rest.split_once('#')) {
        Some((head, _)) => head.trim_end_matches(':'),
        None => name,
    }
}

/// Class of an event with this name. Calls of Python functions wrap events of the runtime, so that only those that wait
/// for results have a class, see `python_frame`.
pub fn classify(name: &str) -> HostClass {
    let name = stripped(name);
    if name.starts_with('$') {
        return match PythonFrame::of(name) {
            Some(frame) if frame.waits_for_results() => Wait,
            Some(frame) if frame.reads_results() => DeviceToHost,
            _ => User,
        };
    }
    RULES
        .iter()
        .find(|(_, patterns)| patterns.iter().any(|pattern| glob(pattern, name)))
        .map_or(User, |(class, _)| *class)
}

/// Whether an event of [`HostClass::User`] is a data loader of the program: Python
/// frames that take the next element of an iterator, and names of common loaders.
pub fn is_input_loader(name: &str) -> bool {
    const PARTS: [&str; 6] = [
        "dataloader",
        "data_loader",
        "load_batch",
        "next_batch",
        "iterator_ops.py",
        "input_pipeline",
    ];
    PythonFrame::of(name).is_some_and(PythonFrame::loads_input) || {
        let name = name.to_ascii_lowercase();
        PARTS.iter().any(|part| name.contains(part))
    }
}

/// `f` of `PjitFunction(f)`.
pub fn pjit_function(name: &str) -> Option<&str> {
    stripped(name)
        .strip_prefix("PjitFunction(")?
        .strip_suffix(')')
}

/// The function that an event compiles or calls: `f` of `PjitFunction(f)`, or of `Compilation of f` in a log.
pub fn compiled_function(name: &str) -> Option<&str> {
    pjit_function(name).or_else(|| name.strip_prefix(LOGGED_COMPILATION))
}

/// What stands before the function in the name of a compilation that a log tells of.
const LOGGED_COMPILATION: &str = "Compilation of ";

/// The classes of all labels on host threads. Labels of device ops are skipped because there are many more of them.
#[derive(Debug)]
pub struct HostClasses {
    classes: Vec<Option<HostClass>>,
}

impl Fact for HostClasses {
    fn find(cx: &Context<'_>) -> Self {
        Self::new(cx.model)
    }
}

impl HostClasses {
    /// Classifies the labels of `model`.
    pub(crate) fn new(model: &TraceModel) -> Self {
        let mut classes = vec![None; model.labels().len()];
        for slice in pausing(host_threads(model).flat_map(|track| model.slices_on(track))) {
            let label = slice.label_id();
            if let Some(class @ None) = classes.get_mut(label.index()) {
                *class = Some(classify(model.str(model.label(label).name)));
            }
        }
        Self { classes }
    }

    /// The class of a label; [`HostClass::User`] for those that are not on a host thread.
    pub fn class(&self, label: LabelId) -> HostClass {
        self.classes
            .get(label.index())
            .copied()
            .flatten()
            .unwrap_or(User)
    }

    /// Whether a runtime that compiles programs (JAX, XLA, `PyTorch`/XLA) recorded events; without them it is unknown
    /// whether anything was compiled.
    pub fn has_compiling_runtime(&self) -> bool {
        self.classes.iter().flatten().any(|class| {
            matches!(
                class,
                Trace | Lower | Compile | Cache | Load | Dispatch | Lazy
            )
        })
    }

    /// Whether a label occurs on a host thread.
    pub fn knows(&self, label: LabelId) -> bool {
        self.classes.get(label.index()).is_some_and(Option::is_some)
    }
}

/// Threads of all hosts.
pub fn host_threads(model: &TraceModel) -> impl Iterator<Item = TrackId> {
    model
        .track_ids()
        .filter(|&track| model.track(track).kind == TrackKind::HostThread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_event_names_of_real_runtimes() {
        let cases = [
            ("backend_compile_and_load", Compile),
            ("TfrtTpuCompiler::Compile", Compile),
            ("PjRtCpuClient::Compile", Compile),
            ("XLA::TPU run hlo passes", Compile),
            ("XlaCompile:#module=jit_f,program_id=3#", Compile),
            ("lower_sharding_computation", Lower),
            ("trace_to_jaxpr_dynamic", Trace),
            ("LoadProgramCacheMiss", Cache),
            ("LoadProgram", Load),
            ("TfrtTpuClient::LoadInternal", Load),
            ("PjitFunction(train_step)", Dispatch),
            ("[0] CommonPjRtLoadedExecutable::Execute (jit_f)", Dispatch),
            ("Scheduled TfrtTpuLoadedExecutable::Execute", Dispatch),
            ("tpu::System::TransferToDevice=>IssueEvent", HostToDevice),
            ("np.asarray(jax.Array)", DeviceToHost),
            ("ArrayImpl.copy_to_host_async", DeviceToHost),
            ("block_until_ready", Wait),
            ("PjRtFuture::Await", Wait),
            ("TfrtTpuBuffer::Await", Wait),
            ("BlockHostUntilDoneWithHostCallback", Wait),
            ("$api.py:2551 block_until_ready", Wait),
            ("$array.py:636 _value", DeviceToHost),
            // Threads of XLA for CPUs share work, which is no wait for a device.
            ("SlinkyThreadPool::Await", User),
            ("Acquire semaphore", Wait),
            ("IteratorGetNextOp", Infeed),
            ("SyncLiveTensorsGraph", Lazy),
            ("$compiler.py:419 compile_or_get_cached", User),
            ("load_batch", User),
        ];
        for (name, class) in cases {
            assert_eq!(classify(name), class, "{name}");
        }
    }

    #[test]
    fn data_loaders_are_recognized_by_frame_names() {
        for name in [
            "$loader.py:12 __next__",
            "$builtins next",
            "load_batch",
            "$torch/dataloader.py:7 f",
        ] {
            assert!(is_input_loader(name), "{name}");
        }
        for name in [
            "$builtins isinstance",
            "$model.py:3 next_token_ids",
            "$train.py:9 step",
            "context",
        ] {
            assert!(!is_input_loader(name), "{name}");
        }
    }

    #[test]
    fn event_name_decorations_are_stripped() {
        assert_eq!(stripped("[12] f"), "f");
        assert_eq!(stripped("[x] f"), "[x] f");
        assert_eq!(stripped("XlaCompile:#module=jit_f#"), "XlaCompile");
        assert_eq!(
            pjit_function("PjitFunction(train_step)"),
            Some("train_step")
        );
        assert_eq!(pjit_function("train_step"), None);
    }
}
