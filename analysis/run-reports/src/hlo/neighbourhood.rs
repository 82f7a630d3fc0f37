//! The operands and users of an instruction, and what is inside it.

use std::collections::VecDeque;

use facts::ARE_SUMS;
use facts::prelude::*;
use hlo::{HloModule, InstructionId};

use super::{HloOp, ProgramOrigin, TimedProgram, line};

/// How far a neighbourhood reaches.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Steps from operand to user or back.
    pub radius: u32,
    /// At most this many instructions, and as many inside the one in the middle; those nearest.
    pub most: usize,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            radius: 2,
            most: 200,
        }
    }
}

/// How an instruction relates to the one in the middle.
#[engine::titled]
pub enum NodeRelation {
    /// It is the one in the middle.
    Center,
    /// The one in the middle depends on it.
    Operand,
    /// It depends on the one in the middle.
    User,
    /// Neither: it shares an operand or a user.
    Beside,
    /// It is in the body of the one in the middle.
    Inside,
}

/// An instruction of a neighbourhood.
#[engine::row(recorded)]
pub struct HloNode {
    /// What is known of it.
    #[serde(flatten)]
    #[column(nested)]
    pub op: HloOp,
    /// Steps from the one in the middle; of what is inside it, 0.
    #[column]
    pub distance: u32,
    /// How it relates to it.
    #[column]
    pub relation: NodeRelation,
    /// It as a line of text.
    pub text: String,
}

/// A value that goes from one instruction to another, by rows of [`Neighbourhood::nodes`].
#[engine::reported]
#[derive(Copy)]
pub struct HloEdge {
    /// Makes the value.
    pub from: usize,
    /// Uses it.
    pub to: usize,
    /// Which operand of the user it is, from 0.
    pub operand: usize,
}

/// An instruction with those around it.
#[engine::reported]
pub struct Neighbourhood {
    /// Program that contains it.
    pub program: String,
    /// That program in the trace.
    #[serde(skip)]
    pub program_id: ProgramId,
    /// Where the program was read from.
    pub known_from: ProgramOrigin,
    /// The instruction in the middle.
    pub center: String,
    /// Steps to operands and users.
    pub radius: u32,
    /// Instructions that call its computation: the fusion or loop around it.
    pub called_by: Vec<String>,
    /// Computations that it calls.
    pub calls: Vec<String>,
    /// By distance, then in the order of the program; what is inside comes last.
    pub nodes: Vec<HloNode>,
    /// Between these, by user and operand.
    pub edges: Vec<HloEdge>,
    /// Instructions within the radius that are left out because there are too many.
    pub left_out: usize,
    /// Instructions inside that are left out because there are too many.
    pub left_out_inside: usize,
    /// What to know when reading it.
    pub notes: Vec<String>,
}

/// The neighbourhood of the instruction `name` of a program.
///
/// # Errors
///
/// The capture holds nothing of the program, or it has no such instruction.
pub fn neighbourhood(
    cx: &Context<'_>,
    program: ProgramId,
    name: &str,
    reach: Reach,
) -> Result<Neighbourhood> {
    let program = TimedProgram::of(cx, program)?;
    let module = &program.module;
    let unknown =
        || AnalysisError::NotApplicable(format!("{} has no instruction {name:?}", program.title));
    let center = module
        .find(name.trim_start_matches('%'))
        .ok_or_else(unknown)?;
    let users = Users::of(module, center);
    let (around, left_out) = nearest(reach, center, |id, add| {
        users
            .operands(id)
            .iter()
            .chain(users.of_one(id))
            .for_each(|&id| add(id));
    });
    let whole = Reach {
        radius: u32::MAX,
        most: usize::MAX,
    };
    let up = nearest(whole, center, |id, add| {
        users.operands(id).iter().for_each(|&id| add(id));
    })
    .0;
    let down = nearest(whole, center, |id, add| {
        users.of_one(id).iter().for_each(|&id| add(id));
    })
    .0;
    let mut places: Vec<(InstructionId, u32, NodeRelation)> = around
        .iter()
        .map(|(&id, &distance)| {
            let relation = match id {
                id if id == center => NodeRelation::Center,
                id if up.contains_key(&id) => NodeRelation::Operand,
                id if down.contains_key(&id) => NodeRelation::User,
                _ => NodeRelation::Beside,
            };
            (id, distance, relation)
        })
        .collect();
    places.sort_by_key(|&(id, distance, _)| (distance, id));
    let body = module
        .instruction(center)
        .and_then(|it| module.computation(module.body(it)?));
    let inside = body
        .map(|body| body.instructions.clone())
        .unwrap_or_default();
    let left_out_inside = inside.len().saturating_sub(reach.most);
    let inside = module
        .iter()
        .skip(inside.start)
        .take(inside.len().min(reach.most));
    places.extend(inside.map(|(id, _)| (id, 0, NodeRelation::Inside)));
    Ok(made(
        &program,
        center,
        reach.radius,
        &places,
        (left_out, left_out_inside),
    ))
}

