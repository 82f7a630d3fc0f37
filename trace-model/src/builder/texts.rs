//! Texts, programs, ops and labels.

use super::TraceBuilder;
use crate::op::{Label, LabelId, Op, OpId, Program, ProgramBytes, ProgramId};
use crate::strings::StringId;

impl TraceBuilder {
    /// Interns a string.
    pub fn intern(&mut self, text: &str) -> StringId {
        self.strings.intern(text)
    }

    /// The id of a text that was interned before.
    pub fn known(&self, text: &str) -> Option<StringId> {
        self.strings.find(text)
    }

    /// The string of an id.
    pub fn str(&self, id: StringId) -> &str {
        self.strings.get(id)
    }

    /// The program `name` with this id, adding it when new.
    pub fn program(&mut self, name: &str, id: Option<u64>) -> ProgramId {
        let name = self.strings.intern(name);
        *self.program_index.entry((name, id)).or_insert_with(|| {
            self.programs.push(Program {
                name,
                id,
                hlo: None,
            });
            ProgramId((self.programs.len() - 1) as u32)
        })
    }

    /// Stores the HLO of a program, serialized or as text. A second call for the same program has no effect.
    pub fn set_program_hlo(&mut self, program: ProgramId, hlo: ProgramBytes) {
        self.programs[program.index()].hlo.get_or_insert(hlo);
    }

    /// Programs added so far.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// The op with this name and program, adding it if it is new; facts that are still missing are filled in.
    pub fn op(&mut self, op: Op) -> OpId {
        match self.op_index.entry((op.program, op.name)) {
            hashbrown::hash_map::Entry::Occupied(entry) => {
                self.ops[entry.get().index()].fill_from(&op);
                *entry.get()
            }
            hashbrown::hash_map::Entry::Vacant(entry) => {
                self.ops.push(op);
                *entry.insert(OpId((self.ops.len() - 1) as u32))
            }
        }
    }

    /// The op with this name and program, if it was added.
    pub fn find_op(&self, program: Option<ProgramId>, name: StringId) -> Option<OpId> {
        self.op_index.get(&(program, name)).copied()
    }

    /// All ops added so far.
    pub fn ops(&self) -> impl Iterator<Item = (OpId, &Op)> {
        self.ops
            .iter()
            .enumerate()
            .map(|(index, op)| (OpId(index as u32), op))
    }

    /// An op added before.
    pub fn op_ref(&self, op: OpId) -> &Op {
        &self.ops[op.index()]
    }

    /// The label with this name and op, adding it when new.
    pub fn label(&mut self, name: &str, op: Option<OpId>) -> LabelId {
        let name = self.strings.intern(name);
        self.label_of(Label { name, op })
    }

    /// The id of a label, adding it when new.
    pub fn label_of(&mut self, label: Label) -> LabelId {
        *self.label_index.entry(label).or_insert_with(|| {
            self.labels.push(label);
            LabelId((self.labels.len() - 1) as u32)
        })
    }

    /// The name of a label added before.
    pub fn label_name(&self, label: LabelId) -> &str {
        self.str(self.label_ref(label).name)
    }

    /// A label added before.
    pub fn label_ref(&self, label: LabelId) -> Label {
        self.labels[label.index()]
    }
}
