//! Facts of a trace that several reports need, each computed once on first use.
//!
//! A fact depends on the trace and the options, never on a report. [`TraceFacts`] lists them.

pub mod category;
pub mod clock_alignment;
pub mod collective_traffic;
pub mod compile_events;
pub mod core_time;
pub mod device_shift;
mod environment;
mod environment_changes;
pub mod framework;
pub mod host_class;
mod host_events;
mod largest_first;
pub mod op_scan;
mod packed_segments;
pub mod prelude;
mod programs;
pub mod python_frame;
mod segments;
mod spans;
pub mod steps;
pub mod sum_over;
pub mod time_use;
pub mod window;

use std::borrow::Borrow;
use std::sync::Arc;

use engine::{Context, Result};
use hlo::{HloError, HloModule, InstructionRef};
use trace_model::{GroupId, OpId, ProgramId, SliceRef, TimeRange};

use self::host_class::HostClasses;

pub use category::{AsyncRole, CollectiveKind, OpClass, OpClasses, OpGroup};
pub use clock_alignment::{ClocksReport, SharedClock};
pub use collective_traffic::{CollectiveTraffic, GroupPlace};
pub use core_time::{CoreTime, SelfTimeSegment, self_time_segments};
pub use environment::environment;
pub use environment_changes::{
    EnvironmentChange, EnvironmentSide, environment_changes, environment_table,
};
pub use framework::Framework;
pub use host_class::{HostClass, host_threads};
pub use host_events::host_event_use;
pub use largest_first::{largest_first, largest_number_first};
pub use programs::hlo_for_now;
pub use python_frame::PythonFrame;
pub use steps::{Step, StepSource, StepsReport};
pub use sum_over::{ARE_SUMS, SumOver};
pub use time_use::TimeUse;
pub use window::{TimeWindow, measured_range};

/// The facts of the trace of a [`Context`].
pub trait TraceFacts<'a>: Borrow<Context<'a>> {
    /// The class of each op of the trace.
    fn classes(&self) -> &'a Arc<OpClasses> {
        self.borrow().fact()
    }

    /// The class of each host event.
    fn host_classes(&self) -> &'a HostClasses {
        self.borrow().fact()
    }

    /// The steps of the whole trace.
    fn steps(&self) -> &'a StepsReport {
        self.borrow().fact()
    }

    /// The HLO of a program, parsed on first use, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// The capture contains no such program, or a damaged one.
    fn hlo(&self, program: ProgramId) -> Result<Arc<HloModule>, HloError> {
        programs::hlo(self.borrow(), program)
    }

    /// The instruction of an op: from the program, if the capture contains it, else from the op's HLO text; `None` if
    /// there is neither.
    fn instruction(&self, op: OpId) -> Option<InstructionRef> {
        programs::instruction(self.borrow(), op)
    }

    /// The instruction of an op in its program; `None` if the capture does not contain the program.
    fn instruction_of_program(&self, op: OpId) -> Option<InstructionRef> {
        programs::instruction_of_program(self.borrow(), op)
    }

    /// The scope of this context on `core`; `None` if the core recorded nothing in it.
    ///
    /// - whole trace: from the core's first step, program or op to the end of its last;
    /// - range: as given, limited to the span of the whole trace;
    /// - steps: from the start of the first to the end of the last, as the core ran them.
    ///
    /// # Errors
    ///
    /// The trace has no such steps.
    fn window(&self, core: GroupId) -> Result<Option<TimeWindow>> {
        window::window(self.borrow(), core)
    }

    /// The scope of this context by the clock of the hosts.
    ///
    /// - whole trace: from the first event of anything to the end of the last;
    /// - range: as given, limited to the span of the whole trace;
    /// - steps: from the start of the first to the end of the last on any device or host.
    ///
    /// # Errors
    ///
    /// The trace has no such steps.
    fn host_window(&self) -> Result<TimeRange> {
        window::host_window(self.borrow())
    }

    /// The scope of this context on `core`, by the clock of its host; `None` if the core recorded nothing in it. Unlike
    /// [`Self::window`] it includes time in which the core recorded nothing, before its first program and after its
    /// last.
    ///
    /// # Errors
    ///
    /// The trace has no such steps.
    fn window_on_host(&self, core: GroupId) -> Result<Option<TimeRange>> {
        window::window_on_host(self.borrow(), core)
    }

    /// The time of `core` in the scope of this context; `None` if it recorded nothing there.
    ///
    /// # Errors
    ///
    /// The trace has no such steps.
    fn core_time(&self, core: GroupId) -> Result<Option<CoreTime>> {
        core_time::core_time(self.borrow(), core)
    }

    /// A span of `core` on the timeline, on the clock of its host, for comparison with host events. Its length is as
    /// exact as that of the span.
    fn to_host(&self, core: GroupId, range: TimeRange) -> TimeRange {
        clock_alignment::to_host(self.borrow(), core, range)
    }

    /// Every program execution of `core` in time order, with its span by the clock of the host. Use these to compare a
    /// device with its host.
    fn programs_on_host(&self, core: GroupId) -> Vec<(SliceRef<'a>, TimeRange)> {
        clock_alignment::programs_on_host(self.borrow(), core)
    }
}

impl<'a> TraceFacts<'a> for Context<'a> {}
