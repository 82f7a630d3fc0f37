//! The built program, as users and CI run it.
//!
//! One program of tests, so that it links once: `cargo test -p systole --test cli gates`.

mod anonymize;
mod assumptions;
mod attacks;
mod bucket_server;
mod buckets;
mod capture;
mod causes;
mod ci_workflow;
mod commands;
mod comparisons;
mod gates;
mod gates_ci;
mod guide;
mod guide_outputs;
mod hints;
mod hlo;
#[path = "../json_schema.rs"]
mod json_schema;
mod limits;
mod mock_profiler;
mod outputs;
mod pack;
mod place;
mod runs;
mod serving;
mod simulated;
mod tables;

mod agents;
mod events;
mod mcp;
mod serve;
mod serve_client;
mod serve_limits;
mod watch;
mod writes;
