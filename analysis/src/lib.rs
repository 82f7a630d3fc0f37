//! From the common timeline model to numbers with provenance.
//!
//! Every question is one [`Analysis`] in the list [`ANALYSES`]; its answer is a plain struct that serialises and shows
//! itself as tables. A number that cannot be known is `None`, never 0; every percentage says of what.
//!
//! The modules are crates below this one. They build on each other from the bottom of this list to its top:
//!
//! | module | what it holds |
//! |---|---|
//! | [`registry`] | the list of analyses |
//! | [`hints`], [`gates`], [`expect`], [`compare`], [`what_if`] | advice and judgement, on top of reports |
//! | [`reports`] | one module for each question |
//! | [`facts`] | what several reports need to know of a trace |
//! | [`engine`] | what an analysis is: context, cache, scope, options, report, table |
//! | [`hlo`] | programs of the compiler and their instructions |
//! | [`hardware`] | chips, links between them, limits |
//! | [`math`] | intervals, statistics, tests of significance |

#![warn(missing_docs)]

pub mod registry;
pub mod reports;

pub use advice::{critical_path, hints, what_if};
pub use comparison::{compare, expect, gates, kernels};
pub use {engine, facts, hardware, hlo, math};

pub use engine::{
    Analysis, AnalysisEntry, AnalysisError, Cell, CellKind, CellType, Column, Context, Environment,
    Fact, HintOptions, LowerBound, Metric, Options, Percent, Provenance, Report, ReportCache,
    ReportCost, Scope, ServingPattern, Suppression, Table, Tabular, Threshold, beginning,
    capitalised, counted, distinct, entry, glob, is_printable, json_text, number, printable,
    sentence, shortened, shortened_path, turns_text,
};
pub use facts::{
    AsyncRole, CollectiveKind, OpClass, OpClasses, OpGroup, TimeWindow, TraceFacts, measured_range,
};
pub use math::unit::Unit;
pub use registry::{ANALYSES, host_event_use};
