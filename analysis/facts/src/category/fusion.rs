//! Classifies fusions of kind "custom", whose category describes how they are compiled and not what they compute.
//!
//! The computation that such a fusion calls shows what it does, if the capture contains the program: half of an
//! asynchronous collective, a gather or scatter, a product of matrices, or a kernel that XLA did not write.

use std::collections::HashMap;

use engine::prelude::*;
use hardware::ici::CollectiveKind;
use hlo::{ComputationId, HloModule, Instruction};

use super::class::{AsyncRole, OpClass, OpFlags, OpGroup, group_of, split_role};

/// Category of these fusions.
pub(super) const CUSTOM: &str = "custom fusion";

/// Maximum number of computations to inspect for one op; nested fusions are rare.
const MAX_COMPUTATIONS: usize = 64;

/// Whether a name of the framework (`jit(f)/embed/gather[…]:`) ends in an op that only moves data.
pub(super) fn moves_data(framework: &str) -> bool {
    // Parameters follow in brackets, the type after a colon.
    let path = framework.split(['[', ':']).next().unwrap_or(framework);
    let last = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let moves = [
        "gather",
        "scatter",
        "dynamic_slice",
        "dynamic_update_slice",
        "dynamic-slice",
        "dynamic-update-slice",
    ];
    moves.iter().any(|name| last.starts_with(name))
}

/// Classifies fusions by the computations that they call, if names and HLO text do not decide.
pub(super) fn look_inside(
    model: &TraceModel,
    classes: &mut [(OpClass, String)],
    hlo: impl Fn(ProgramId) -> Option<Arc<HloModule>>,
) {
    let mut undecided: BTreeMap<ProgramId, Vec<usize>> = BTreeMap::new();
    for (index, (op, (class, category))) in model.ops().iter().zip(classes.iter()).enumerate() {
        let is_opaque = category == CUSTOM && class.group == OpGroup::Other;
        if let Some(program) = op
            .program
            .filter(|_| is_opaque || class.collective == Some(CollectiveKind::Unknown))
        {
            undecided.entry(program).or_default().push(index);
        }
    }
    for (program, indices) in undecided {
        let Some(module) = hlo(program) else { continue };
        for index in indices {
            let name = model
                .ops()
                .get(index)
                .map(|op| model.str(op.name))
                .unwrap_or_default();
            let called = module
                .find(name)
                .and_then(|id| module.body(module.instruction(id)?));
            let Some((called, (class, _))) = called.zip(classes.get_mut(index)) else {
                continue;
            };
            FusionBody::of(&module, called).decide(class);
        }
    }
}

/// The kinds of instructions in a computation.
#[derive(Default)]
struct FusionBody {
    collective: Option<CollectiveKind>,
    starts: bool,
    ends: bool,
    /// The group of its most characteristic instruction.
    group: OpGroup,
}

impl FusionBody {
    /// What a computation does, and all that it calls.
    fn of(module: &HloModule, computation: ComputationId) -> Self {
        let mut out = Self::default();
        let mut seen = BTreeSet::new();
        let mut left = vec![(computation, None)];
        while let Some((computation, around)) = left.pop() {
            if seen.len() >= MAX_COMPUTATIONS || !seen.insert(computation) {
                continue;
            }
            for instruction in module.instructions_of(computation) {
                let (base, role) = split_role(&instruction.opcode);
                out.add(instruction, base, role.or(around));
                let role = if base == "async" { role } else { around };
                left.extend(module.body(instruction).map(|body| (body, role)));
            }
        }
        out
    }

    /// Adds an instruction by its opcode without suffix; `role` is its own, or that of the
    /// asynchronous wrapper around it.
    fn add(&mut self, instruction: &Instruction, base: &str, role: Option<AsyncRole>) {
        if let Some(kind) =
            CollectiveKind::from_opcode(base).filter(|_| !instruction.attributes().is_host_transfer)
        {
            self.collective = Some(kind);
            // Without a suffix it is synchronous, except `send` and `recv`.
            self.starts |= role != Some(AsyncRole::Done);
            self.ends |= role.is_none() || role == Some(AsyncRole::Done);
        }
        // Elementwise instructions surround the instruction that characterizes the fusion.
        let rank = |group| match group {
            OpGroup::CustomKernel => 3,
            OpGroup::MatMul => 2,
            OpGroup::DataMovement => 1,
            _ => 0,
        };
        let group = match base {
            // Most computations contain these, and every gather does.
            "broadcast" | "bitcast" | "reshape" | "copy" | "transpose" | "slice" | "pad"
            | "concatenate" => OpGroup::Other,
            _ => group_of(base),
        };
        if rank(group) > rank(self.group) {
            self.group = group;
        }
    }

    fn decide(&self, class: &mut OpClass) {
        if let Some(kind) = self.collective {
            class.role = class.role.or(match (self.starts, self.ends) {
                // A fusion with other work is more than one half of a collective, even if its other half is
                // elsewhere.
                _ if class.is_fused_collective() => None,
                (true, false) => Some(AsyncRole::Start),
                (false, true) => Some(AsyncRole::Done),
                _ => None,
            });
            class.collective = Some(kind);
            class.group = OpGroup::Collective;
            class
                .traits
                .set(OpFlags::FUSED_COLLECTIVE, class.role.is_none());
        } else if class.collective.is_none() {
            class.group = self.group;
        }
    }
}

