//! The memory plan of the compiler: memory that a program needs, padding, unused memory, and possible savings.
//!
//! Each program of the capture carries its buffer assignment: allocations for arguments, results and constants, and
//! heaps that temporaries share over the schedule. A replay of the heaps ([`CurvePoint`]) shows when the most memory is
//! needed and by which buffers. Allocations of a program together are what `XProf` calls its total; they do not include
//! what other programs keep in memory meanwhile.

mod heap;
mod map;
mod plan;
mod table;

use std::collections::HashSet;

use facts::prelude::*;

pub use heap::CurvePoint;
pub use map::{BufferBox, BufferMap, buffer_map};
use plan::percent;
pub use plan::{Donation, MemoryPlan, PlannedBuffer, Purpose};

use facts::hlo_for_now;
use hardware::chips::Chip;
use hlo::HloError;

use crate::memory::hbm::{Memory, bytes_text};

/// The analysis `buffers`.
pub struct Buffers;

/// Number of the memory that programs and buffers use by default.
pub const HBM: u64 = 0;
/// Name of that memory on a TPU.
pub const HBM_NAME: &str = "HBM";
/// Number of the vector memory.
pub const VMEM: u64 = 1;
/// Number of the memory of the host.
pub const HOST: u64 = 5;

/// Number of programs that keep many buffers, how many they keep, and how many the other programs keep.
const DETAILED: usize = 16;
const KEPT: usize = 256;
const KEPT_OF_OTHERS: usize = 4;

impl Analysis for Buffers {
    type Report = BuffersReport;
    const ID: &str = "buffers";
    const TITLE: &str = "Planned memory";

    fn run(cx: &Context<'_>) -> Result<BuffersReport> {
        if cx.scope != Scope::WholeTrace {
            // A plan is the same whenever the program runs.
            return Ok(cx.whole().report::<Self>()?.as_ref().clone());
        }
        let mut errors = Vec::new();
        let mut programs = Vec::new();
        let ran: HashSet<ProgramId> = cx
            .model
            .op_ids()
            .filter_map(|op| cx.model.op(op).program)
            .collect();
        for id in cx.model.program_ids() {
            match plans(cx, id, ran.contains(&id)) {
                Ok(plans) if plans.is_empty() => {}
                Ok(plans) => programs.push(ProgramPlan {
                    program: cx.model.program_title(id),
                    id,
                    plans,
                }),
                Err(error) => errors.push(error),
            }
        }
        if programs.is_empty() {
            return Err(AnalysisError::NotApplicable(why_none(cx.model, &errors)));
        }
        programs.sort_by_key(|program| Reverse(program.hbm_bytes()));
        for (index, program) in programs.iter_mut().enumerate() {
            let kept = if index < DETAILED {
                KEPT
            } else {
                KEPT_OF_OTHERS
            };
            program
                .plans
                .iter_mut()
                .for_each(|plan| plan.at_peak = plan::cut(&plan.at_peak, kept));
        }
        let capacity = capacity(cx);
        let main_memory = if cx.tensor_cores().is_empty() {
            "main memory"
        } else {
            HBM_NAME
        };
        Ok(BuffersReport {
            statement: statement(&programs, capacity.as_ref(), main_memory),
            metrics: metrics(&programs, capacity.as_ref()),
            capacity,
            vmem_bytes: vmem(cx),
            main_memory,
            set_aside: set_aside(cx, &programs),
            programs,
        })
    }
}

/// Why no program has a plan. One without HLO is no more to blame than the others.
fn why_none(model: &TraceModel, errors: &[HloError]) -> String {
    if let Some(by) = model.simulator().filter(|_| errors.is_empty()) {
        return format!(
            "{by} records no memory plan of a compiler: what is in memory is not known"
        );
    }
    let is_absent = |error: &HloError| matches!(error, HloError::NotRecorded(_));
    let count = errors.len();
    if count > 1 && errors.iter().all(is_absent) {
        return HloError::NotRecorded(format!("any of its {count} programs")).to_string();
    }
    let told = errors.iter().find(|error| !is_absent(error));
    told.or(errors.first()).map_or_else(
        || "the capture holds no program with a buffer assignment: record an *.xplane.pb with HLO protos".to_owned(),
        HloError::to_string,
    )
}

/// The plans of one program. If it `ran`, they are kept, because analyses of ops need it again.
fn plans(cx: &Context<'_>, id: ProgramId, ran: bool) -> Result<Vec<MemoryPlan>, HloError> {
    let module = if ran { cx.hlo(id) } else { hlo_for_now(cx, id) }?;
    let assignment = module.buffer_assignment(&cx.model.program_title(id))?;
    Ok(assignment
        .map(|assignment| plan::plans(&module, &assignment))
        .unwrap_or_default())
}

