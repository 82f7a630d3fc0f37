//! Converts blocks of costs to tracks.

use importer_common::csv_table::KeptArgs;
use importer_common::names::TakenNames;
use importer_common::prelude::*;
use importer_common::simulated::{add_fact, label_of_op, op_with_costs, track_at};

use super::program::{CostBlock, CostedDevice, CostedProgram, OpCost};

/// Maximum number of op executions that are drawn one by one.
const MAX_DRAWN: u64 = 20_000;
/// The latest time on the timeline.
const MAX_PS: i64 = i64::MAX / 2;

struct OpCostTimeline<'a> {
    out: &'a mut TraceBuilder,
    programs: TrackId,
    passes: TrackId,
    ops: TrackId,
    parts: Vec<TrackId>,
    args: KeptArgs,
    now: i64,
    drawn: u64,
}

/// An op that is drawn repeatedly.
struct PlacedBlock<'a> {
    label: LabelId,
    cost: &'a OpCost,
    args: u64,
}

/// Makes a device that runs the programs one after the other.
pub(super) fn write(programs: Vec<CostedProgram>, device: CostedDevice, out: &mut TraceBuilder) {
    let core = out.group(None, GroupKind::TensorCore { ordinal: 0 }, "chip 0 (model)");
    out.set_device(core, device.info);
    for (name, value) in device.facts {
        add_fact(core, &name, value, out);
    }
    let mut next = 0;
    let mut track = |kind, name: &str| {
        next += 1;
        track_at(next, core, kind, name, out)
    };
    let (run, ops) = (
        track(TrackKind::Modules, "Programs"),
        track(TrackKind::Ops, "Ops"),
    );
    let parts = device
        .parts
        .iter()
        .map(|part| track(TrackKind::Derived, &format!("{part} (model, not schedule)")));
    let parts = parts.collect();
    let passes = track(TrackKind::Derived, "Passes");
    let mut writer = OpCostTimeline {
        out,
        programs: run,
        passes,
        ops,
        parts,
        args: KeptArgs::default(),
        now: 0,
        drawn: 0,
    };
    for mut program in programs {
        tell_apart(&mut program);
        writer.program(&program);
    }
    let OpCostTimeline { out, args, .. } = writer;
    let args = out.add_arg_source(Arc::new(args));
    out.set_arg_source(ops, args);
}

/// Makes op names unique, because ops with the same name in one program would become one op. Uses
/// descriptions if they are unique, otherwise names, with numbers if those are not unique either.
fn tell_apart(program: &mut CostedProgram) {
    let costs = || program.blocks.iter().flat_map(|block| &block.costs);
    let mut described: BTreeMap<String, u32> = BTreeMap::new();
    for cost in costs() {
        *described.entry(readable(cost)).or_default() += 1;
    }
    let mut taken = TakenNames::default();
    for (number, cost) in program
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.costs)
        .enumerate()
    {
        let text = readable(cost);
        if !text.is_empty() && described.get(&text) == Some(&1) {
            std::mem::swap(&mut cost.name, &mut cost.description);
            cost.name = text;
        }
        cost.name = taken.distinct(std::mem::take(&mut cost.name), "row", number as u64 + 1);
    }
}

/// A description such as `-Q-4` without the surrounding signs.
fn readable(cost: &OpCost) -> String {
    cost.description.trim_matches('-').to_owned()
}