/// Gives halves of asynchronous collectives with an unknown pattern the pattern of their other half.
pub(super) fn pair_up(model: &TraceModel, classes: &mut [(OpClass, String)]) {
    let is_half = |class: &OpClass| class.is_collective() && class.role.is_some();
    let unknown =
        |class: &OpClass| is_half(class) && class.collective == Some(CollectiveKind::Unknown);
    if !classes.iter().any(|(class, _)| unknown(class)) {
        return;
    }
    let ops = || {
        model
            .ops()
            .iter()
            .map(|op| (op.program, model.str(op.name)))
    };
    let halves = ops()
        .zip(classes.iter())
        .filter(|(_, (class, _))| is_half(class) && !unknown(class));
    let known: HashMap<_, _> = halves
        .map(|(key, (class, _))| (key, class.collective))
        .collect();
    for ((program, name), (class, _)) in ops()
        .zip(classes.iter_mut())
        .filter(|(_, (class, _))| unknown(class))
    {
        let (from, to) = if class.is_done() {
            ("done", "start")
        } else {
            ("start", "done")
        };
        if let Some(&kind) = known.get(&(program, name.replacen(from, to, 1).as_str())) {
            class.collective = kind;
        }
    }
}

#[cfg(test)]
mod tests {
    use trace_model::{Op, ProgramBytes, TraceBuilder};

    use super::*;
    use crate::category::OpClasses;

    /// Gathers, scatters, a kernel fused with its input, and two halves of an all-reduce.
    const PROGRAM: &str = r#"HloModule jit_f, is_scheduled=true

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

%fused_computation.1 (p: f32[64,8], i: s32[4,1]) -> f32[4,8] {
  %p = f32[64,8]{1,0} parameter(0)
  %i = s32[4,1]{1,0} parameter(1)
  ROOT %g = f32[4,8]{1,0} gather(%p, %i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
}

%fused_computation.2 (p.2: f32[64,8]) -> f32[64,8] {
  %p.2 = f32[64,8]{1,0} parameter(0)
  %scaled = f32[64,8]{1,0} negate(%p.2)
  ROOT %k = f32[64,8]{1,0} custom-call(%scaled), custom_call_target="tpu_custom_call"
}

%fused_computation.3 (p.3: f32[64,8]) -> f32[64,8] {
  %p.3 = f32[64,8]{1,0} parameter(0)
  ROOT %ar = f32[64,8]{1,0} all-reduce-start(%p.3), replica_groups={{0,1}}, to_apply=%add
}

%fused_computation.4 (p.4: f32[64,8]) -> f32[64,8] {
  %p.4 = f32[64,8]{1,0} parameter(0)
  ROOT %n = f32[64,8]{1,0} negate(%p.4)
}

ENTRY %main (x: f32[64,8], i.5: s32[4,1]) -> f32[64,8] {
  %x = f32[64,8]{1,0} parameter(0)
  %i.5 = s32[4,1]{1,0} parameter(1)
  %fusion.1 = f32[4,8]{1,0} fusion(%x, %i.5), kind=kCustom, calls=%fused_computation.1
  %fusion.2 = f32[64,8]{1,0} fusion(%x), kind=kCustom, calls=%fused_computation.2
  %fusion.4 = f32[64,8]{1,0} fusion(%x), kind=kCustom, calls=%fused_computation.4
  %async-collective-start.7 = f32[64,8]{1,0} fusion(%x), kind=kCustom, calls=%fused_computation.3
  ROOT %async-collective-done.7 = f32[64,8]{1,0} fusion(%async-collective-start.7), kind=kCustom, calls=%fused_computation.4
}
"#;

    fn classes(names: &[(&str, &str)], with_program: bool) -> Vec<OpClass> {
        let mut builder = TraceBuilder::new();
        let program = builder.program("jit_f", Some(1));
        if with_program {
            builder.set_program_hlo(
                program,
                ProgramBytes::new(Arc::new(PROGRAM), 0..PROGRAM.len()),
            );
        }
        for &(name, framework) in names {
            let (name, category) = (builder.intern(name), Some(builder.intern(CUSTOM)));
            let framework_name = Some(builder.intern(framework));
            builder.op(Op {
                name,
                category,
                framework_name,
                program: Some(program),
                ..Op::default()
            });
        }
        let classes = OpClasses::new(&builder.finish());
        classes.classes
    }

    #[test]
    fn custom_fusion_is_classified_by_its_called_computation() {
        use OpGroup::{Collective, CustomKernel, DataMovement, Other};
        let names = [
            "fusion.1",
            "fusion.2",
            "fusion.4",
            "async-collective-start.7",
            "async-collective-done.7",
        ];
        let found = classes(&names.map(|name| (name, "")), true);
        let groups: Vec<OpGroup> = found.iter().map(|class| class.group).collect();
        assert_eq!(
            groups,
            [DataMovement, CustomKernel, Other, Collective, Collective]
        );
        // The computation of the done op has no pattern; that of its start has one.
        for (class, role) in found[3..].iter().zip([AsyncRole::Start, AsyncRole::Done]) {
            assert_eq!(
                (class.collective, class.role),
                (Some(CollectiveKind::AllReduce), Some(role))
            );
        }
    }

    #[test]
    fn custom_fusion_without_its_program_is_not_a_kernel() {
        let gather = "jit(f)/embed/gather[dimension_numbers=G(a=(1,), b=c/d)]:";
        let names = [
            ("fusion.1", gather),
            ("fusion.2", "jit(f)/scatter-add:"),
            ("fusion.3", "jit(gather)/mul:"),
        ];
        let found = classes(&names, false);
        let groups: Vec<OpGroup> = found.iter().map(|class| class.group).collect();
        assert_eq!(
            groups,
            [OpGroup::DataMovement, OpGroup::DataMovement, OpGroup::Other]
        );
    }
}