/// Memory that programs plan to use.
#[engine::reported]
pub struct BuffersReport {
    /// A sentence: the program that needs the most memory, and its main use.
    pub statement: String,
    /// Numbers of the program that needs the most.
    pub metrics: Vec<Metric>,
    /// HBM size of one device, if known.
    pub capacity: Option<Capacity>,
    /// VMEM size of one core according to the chip data, if known.
    pub vmem_bytes: Option<u64>,
    /// Name of memory space 0: HBM on a TPU.
    pub main_memory: &'static str,
    /// Memory set aside for programs when a memory was fullest, and the program that needs it.
    pub set_aside: Option<SetAside>,
    /// Programs, the one that needs the most HBM first.
    pub programs: Vec<ProgramPlan>,
}

/// Size of a memory and its source.
#[engine::reported]
pub struct Capacity {
    /// Bytes of one device.
    pub bytes: u64,
    /// `recorded by the allocator`, `published for v5e`.
    pub source: String,
    /// Provenance of shares of it.
    pub provenance: Provenance,
}

/// Memory that the runtime set aside for programs when the memory was fullest.
#[engine::reported]
pub struct SetAside {
    /// Name of the memory (`/device:TPU:0`).
    pub memory: String,
    /// Bytes, as recorded.
    pub bytes: u64,
    /// The program whose temporaries need this many bytes, or slightly fewer.
    pub program: String,
    /// Planned bytes of these temporaries.
    pub planned_bytes: u64,
}

/// The plan of one program.
#[engine::row(compiler)]
pub struct ProgramPlan {
    /// Name and id.
    #[column]
    pub program: String,
    /// The program.
    #[serde(skip)]
    pub id: ProgramId,
    /// Its needs for each memory, by number of the memory.
    pub plans: Vec<MemoryPlan>,
}

impl ProgramPlan {
    /// Its plan for a given memory.
    pub fn plan(&self, space: u64) -> Option<&MemoryPlan> {
        self.plans.iter().find(|plan| plan.space == space)
    }

    /// Bytes of HBM that it needs.
    pub fn hbm_bytes(&self) -> u64 {
        self.plan(HBM).map_or(0, |plan| plan.total_bytes)
    }
}

impl BuffersReport {
    /// Name of a memory by its number.
    pub fn memory_name(&self, space: u64) -> String {
        match space {
            HBM => self.main_memory.to_owned(),
            VMEM => "VMEM".to_owned(),
            HOST => "host memory".to_owned(),
            other => format!("memory space {other}"),
        }
    }

    /// The size of a memory, if known.
    pub fn capacity_of(&self, space: u64) -> Option<u64> {
        match space {
            HBM => self.capacity.as_ref().map(|capacity| capacity.bytes),
            VMEM => self.vmem_bytes,
            _ => None,
        }
    }
}

/// Bytes that a runtime sets aside in addition to the temporaries of a program: 16 MiB on v6e.
const SET_ASIDE_BEYOND: u64 = 64 << 20;

/// Names the program for which the largest stack was reserved: the one whose temporaries come closest from below, if
/// they are close.
fn set_aside(cx: &Context<'_>, programs: &[ProgramPlan]) -> Option<SetAside> {
    let report = cx.report::<Memory>().ok()?;
    let fullest = report.memories.first()?;
    let bytes = u64::try_from(fullest.peak_reserved_bytes)
        .ok()
        .filter(|&bytes| bytes > 0)?;
    let planned = programs
        .iter()
        .filter_map(|program| Some((program.plan(HBM)?.temporary_bytes, program)));
    let closest = planned
        .filter(|&(planned, _)| planned <= bytes)
        .max_by_key(|&(planned, _)| planned)?;
    let (planned_bytes, program) = closest;
    (bytes - planned_bytes <= SET_ASIDE_BEYOND && planned_bytes > 0).then(|| SetAside {
        memory: fullest.memory.clone(),
        bytes,
        program: program.program.clone(),
        planned_bytes,
    })
}

/// HBM size of a device: as its allocator records it, otherwise as published.
pub fn capacity(cx: &Context<'_>) -> Option<Capacity> {
    let recorded = cx.report::<Memory>().ok().and_then(|report| {
        let devices = report
            .memories
            .iter()
            .filter(|memory| memory.memory.starts_with("/device:"));
        devices
            .filter_map(|memory| u64::try_from(memory.capacity_bytes?).ok())
            .max()
    });
    if let Some(bytes) = recorded {
        return Some(Capacity {
            bytes,
            source: "recorded by the allocator".to_owned(),
            provenance: Provenance::Profile,
        });
    }
    let (chip, id) = chip(cx)?;
    let bytes = chip.per_device(chip.hbm_bytes as f64) as u64;
    (bytes > 0).then(|| Capacity {
        bytes,
        source: format!("published for {id}"),
        provenance: Provenance::AssumedPeak,
    })
}