fn made(
    program: &TimedProgram,
    center: InstructionId,
    radius: u32,
    places: &[(InstructionId, u32, NodeRelation)],
    (left_out, left_out_inside): (usize, usize),
) -> Neighbourhood {
    let module = &program.module;
    let rows: BTreeMap<InstructionId, usize> =
        places.iter().map(|place| place.0).zip(0..).collect();
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    for (to, &(id, distance, relation)) in places.iter().enumerate() {
        let Some(instruction) = module.instruction(id) else {
            continue;
        };
        nodes.push(HloNode {
            op: program.op(instruction),
            distance,
            relation,
            text: line::text(module, instruction),
        });
        let operands = instruction.operands.iter().enumerate();
        edges.extend(operands.filter_map(|(operand, id)| {
            Some(HloEdge {
                from: *rows.get(id)?,
                to,
                operand,
            })
        }));
    }
    let center_op = module.instruction(center);
    let calls = center_op
        .into_iter()
        .flat_map(|center_op| &center_op.called)
        .filter_map(|&id| module.computation(id));
    let called_by = module
        .instructions
        .iter()
        .filter(|it| center_op.is_some_and(|center_op| it.called.contains(&center_op.computation)));
    Neighbourhood {
        program: program.title.clone(),
        program_id: program.program,
        known_from: program.origin,
        center: center_op.map_or_else(String::new, |center_op| center_op.name.to_string()),
        radius,
        called_by: called_by.map(|it| it.name.to_string()).collect(),
        calls: calls.map(|it| it.name.clone()).collect(),
        nodes,
        edges,
        left_out,
        left_out_inside,
        notes: program.notes.clone(),
    }
}

/// Who uses the values of the computation around an instruction.
struct Users<'a> {
    module: &'a HloModule,
    first: usize,
    by_value: Vec<Vec<InstructionId>>,
}

impl<'a> Users<'a> {
    fn of(module: &'a HloModule, center: InstructionId) -> Self {
        let center_op = module
            .instruction(center)
            .and_then(|it| module.computation(it.computation));
        let range = center_op
            .map(|computation| computation.instructions.clone())
            .unwrap_or_default();
        let mut users = vec![Vec::new(); range.len()];
        for (user, instruction) in module.iter().skip(range.start).take(range.len()) {
            for operand in &instruction.operands {
                let slot = operand
                    .index()
                    .checked_sub(range.start)
                    .and_then(|index| users.get_mut(index));
                if let Some(slot) = slot.filter(|slot: &&mut Vec<_>| slot.last() != Some(&user)) {
                    slot.push(user);
                }
            }
        }
        Self {
            module,
            first: range.start,
            by_value: users,
        }
    }

    fn of_one(&self, id: InstructionId) -> &[InstructionId] {
        let index = id.index().checked_sub(self.first);
        index
            .and_then(|index| self.by_value.get(index))
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    fn operands(&self, id: InstructionId) -> &[InstructionId] {
        self.module
            .instruction(id)
            .map(|it| it.operands.as_slice())
            .unwrap_or_default()
    }
}

/// What can be reached, with its distance: the nearest, in the order in which it is found; and how much is left out.
fn nearest(
    reach: Reach,
    center: InstructionId,
    next: impl Fn(InstructionId, &mut dyn FnMut(InstructionId)),
) -> (BTreeMap<InstructionId, u32>, usize) {
    let mut distances = BTreeMap::from([(center, 0)]);
    let mut kept = BTreeMap::from([(center, 0)]);
    let mut queue = VecDeque::from([(center, 0)]);
    while let Some((id, distance)) = queue.pop_front() {
        if distance >= reach.radius {
            continue;
        }
        next(id, &mut |other| {
            if let std::collections::btree_map::Entry::Vacant(slot) = distances.entry(other) {
                slot.insert(distance + 1);
                queue.push_back((other, distance + 1));
                if kept.len() < reach.most {
                    kept.insert(other, distance + 1);
                }
            }
        });
    }
    let left_out = distances.len() - kept.len();
    (kept, left_out)
}

impl Tabular for Neighbourhood {
    fn tables(&self) -> Vec<Table> {
        let title = format!(
            "{} in {}, and its surroundings up to a distance of {}",
            self.center, self.program, self.radius
        );
        let mut nodes = Table::of("neighbourhood", title, &self.nodes)
            .declared([
                "name",
                "relation",
                "distance",
                "self_time_ps",
                "self_of_op_time_percent",
                "occurrences",
                "exposed_ps",
                "opcode",
                "shape",
                "source",
            ])
            .recorded("program", "Program", Unit::None, |_| self.program.as_str())
            .note(ARE_SUMS)
            .note("of op time: self time of all ops, idle time left out")
            .notes(self.notes.clone());
        for (count, what) in [
            (self.left_out, "within the radius"),
            (self.left_out_inside, "inside"),
        ] {
            if count > 0 {
                nodes = nodes.note(format!(
                    "{count} instructions {what} are left out: --most shows more"
                ));
            }
        }
        let name = |index: usize| self.nodes.get(index).map(|node| &node.op.name);
        let edges = Table::of("edges", "Values", &self.edges)
            .recorded("from", "From", Unit::None, |edge| name(edge.from))
            .recorded("to", "To", Unit::None, |edge| name(edge.to))
            .recorded("operand", "Operand", Unit::Count, |edge| edge.operand);
        vec![nodes.build(), edges.build()]
    }
}