impl OpCostTimeline<'_> {
    fn program(&mut self, program: &CostedProgram) {
        let begin = self.now;
        let id = self.out.program(&program.name, None);
        for block in &program.blocks {
            if !self.block(block, id) {
                break;
            }
        }
        self.since(self.programs, &program.name, begin);
    }

    /// Draws a block; `false` if it does not fit on the timeline.
    fn block(&mut self, block: &CostBlock, program: ProgramId) -> bool {
        let one: i64 = block
            .costs
            .iter()
            .fold(0, |sum, cost| sum.saturating_add(cost.time_ps));
        let all = i64::try_from(block.passes)
            .ok()
            .and_then(|passes| one.checked_mul(passes));
        if all
            .and_then(|all| self.now.checked_add(all))
            .is_none_or(|end| end > MAX_PS)
        {
            let passes = block.passes;
            self.out.log(IssueKind::BeyondTimeline, || {
                format!("{passes} passes of {one} ps")
            });
            return false;
        }
        let ops: Vec<PlacedBlock<'_>> = block
            .costs
            .iter()
            .map(|cost| self.op(cost, program, ""))
            .collect();
        let executions = block.passes.saturating_mul(block.costs.len() as u64);
        if self.drawn.saturating_add(executions) <= MAX_DRAWN || block.passes <= 3 {
            self.drawn += executions;
            for pass in 1..=block.passes {
                self.pass(&ops, &format!("pass {pass} of {}", block.passes));
            }
            return true;
        }
        let between = block.passes - 2;
        let sums: Vec<OpCost> = block
            .costs
            .iter()
            .map(|cost| times(cost, between))
            .collect();
        let folded: Vec<PlacedBlock<'_>> = sums
            .iter()
            .map(|cost| self.op(cost, program, &format!(" ×{between}")))
            .collect();
        self.drawn += 3 * block.costs.len() as u64;
        self.pass(&ops, &format!("pass 1 of {}", block.passes));
        self.fold(&folded, between, program);
        self.pass(&ops, &format!("pass {} of {}", block.passes, block.passes));
        true
    }

    fn pass(&mut self, ops: &[PlacedBlock<'_>], name: &str) {
        let begin = self.now;
        for op in ops {
            self.slice(self.ops, op.label, self.now, op.cost.time_ps, Some(op.args));
            for (index, &part) in op
                .cost
                .parts_ps
                .iter()
                .enumerate()
                .filter(|(_, part)| **part > 0)
            {
                if let Some(&track) = self.parts.get(index) {
                    self.slice(track, op.label, self.now, part, None);
                }
            }
            self.now = self.now.saturating_add(op.cost.time_ps);
        }
        self.since(self.passes, name, begin);
    }

    /// Draws the sums of the passes that are not drawn one by one, inside a slice whose name states this.
    fn fold(&mut self, ops: &[PlacedBlock<'_>], passes: u64, program: ProgramId) {
        let name = format!("×{passes} (sums of {passes} passes, not their order)");
        let op = Op {
            program: Some(program),
            ..Op::default()
        };
        let label = label_of_op(&name, Some("while"), op, self.out);
        let whole = ops.iter().map(|op| op.cost.time_ps).sum::<Picos>().ps();
        self.slice(self.ops, label, self.now, whole, None);
        self.pass(ops, &name);
    }

    fn since(&mut self, track: TrackId, name: &str, begin: i64) {
        let label = self.out.label(name, None);
        let length = self.now.saturating_sub(begin);
        self.slice(track, label, begin, length, None);
    }

    fn slice(&mut self, track: TrackId, label: LabelId, start: i64, dur: i64, args: Option<u64>) {
        let range = TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(dur));
        self.out.add_slice(
            track,
            SliceSpec {
                args,
                ..SliceSpec::new(range, label)
            },
        );
    }

    fn op<'a>(&mut self, cost: &'a OpCost, program: ProgramId, suffix: &str) -> PlacedBlock<'a> {
        let name = format!("{}{suffix}", cost.name);
        let op = Op {
            program: Some(program),
            hlo_text: cost.hlo_text.as_ref().map(|text| self.out.intern(text)),
            framework_name: (!cost.description.is_empty())
                .then(|| self.out.intern(&cost.description)),
            ..op_with_costs(cost.flops, cost.hbm_bytes)
        };
        let label = label_of_op(&name, Some(cost.category), op, self.out);
        let args = self.args.keep(vec![cost.args.clone()], Vec::new());
        PlacedBlock { label, cost, args }
    }
}

/// One op with the work of many executions. It has no HLO text, because that has the sizes of one execution.
fn times(cost: &OpCost, executions: u64) -> OpCost {
    let scaled = |amount: Option<u64>| amount.and_then(|amount| amount.checked_mul(executions));
    let longer = |time: i64| time.saturating_mul(i64::try_from(executions).unwrap_or(i64::MAX));
    OpCost {
        time_ps: longer(cost.time_ps),
        parts_ps: cost.parts_ps.iter().copied().map(longer).collect(),
        flops: scaled(cost.flops),
        hbm_bytes: scaled(cost.hbm_bytes),
        hlo_text: None,
        ..cost.clone()
    }
}
