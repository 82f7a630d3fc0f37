//! Instructions of all programs by opcode, shape, source, framework name or groups of devices.

use facts::ARE_SUMS;
use facts::prelude::*;
use hlo::Instruction;

use super::{HloOp, TimedProgram, line};

/// Words that an instruction must all contain, in any case of letters; `field:word` looks into one field.
#[derive(Debug, Default)]
pub struct HloQuery {
    words: Vec<(Option<QueryField>, String)>,
}

/// What a word is looked for in.
#[derive(Clone, Copy, Debug)]
enum QueryField {
    Name,
    Opcode,
    Shape,
    Source,
    Framework,
    Groups,
}

impl QueryField {
    const ALL: [(&'static str, Self); 6] = [
        ("name", Self::Name),
        ("opcode", Self::Opcode),
        ("shape", Self::Shape),
        ("source", Self::Source),
        ("op_name", Self::Framework),
        ("groups", Self::Groups),
    ];
}

impl HloQuery {
    /// Reads `opcode:fusion train.py shape:bf16[8,`. Words without a known field are looked for in all of them but the
    /// groups.
    pub fn parse(text: &str) -> Self {
        let word = |word: &str| {
            let known = word.split_once(':').and_then(|(name, rest)| {
                let (_, field) = QueryField::ALL
                    .into_iter()
                    .find(|(known, _)| *known == name)?;
                Some((Some(field), rest.to_lowercase()))
            });
            known.unwrap_or_else(|| (None, word.to_lowercase()))
        };
        Self {
            words: text.split_whitespace().map(word).collect(),
        }
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether an instruction has all words.
    fn fits(&self, op: &HloOp, instruction: &Instruction) -> bool {
        self.words.iter().all(|(field, word)| match field {
            Some(QueryField::Groups) => {
                line::groups(instruction).is_some_and(|groups| groups.contains(word.as_str()))
            }
            Some(field) => has(op, *field, word),
            None => QueryField::ALL
                .into_iter()
                .any(|(_, field)| has(op, field, word)),
        })
    }
}

fn has(op: &HloOp, field: QueryField, word: &str) -> bool {
    let text = match field {
        QueryField::Name => Some(&*op.name),
        QueryField::Opcode => Some(&*op.opcode),
        QueryField::Shape => op.shape.as_deref(),
        QueryField::Source => op.source.as_deref(),
        QueryField::Framework => op.framework_name.as_deref(),
        QueryField::Groups => None,
    };
    text.is_some_and(|text| text.to_lowercase().contains(word))
}

/// What was found.
#[engine::reported]
pub struct FoundInstructions {
    /// Instructions with most self time first, then by program and name.
    pub rows: Vec<FoundInstruction>,
    /// Programs of which the capture holds nothing that could be searched, or only a part.
    pub unread: Vec<String>,
}

/// An instruction that was found.
#[engine::row(recorded)]
pub struct FoundInstruction {
    /// Program that contains it.
    #[column]
    pub program: String,
    /// That program in the trace.
    #[serde(skip)]
    pub program_id: ProgramId,
    /// What is known of it.
    #[serde(flatten)]
    #[column(nested)]
    pub op: HloOp,
}

/// Searches some programs.
pub fn find(cx: &Context<'_>, programs: &[ProgramId], query: &HloQuery) -> FoundInstructions {
    let mut rows = Vec::new();
    let mut unread = Vec::new();
    for &id in programs {
        let program = match TimedProgram::of(cx, id) {
            Ok(program) => program,
            Err(error) => {
                unread.push(error.to_string());
                continue;
            }
        };
        unread.extend(
            program
                .notes
                .iter()
                .filter(|_| program.module.cut.is_some())
                .cloned(),
        );
        for (_, instruction) in program.module.iter() {
            let op = program.op(instruction);
            if query.fits(&op, instruction) {
                rows.push(FoundInstruction {
                    program: program.title.clone(),
                    program_id: id,
                    op,
                });
            }
        }
    }
    rows.sort_by(|a, b| {
        let names = || (&a.program, &a.op.name).cmp(&(&b.program, &b.op.name));
        b.op.self_time_ps.cmp(&a.op.self_time_ps).then_with(names)
    });
    FoundInstructions { rows, unread }
}

impl Tabular for FoundInstructions {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("instructions", "Instructions", &self.rows)
            .declared([
                "name",
                "self_time_ps",
                "occurrences",
                "exposed_ps",
                "opcode",
                "shape",
                "source",
                "op_name",
                "computation",
                "program",
            ])
            .note(ARE_SUMS)
            .notes(self.unread.iter().cloned());
        vec![table.build()]
    }
}
