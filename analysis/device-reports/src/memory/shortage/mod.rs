//! Why a program does not fit into memory: what it needs, by kind and source line, what of that is padding, and the changes
//! that would make it fit.
//!
//! ```text
//! message of the compiler or the runtime ─► message ─┐
//! buffer assignment (the report `buffers`) ─► plan ──┼─► MemoryShortage ─► fixes
//! schedule of a program without one ────────► live ──┘
//! ```

mod finish;
mod fixes;
mod live;
mod message;
mod need;
mod plan;
mod size;
mod text;

pub use message::MessageReader;
pub use need::{MemoryFix, MemoryShortage, NeededBuffer, NeededKind, NeededSource};
pub use size::binary;

use facts::prelude::*;

use super::buffers::{Buffers, capacity};

/// Programs without a plan that are looked at: those whose HLO is largest.
const MOST_PROGRAMS: usize = 8;
/// Programs whose instructions are missing and that are named.
const NAMED: usize = 3;

/// What the program with the largest need keeps in memory, and what would free some of it.
#[derive(Debug)]
pub struct MemoryNeed;

impl Analysis for MemoryNeed {
    type Report = MemoryShortage;
    const ID: &str = "memory_need";
    const TITLE: &str = "Needed memory";

    fn run(cx: &Context<'_>) -> Result<MemoryShortage> {
        // A program needs the same whenever it runs.
        let cx = cx.whole();
        let mut need = largest_need(&cx)?;
        need.unknown.extend(missing_programs(&cx));
        Ok(need)
    }
}

/// Programs without instructions, which may need more.
fn missing_programs(cx: &Context<'_>) -> Option<String> {
    let missing = cx
        .model
        .program_ids()
        .filter(|&id| cx.model.program(id).hlo.is_none());
    let names: Vec<String> = missing.map(|id| cx.model.program_title(id)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "what {} {}: the capture does not hold {} instructions",
            engine::listed_to(&names, NAMED),
            if names.len() == 1 { "needs" } else { "need" },
            if names.len() == 1 { "its" } else { "their" },
        )
    })
}

fn largest_need(cx: &Context<'_>) -> Result<MemoryShortage> {
    let why = |why: &str| AnalysisError::NotApplicable(why.to_owned());
    let no_plan = match cx.report::<Buffers>() {
        Ok(report) => {
            return plan::of_program(&report).ok_or_else(|| why("no program plans to use HBM"));
        }
        Err(error) => error,
    };
    let there = capacity(cx).map(|capacity| capacity.bytes);
    let mut programs: Vec<_> = cx.model.program_ids().collect();
    let size = |id| {
        let hlo = cx.model.program(id).hlo.as_ref();
        Reverse(hlo.map_or(0, |hlo| hlo.bytes().len()))
    };
    programs.sort_by_key(|&id| size(id));
    let needs = programs.into_iter().take(MOST_PROGRAMS).filter_map(|id| {
        let module = cx.hlo(id).ok()?;
        Some(live::of_schedule(
            &module,
            &cx.model.program_title(id),
            there,
        ))
    });
    let (known, wrong): (Vec<_>, Vec<_>) = needs.partition(Result::is_ok);
    let largest = known
        .into_iter()
        .flatten()
        .max_by_key(|need| need.needed_bytes);
    largest.ok_or_else(|| match wrong.into_iter().find_map(Result::err) {
        Some(error) => why(&format!("it holds no plan of its memory, and {error}")),
        None => no_plan,
    })
}
