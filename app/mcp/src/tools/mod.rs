//! The tools: one type each, with its input and what it does.

mod ask;
mod call;
mod capture;
mod events;
mod expect;
mod hlo;
mod open;
mod picture;
mod prelude;
mod reports;
mod runs;
mod schema;

pub use call::{Call, ToolEntry, ToolOutput};

use call::entry;

/// The tool that asks other machines and writes files, offered only on demand.
pub static CAPTURE: &[ToolEntry] = &[entry::<capture::CaptureTool>()];

pub static TOOLS: &[ToolEntry] = &[
    entry::<open::Open>(),
    entry::<reports::VerdictTool>(),
    entry::<reports::HintsTool>(),
    entry::<reports::ExplainTool>(),
    entry::<reports::ReportTool>(),
    entry::<reports::OpsTool>(),
    entry::<reports::StepsTool>(),
    entry::<events::EventsTool>(),
    entry::<hlo::HloTool>(),
    entry::<expect::ExpectTool>(),
    entry::<runs::CompareTool>(),
    entry::<runs::WhatIfTool>(),
    entry::<ask::QueryTool>(),
    entry::<reports::DoctorTool>(),
    entry::<picture::RenderTool>(),
];
