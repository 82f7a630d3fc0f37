//! The built program, as users and CI run it.
//!
//! One program of tests, so that it links once: `cargo test -p systole --test cli gates`.

mod anonymize;
mod assumptions;
mod attacks;
mod bisect;
mod bucket_failures;
mod bucket_server;
mod bucket_uploads;
mod buckets;
mod capture;
mod capture_failures;
mod capture_steps;
mod causes;
mod causes_gates;
mod ci_comment;
mod ci_workflow;
mod commands;
mod comparisons;
mod compile;
mod environment;
mod expect;
mod gates;
mod gates_ci;
mod gates_outputs;
mod guide;
mod guide_outputs;
mod help;
mod hints;
mod history;
mod hlo;
mod hlo_diff;
#[path = "../json_schema.rs"]
mod json_schema;
mod kernels;
mod limits;
mod memory;
mod mock_profiler;
mod names;
mod outputs;
mod pack;
mod pivot;
mod place;
mod program_gates;
mod real_traces;
mod refused_files;
mod runs;
mod serving;
mod simulated;
mod tables;
mod terminals;

mod agents;
mod events;
mod exports;
mod mcp;
mod mcp_answers;
mod mcp_files;
mod mcp_hostile;
mod serve;
mod serve_access;
mod serve_client;
mod serve_files;
mod serve_limits;
mod watch;
mod writes;