/// The chip of the first device, and its name.
fn chip<'a>(cx: &Context<'a>) -> Option<(&'a Chip, String)> {
    if cx.tensor_cores().is_empty() {
        // A program that did not run has no devices: it may be asked about any.
        let chip = cx.options.chip()?;
        return Some((chip, chip.id.clone()));
    }
    let id = cx.peaks(*cx.tensor_cores().first()?).chip?;
    let named = cx.options.chip().filter(|chip| chip.id == id);
    Some((named.or_else(|| Chip::named(&id))?, id))
}

fn vmem(cx: &Context<'_>) -> Option<u64> {
    chip(cx)
        .map(|(chip, _)| chip.vmem_bytes_per_core)
        .filter(|&bytes| bytes > 0)
}

fn as_i64(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Bytes as text.
fn in_words(bytes: u64) -> String {
    bytes_text(as_i64(bytes))
}

fn statement(programs: &[ProgramPlan], capacity: Option<&Capacity>, memory: &str) -> String {
    let Some((program, plan)) = programs
        .first()
        .and_then(|program| Some((program, program.plan(HBM)?)))
    else {
        return format!("no program of the capture needs {memory}");
    };
    let of = capacity
        .and_then(|capacity| Some((percent(plan.total_bytes, capacity.bytes)?, capacity)))
        .map_or_else(String::new, |(percent, capacity)| {
            format!(
                ", {percent:.1} of {} ({})",
                in_words(capacity.bytes),
                capacity.source
            )
        });
    let parts = [
        (plan.temporary_bytes, "temporaries"),
        (plan.argument_bytes, "arguments"),
        (plan.donated_bytes, "donated arguments"),
        (plan.output_bytes, "results"),
        (plan.constant_bytes, "constants"),
    ];
    // A difference of a thousandth is not mentioned.
    let mut parts: Vec<_> = parts
        .into_iter()
        .filter(|&(bytes, _)| bytes > plan.total_bytes / 1000)
        .collect();
    parts.sort_by_key(|&(bytes, _)| Reverse(bytes));
    let parts = parts
        .into_iter()
        .map(|(bytes, what)| format!("{} {what}", in_words(bytes)));
    format!(
        "{} needs {} of {memory}{of}: {}",
        program.program,
        in_words(plan.total_bytes),
        joined(parts, ", ")
    )
}

fn metrics(programs: &[ProgramPlan], capacity: Option<&Capacity>) -> Vec<Metric> {
    let Some((program, plan)) = programs
        .first()
        .and_then(|program| Some((program, program.plan(HBM)?)))
    else {
        return Vec::new();
    };
    let name = &program.program;
    let bytes = |id, title, value: u64, of: &str| Metric {
        id,
        title,
        value: Some(value as f64),
        is_lower_bound: false,
        unit: Unit::Bytes,
        of: format!("{of}, {name}"),
        provenance: Provenance::StaticCost,
        note: None,
    };
    let share = |id, title, value: Option<Percent>, of, provenance, note: Option<&str>| Metric {
        id,
        title,
        value: value.map(|percent| percent.0),
        is_lower_bound: false,
        unit: Unit::Percent,
        of,
        provenance,
        note: note.map(str::to_owned),
    };
    let static_cost = Provenance::StaticCost;
    vec![
        bytes(
            "planned_hbm_bytes",
            "Planned HBM",
            plan.total_bytes,
            "all allocations of a device",
        ),
        share(
            "planned_hbm_percent",
            "Planned HBM, of capacity",
            capacity.and_then(|capacity| percent(plan.total_bytes, capacity.bytes)),
            capacity.map_or_else(
                || "unknown capacity".to_owned(),
                |capacity| format!("{} ({})", in_words(capacity.bytes), capacity.source),
            ),
            capacity.map_or(static_cost, |capacity| capacity.provenance),
            capacity.is_none().then_some(hardware::peaks::NO_PEAK),
        ),
        bytes(
            "planned_temporaries_bytes",
            "Temporaries",
            plan.temporary_bytes,
            "heaps and what else it needs to run",
        ),
        bytes(
            "planned_live_bytes",
            "Live temporaries at the peak",
            plan.heap_peak_bytes,
            "replayed heaps",
        ),
        share(
            "planned_fragmentation_percent",
            "Unused heap at the peak",
            percent(plan.fragmentation_bytes, plan.heap_bytes),
            format!("heaps, {}", in_words(plan.heap_bytes)),
            Provenance::Derived,
            None,
        ),
        share(
            "planned_padding_percent",
            "Padding",
            percent(plan.padding_bytes, plan.total_bytes),
            format!("planned HBM, {}", in_words(plan.total_bytes)),
            Provenance::Derived,
            None,
        ),
        bytes(
            "donatable_bytes",
            "Donatable arguments",
            plan.donatable_bytes,
            "arguments shaped like a result",
        ),
    ]
}
