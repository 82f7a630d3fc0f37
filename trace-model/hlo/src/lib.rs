//! Compiled programs, as the compiler wrote them down, for importers and analyses.
//!
//! A program is recorded whole, as `xla.HloProto` (`proto`) or as text (`text`), or only as one line of text for each op
//! that ran. All of these become the same thing: an [`HloModule`] with [`Instruction`]s. A line of text makes a module
//! of one instruction, its operands, and computations without content. Text is taken apart in `syntax`, from which come
//! [`HloText`], [`Shape`] and [`ReplicaGroups`], too.
//!
//! What an instruction does is counted here only: matrix products by [`HloModule::products`], all operations and bytes
//! by [`CostAnalysis`].
//!
//! ```
//! use hlo::HloModule;
//!
//! let text = "%ar = f32[8]{0} all-reduce(f32[8]{0} %p), channel_id=1, replica_groups=[2,4]<=[8], to_apply=%add";
//! let module = HloModule::from_text(text).unwrap();
//! let all_reduce = module.instruction(module.find("ar").unwrap()).unwrap();
//! let collective = all_reduce.attributes().collective.as_ref().unwrap();
//! assert_eq!(collective.groups.as_ref().unwrap().size(), Some(4));
//! assert_eq!(module.operands(all_reduce).next().unwrap().shape.as_ref().unwrap().bytes(), Some(32));
//! ```
//!
//! Field numbers are those of `xla/service/hlo.proto` and `xla/xla_data.proto` in
//! openxla/xla. Everything comes from a file: ids are checked, depths bounded, and
//! a damaged program is an [`HloError`] that says where.

mod access;
mod buffers;
mod config;
mod cost;
mod counter;
mod facts;
mod fused;
mod in_place;
mod index;
mod instruction;
mod live;
mod loops;
mod matching;
mod mlir;
mod module;
mod product;
mod proto;
mod stack;
mod syntax;
mod text;
mod window;
mod wire;

pub use access::InstructionRef;
pub use buffers::{
    Allocation, BufferAssignment, BufferSlot, HeapEvent, HeapEventKind, HeapTrace, LogicalBuffer,
};
pub use cost::{CostAnalysis, InstructionFlops};
pub use facts::{
    Attributes, CollectiveAttributes, Convolution, DotDimensions, FusionKind, GroupMode,
    PrecisionConfig, ProductPrecision, WindowDimension,
};
pub use instruction::{ComputationId, Instruction, InstructionId};
pub use live::{
    Executions, LivePeak, executions, main_memory_bytes, peak_of_live_bytes, started_result,
    sum_of_execution, values_at_peak,
};
pub use matching::{
    DividedFusion, MatchedInstruction, ProgramMatch, ScheduleDifference, opcodes_inside,
    running_computations,
};
pub use mlir::{is_mlir, mlir_name};
pub use module::{BufferAlias, Computation, DeviceAssignment, HloModule, HloOrigin};
pub use product::{MatrixProduct, NoProduct};
pub use syntax::{
    ArrayShape, AxisRef, COMBINED, DeviceMesh, Frame, HBM, HloText, IotaGroups, MeshGroups,
    Operand, ReplicaGroups, Shape, VMEM, dtype_number, element_bits, is_dtype, split_attributes,
};
pub use text::{BEGIN, TextProgram};

/// Why the HLO of a program is not available.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HloError {
    /// The capture does not hold it.
    #[error(
        "the capture holds no HLO of {0}: exported JSON never does, and a profiler can be told to leave it out"
    )]
    NotRecorded(String),
    /// The capture holds something else, or only a part.
    #[error("the HLO of {program} is damaged: {why} in {message}, byte {at} of {len}")]
    Damaged {
        program: String,
        /// What is wrong.
        why: &'static str,
        /// The innermost damaged message (`HloInstructionProto`).
        message: &'static str,
        /// Byte position in the serialized program.
        at: usize,
        /// Its length.
        len: usize,
    },
}

impl HloError {
    /// That a text has no instructions.
    fn empty(program: &str, message: &'static str, text: &str) -> Self {
        Self::Damaged {
            program: program.to_owned(),
            why: "there is no instruction",
            message,
            at: text.len(),
            len: text.len(),
        }
    }
}
