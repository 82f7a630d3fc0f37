//! The table of distinct ops with the compiler's data about them.

use std::borrow::Cow;
use std::sync::Arc;

use analysis::{OpClasses, Provenance, Scope, TraceFacts as _, Unit};
use trace_model::{Op, OpId, StringId, TraceModel};

use super::data::{DataTable, DataTableBuilder, Field};
use crate::open::Session;

struct InstructionRows {
    model: TraceModel,
    classes: Arc<OpClasses>,
    ids: Vec<OpId>,
}

impl InstructionRows {
    fn op(&self, row: usize) -> Option<&Op> {
        self.model.ops().get(row)
    }
    fn text(&self, row: usize, of: impl Fn(&Op) -> Option<StringId>) -> Option<Cow<'_, str>> {
        of(self.op(row)?).map(|id| Cow::Borrowed(self.model.str(id)))
    }
    fn number(&self, row: usize, of: impl Fn(&Op) -> Option<u64>) -> Option<i64> {
        of(self.op(row)?).and_then(|value| i64::try_from(value).ok())
    }
}

/// The table of instructions of a session.
pub(super) fn table(session: &Session) -> DataTable {
    let model = session.model();
    let classes = Arc::clone(session.context(Scope::WholeTrace).classes());
    let rows = InstructionRows {
        model: model.clone(),
        classes,
        ids: model.op_ids().collect(),
    };
    let about = "One row per instruction of a compiled program, with the compiler's estimates of one execution.";
    let table = DataTable::of("instructions", about, model.ops().len(), Arc::new(rows))
        .id(
            "op_id",
            "number of the instruction in this trace",
            Field::Int(|_, row| Some(row as i64)),
        )
        .id(
            "name",
            "name in its program",
            Field::Text(|all, row| all.text(row, |op| Some(op.name))),
        )
        .id(
            "program",
            "its program",
            Field::Text(|all, row| {
                Some(Cow::Owned(all.model.program_title(all.op(row)?.program?)))
            }),
        )
        .fact(
            "category",
            "kind of work",
            Unit::None,
            Provenance::Inferred,
            Field::Text(|all, row| {
                Some(Cow::Borrowed(
                    all.classes.class(*all.ids.get(row)?).group.title(),
                ))
            }),
        )
        .fact(
            "hlo_category",
            "recorded category, otherwise derived from its text",
            Unit::None,
            Provenance::Profile,
            Field::Text(|all, row| Some(Cow::Borrowed(all.classes.category(*all.ids.get(row)?)))),
        );
    texts(costs(table)).numbered().build()
}

fn costs(table: DataTableBuilder<InstructionRows>) -> DataTableBuilder<InstructionRows> {
    let cost = Provenance::StaticCost;
    table
        .fact(
            "flops",
            "operations, scaled to the chip's bf16 rate",
            Unit::Flop,
            cost,
            Field::Int(|all, row| all.number(row, |op| op.flops)),
        )
        .fact(
            "model_flops",
            "operations of the algorithm",
            Unit::Flop,
            cost,
            Field::Int(|all, row| all.number(row, |op| op.model_flops)),
        )
        .fact(
            "bytes_accessed",
            "bytes to and from all memories",
            Unit::Bytes,
            cost,
            Field::Int(|all, row| all.number(row, |op| op.bytes_accessed)),
        )
}

fn texts(table: DataTableBuilder<InstructionRows>) -> DataTableBuilder<InstructionRows> {
    table
        .id(
            "shape",
            "shape of the result",
            Field::Text(|all, row| all.text(row, |op| op.shape)),
        )
        .id(
            "framework_name",
            "where the framework made it",
            Field::Text(|all, row| all.text(row, |op| op.framework_name)),
        )
        .id(
            "source",
            "file and line of the program",
            Field::Text(|all, row| all.text(row, |op| op.source)),
        )
        .id(
            "hlo_text",
            "the instruction as HLO text",
            Field::Text(|all, row| all.text(row, |op| op.hlo_text)),
        )
}
