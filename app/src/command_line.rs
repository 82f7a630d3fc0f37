//! The definition of the command line: the program and its commands.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

use crate::open::OpenArgs;
use cli::commands::{
    analyze, anonymize, bisect, cache, chips, compare, compile, completions, config, doctor,
    environment, events, expect, explain, fleet, formats, history, hlo, init, kernels, man, memory,
    metrics, pack, render, runs, schema, skill, summarize, watch, whatif,
};
use cli::common::{MessageArgs, help};

/// Profiler-trace analyzer and visualizer for TPUs.
#[derive(Debug, Parser)]
#[command(
    name = "systole",
    version = env!("SYSTOLE_VERSION"),
    max_term_width = 100,
    after_help = "More, with examples: systole --help, systole COMMAND --help",
    after_long_help = help::SYSTOLE
)]
pub struct Cli {
    #[command(flatten)]
    pub messages: MessageArgs,
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// What limits this program: verdict, steps, utilization, top ops, communication, compilation
    #[command(after_long_help = help::ANALYZE)]
    Analyze(analyze::AnalyzeArgs),
    /// What changed between two runs, whether it is more than noise, and where the time went
    #[command(after_long_help = help::COMPARE)]
    Compare(compare::CompareArgs),
    /// The commit or version that made a program slower: runs it at points between a fast and a slow one
    #[command(after_long_help = help::BISECT)]
    Bisect(bisect::BisectArgs),
    /// Write a commented systole.toml whose limits are those of a good run
    Init(init::InitArgs),
    /// Check a configuration file (systole.toml)
    Config(config::ConfigArgs),
    /// The metrics that gates can ask for, with unit and meaning
    Metrics(metrics::MetricsArgs),
    /// The runs recorded with `--history`, one row each
    History(history::HistoryArgs),
    /// JSON Schemas of what other programs read and write
    Schema(schema::SchemaArgs),
    /// Save what a comparison needs of a run: small JSON to commit as a baseline
    #[command(after_long_help = help::SUMMARIZE)]
    Summarize(summarize::SummarizeArgs),
    /// Data quality of a trace: what is missing, what was repaired, where memory goes
    #[command(after_long_help = help::DOCTOR)]
    Doctor(doctor::DoctorArgs),
    /// Analyze each new run of a log directory, compare it with the last good ones, keep the history
    #[command(after_long_help = help::WATCH)]
    Watch(watch::WatchArgs),
    /// What a run was built from and where it ran: versions, flags, code; or record that beside its profile
    #[command(after_long_help = help::ENVIRONMENT)]
    Environment(environment::EnvironmentArgs),
    /// How long the run would take with faster links, hidden copies or cheaper ops
    #[command(after_long_help = help::WHATIF)]
    Whatif(whatif::WhatifArgs),
    /// Events by name, category, track, time, step or length: a list, or their times in groups
    #[command(after_long_help = help::EVENTS)]
    Events(events::EventsArgs),
    /// Programs of the compiler: their text, what is around an instruction, a search, a diff
    #[command(after_long_help = help::HLO)]
    Hlo(hlo::HloArgs),
    /// Whether a program or profile is as expected: collectives, types, kernels, memory, compilation
    #[command(after_long_help = help::EXPECT)]
    Expect(expect::ExpectArgs),
    /// Custom kernels: time, declared costs, stages, units, hardware counters
    #[command(after_long_help = help::KERNELS)]
    Kernels(kernels::KernelsArgs),
    /// What was compiled in runs and logs of JAX: time by function, why, what a cache would save
    #[command(after_long_help = help::COMPILE)]
    Compile(compile::CompileArgs),
    /// Why a program does not fit into memory, and what would make it fit: from an error message, a program or a profile
    #[command(after_long_help = help::MEMORY)]
    Memory(memory::MemoryArgs),
    /// Captures of many jobs and hosts: one dataset, one report (of the Python package)
    Fleet(fleet::FleetArgs),
    /// What a hint means, how to check it and what to do
    Explain(explain::ExplainArgs),
    /// The runs of a log directory or bucket, the newest first: hosts, size, devices, steps, verdict
    Runs(runs::RunsArgs),
    /// Copies of files from buckets and web servers: list them, remove them
    Cache(cache::CacheArgs),
    /// The formats that can be read
    Formats(formats::FormatsArgs),
    /// Assumed facts of each TPU generation, with their sources
    Chips(chips::ChipsArgs),
    /// A picture of the timeline, the roofline or the steps as SVG or PNG, without a window
    #[command(after_long_help = help::RENDER)]
    Render(render::RenderArgs),
    /// Write slices, ops, steps, counters and other tables as Parquet, Arrow or CSV
    #[cfg(feature = "export")]
    #[command(after_long_help = help::EXPORT)]
    Export(cli::commands::export::ExportArgs),
    /// Ask the trace in SQL: slices, ops, steps, counters and every table of the reports
    #[cfg(feature = "query")]
    #[command(after_long_help = help::QUERY)]
    Query(cli::commands::query::QueryArgs),
    /// Record profiles of running programs through their profiler servers, then the verdict
    #[cfg(feature = "capture")]
    #[command(after_long_help = help::CAPTURE)]
    Capture(cli::commands::capture::CaptureArgs),
    /// Live utilization of the devices of running programs, from their profiler servers
    #[cfg(feature = "capture")]
    #[command(after_long_help = help::TOP)]
    Top(cli::commands::top::TopArgs),
    /// A profile without names of people, machines and files; all numbers stay
    #[command(after_long_help = help::ANONYMIZE)]
    Anonymize(anonymize::AnonymizeArgs),
    /// One file to share: the profiles of a run, its summary and its report
    #[command(after_long_help = help::PACK)]
    Pack(pack::PackArgs),
    /// Serve the reports as tools for agents (Model Context Protocol) on standard input and output
    #[cfg(feature = "mcp")]
    #[command(after_long_help = help::MCP)]
    Mcp(mcp::McpArgs),
    /// The runs of log directories in a browser, with an interface for programs (HTTP)
    #[cfg(feature = "serve")]
    #[command(after_long_help = help::SERVE)]
    Serve(serve::ServeArgs),
    /// Write instructions for coding agents: how to find what limits a program
    Skill(skill::SkillArgs),
    /// Show the timeline in a window
    Open(OpenArgs),
    /// Completions of commands and options for a shell
    Completions(completions::CompletionsArgs),
    /// The manual page of the program or of one command
    Man(man::ManArgs),
}

