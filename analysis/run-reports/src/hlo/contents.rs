//! What a program consists of: collectives, products, fusions, kernels, costs, memory.
//!
//! Sums are per execution of the program: an instruction in a loop counts as often as the compiler says that the loop runs.

use facts::CollectiveTraffic;
use facts::prelude::*;
use hardware::ici::CollectiveKind;
use hlo::{
    CostAnalysis, Executions, FusionKind, HloModule, Instruction, InstructionId, executions,
    peak_of_live_bytes, running_computations, sum_of_execution,
};
use trace_model::MemorySpace;

use device_reports::Buffers;
use device_reports::memory::buffers::ProgramPlan;

/// What a program consists of.
#[derive(Debug)]
pub struct ProgramContents {
    /// Collectives by kind and number of devices in a group.
    pub collectives: BTreeMap<(CollectiveKind, Option<u64>), ContentSum>,
    /// Matrix products by the types of operands and result: `bf16 × bf16 → f32`.
    pub products: BTreeMap<String, ContentSum>,
    /// Fusions by kind.
    pub fusions: BTreeMap<&'static str, ContentSum>,
    /// Custom calls by target.
    pub custom_calls: BTreeMap<String, ContentSum>,
    /// Instructions that compute a value again.
    pub rematerialized: ContentSum,
    /// Results that reuse the memory of a parameter.
    pub donated: usize,
    /// Parameters that give their memory away, to a result that the compiler chooses.
    pub donors: usize,
    /// Whether the text ends before the program does, so that counts are not known.
    pub is_cut: bool,
    /// Operations; without those of `uncounted` instructions.
    pub flops: u64,
    /// Matrix products whose operations cannot be counted, and kernels that declare none.
    pub uncounted: usize,
    /// Bytes read from and written to main memory.
    pub hbm_bytes: u64,
    /// The most memory in use at one time.
    pub peak: Result<PeakMemory, String>,
    /// A loop of unknown length counts once.
    pub is_least: bool,
    /// Whether there are conditionals, of whose branches only one runs.
    pub has_branches: bool,
    /// Number of devices whose work these are the sums of, where the program is not divided among them yet.
    pub devices: Option<u64>,
}

/// Instructions of one sort.
#[derive(Debug, Default)]
pub struct ContentSum {
    pub instructions: usize,
    /// Their executions.
    pub executions: u64,
    /// Bytes of their messages, over all executions; `None` if one is unknown.
    pub bytes: Option<u64>,
    /// Which.
    pub ids: Vec<InstructionId>,
}

impl ContentSum {
    fn add(&mut self, id: InstructionId, times: u64, bytes: Option<u64>) {
        let sum = if self.instructions == 0 {
            Some(0_u64)
        } else {
            self.bytes
        };
        self.bytes = sum
            .zip(bytes)
            .map(|(sum, bytes)| sum.saturating_add(bytes.saturating_mul(times)));
        self.instructions += 1;
        self.executions = self.executions.saturating_add(times);
        self.ids.push(id);
    }
}

/// The most memory that a program needs at one time.
#[derive(Clone, Copy, Debug)]
pub struct PeakMemory {
    pub bytes: u64,
    /// Planned by the compiler, with padding; otherwise live bytes in the order of the schedule, without.
    pub is_planned: bool,
}

impl PeakMemory {
    /// Whether a program needs at most so many bytes; `None` if an estimate does not tell. Padding to tiles of 8 × 128
    /// elements takes up to 1,024 times the bytes of the elements, and a compiler that writes more values into the memory
    /// of others than the estimate does needs a part of it.
    pub fn fits(self, max: u64) -> Option<bool> {
        const MOST_PADDED: u64 = 8 * 128;
        const MOST_SHARED: u64 = 4;
        if self.is_planned {
            return Some(self.bytes <= max);
        }
        if self.bytes.saturating_mul(MOST_PADDED) <= max {
            return Some(true);
        }
        (self.bytes / MOST_SHARED > max).then_some(false)
    }
}

impl ProgramContents {
    /// What a program consists of; `plan` is the peak that the compiler planned, if recorded.
    pub fn of(module: &HloModule, plan: Option<u64>) -> Self {
        let peak = plan
            .map_or_else(
                || {
                    peak_of_live_bytes(module)
                        .map(|peak| peak.bytes)
                        .map_err(str::to_owned)
                },
                Ok,
            )
            .map(|bytes| PeakMemory {
                bytes,
                is_planned: plan.is_some(),
            });
        let results: BTreeSet<_> = module.aliases.iter().map(|it| &it.output_index).collect();
        let mut out = Self {
            collectives: BTreeMap::new(),
            products: BTreeMap::new(),
            fusions: BTreeMap::new(),
            custom_calls: BTreeMap::new(),
            rematerialized: ContentSum::default(),
            donated: results.len(),
            donors: module.donors.len(),
            is_cut: module.cut.is_some(),
            flops: 0,
            uncounted: 0,
            hbm_bytes: 0,
            peak,
            is_least: false,
            has_branches: false,
            devices: devices_together(module),
        };
        let (mut own_flops, mut own_bytes) = (Vec::new(), Vec::new());
        let (times, runs) = (executions(module), running_computations(module));
        let mut costs = CostAnalysis::new(module);
        for (id, instruction) in module.iter() {
            let place = instruction.computation.index();
            let times = times.get(place).copied().unwrap_or_default();
            let runs = runs.get(place).copied().unwrap_or(true);
            out.is_least |= times.is_least && times.times > 0;
            out.sort(module, (id, instruction), times, runs);
            out.has_branches |= runs && &*instruction.opcode == "conditional";
            // What is inside of a fusion is a part of it.
            let [flops, bytes] = if runs {
                out.cost(module, instruction, &mut costs)
            } else {
                [0, 0]
            };
            own_flops.push(flops);
            own_bytes.push(bytes);
        }
        out.flops = sum_of_execution(module, &own_flops);
        out.hbm_bytes = sum_of_execution(module, &own_bytes);
        out
    }