/// Commands that need a feature, the feature, and whether this build has it.
const OPTIONAL: [(&str, &str, bool); 6] = [
    ("export", "export", cfg!(feature = "export")),
    ("query", "query", cfg!(feature = "query")),
    ("capture", "capture", cfg!(feature = "capture")),
    ("top", "capture", cfg!(feature = "capture")),
    ("mcp", "mcp", cfg!(feature = "mcp")),
    ("serve", "serve", cfg!(feature = "serve")),
];

/// Which build has the command that is missing in this one; `None` for all other errors.
pub fn missing_command(error: &clap::Error) -> Option<String> {
    let ContextValue::String(name) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    build_with(name, &OPTIONAL)
}

fn build_with(name: &str, optional: &[(&str, &str, bool)]) -> Option<String> {
    let mut missing = optional.iter().filter(|(.., is_built)| !is_built);
    let (_, feature, _) = missing.find(|(command, ..)| *command == name)?;
    Some(format!(
        "this program was built without the command {name}: released programs have it, and so do those built with \
         --features {feature}"
    ))
}

/// The error for a value that is no number says what to write, where Rust's own words say how it was read.
pub fn in_words(error: clap::Error) -> clap::Error {
    let Some(source) = error.source() else {
        return error;
    };
    let is_float = source.is::<ParseFloatError>();
    let whole = source
        .downcast_ref()
        .map(|wrong: &ParseIntError| wrong.kind());
    let (Some(ContextValue::String(option)), Some(ContextValue::String(value))) = (
        error.get(ContextKind::InvalidArg),
        error.get(ContextKind::InvalidValue),
    ) else {
        return error;
    };
    let expected = match whole {
        Some(IntErrorKind::PosOverflow) => "the number is too large",
        Some(_) if value.starts_with('-') => "write a whole number that is not negative",
        Some(_) => "write a whole number",
        None if is_float => "write a number",
        None => return error,
    };
    clap::Error::raw(
        error.kind(),
        format!(
            "invalid value '{value}' for '{option}': {expected}\n\nFor more information, try '--help'.\n"
        ),
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_command_that_was_not_built_names_the_build_that_has_it() {
        let built = |name, is_built| build_with(name, &[("top", "capture", is_built)]);
        let said = built("top", false).unwrap();
        assert!(said.ends_with("--features capture"), "{said}");
        assert_eq!((built("top", true), built("tap", false)), (None, None));
        let unknown = Cli::try_parse_from(["systole", "tap"]).unwrap_err();
        let name = unknown.get(ContextKind::InvalidSubcommand);
        assert_eq!(name, Some(&ContextValue::String("tap".to_owned())));
    }

    #[test]
    fn no_option_answers_a_wrong_number_with_how_it_was_read() {
        let mut said = Vec::new();
        for command in Cli::command().get_subcommands() {
            let options = command.get_arguments().filter_map(clap::Arg::get_long);
            for option in options {
                for value in ["x", "-1", "1.5", "99999999999999999999999"] {
                    let words = [
                        "systole",
                        command.get_name(),
                        &format!("--{option}={value}"),
                    ];
                    let error = Cli::try_parse_from(words).err().map(in_words);
                    said.extend(error.map(|error| error.to_string()));
                }
            }
        }
        let bare = ["invalid digit", "literal", "target type"];
        let wrong = |text: &&String| bare.iter().any(|word| text.contains(word));
        assert_eq!(said.iter().find(wrong), None);
        let expected = "error: invalid value 'x' for '--warmup <N>': write a whole number\n";
        assert!(said.iter().any(|text| text.starts_with(expected)));
    }
}