    /// What a program of a capture consists of.
    pub fn in_capture(cx: &Context<'_>, program: ProgramId, module: &HloModule) -> Self {
        let plans = cx.report::<Buffers>().ok();
        let plans = plans.iter().flat_map(|report| &report.programs);
        let plan = plans
            .filter(|plan| plan.id == program)
            .map(ProgramPlan::hbm_bytes);
        Self::of(module, plan.max().filter(|&bytes| bytes > 0))
    }

    /// Adds an instruction to those of its sort.
    fn sort(
        &mut self,
        module: &HloModule,
        (id, it): (InstructionId, &Instruction),
        times: Executions,
        runs: bool,
    ) {
        let times = times.times;
        if let Some((kind, traffic)) = CollectiveTraffic::in_program(module, it) {
            let key = (kind, traffic.participants);
            let sum = self.collectives.entry(key).or_default();
            sum.add(id, times, traffic.bytes);
        }
        match &*it.opcode {
            "dot" | "convolution" | "ragged-dot" => {
                let sum = self.products.entry(types(module, it)).or_default();
                sum.add(id, times, None);
            }
            "fusion" if runs => {
                let kind = match it.attributes().fusion_kind {
                    Some(FusionKind::Loop) => "loop",
                    Some(FusionKind::Input) => "input",
                    Some(FusionKind::Output) => "output",
                    Some(FusionKind::Custom) => "custom",
                    None => "of unknown kind",
                };
                self.fusions.entry(kind).or_default().add(id, times, None);
            }
            "custom-call" => {
                let target = it
                    .attributes()
                    .custom_call_target
                    .clone()
                    .unwrap_or_else(|| "without a target".to_owned());
                self.custom_calls
                    .entry(target)
                    .or_default()
                    .add(id, times, None);
            }
            _ => {}
        }
        if runs && it.is_rematerialized() {
            self.rematerialized.add(id, times, None);
        }
    }

    /// Operations and bytes of an instruction by itself.
    fn cost(
        &mut self,
        module: &HloModule,
        it: &Instruction,
        costs: &mut CostAnalysis<'_>,
    ) -> [u64; 2] {
        let flops = costs.flops(it);
        self.uncounted += usize::from(flops.is_none());
        let bytes = if moves_nothing(&it.opcode) || it.moves_nothing() {
            0
        } else if it.opcode.ends_with("-start") {
            // The result of a start holds its operand, too.
            let operands = module.operands(it);
            let operands = operands.map(|it| hlo::main_memory_bytes(it.shape.as_deref()));
            let written = hlo::main_memory_bytes(hlo::started_result(it));
            operands.fold(written, u64::saturating_add)
        } else {
            let accesses = costs
                .bytes(it)
                .into_iter()
                .filter(|access| access.space == MemorySpace::Hbm);
            accesses.fold(0_u64, |sum, access| sum.saturating_add(access.bytes))
        };
        [flops.map_or(0, |flops| flops.all), bytes]
    }
}

/// Devices among which the compiler is yet to divide the program.
fn devices_together(module: &HloModule) -> Option<u64> {
    let devices = module.devices.as_ref()?.partitions;
    (devices > 1 && module.is_unpartitioned()).then_some(devices)
}

/// Whether an instruction only names values, or is the work of others.
fn moves_nothing(opcode: &str) -> bool {
    let words = [
        "parameter",
        "constant",
        "tuple",
        "get-tuple-element",
        "bitcast",
        "while",
        "call",
        "conditional",
        "opt-barrier",
        "after-all",
        // What it starts is an instruction of its own.
        "async-start",
        "async-update",
    ];
    words.contains(&opcode) || opcode.ends_with("-done")
}

/// `bf16 × bf16 → f32`.
fn types(module: &HloModule, it: &Instruction) -> String {
    let of = |it: &Instruction| it.arrays().first().map_or("?", |array| array.dtype);
    let mut operands: Vec<&str> = module.operands(it).take(2).map(of).collect();
    // Values from outside of a region are not known.
    operands.resize(2, "?");
    format!("{} → {}", operands.join(" × "), of(it))
}
