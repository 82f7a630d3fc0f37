//! The built program, as users and CI run it.
//!
//! One program of tests, so that it links once: `cargo test -p systole --test cli gates`.

mod anonymize;
#[cfg(all(feature = "mcp", feature = "serve"))]
mod assumptions;
#[cfg(feature = "serve")]
mod attacks;
#[cfg(feature = "remote")]
mod bucket_server;
#[cfg(feature = "remote")]
mod buckets;
#[cfg(feature = "capture")]
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
#[cfg(feature = "capture")]
mod mock_profiler;
mod outputs;
mod pack;
mod place;
mod runs;
mod serving;
mod simulated;
#[cfg(all(feature = "export", feature = "query"))]
mod tables;

mod agents;
mod events;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
mod serve_client;
#[cfg(feature = "serve")]
mod serve_limits;
mod watch;
mod writes;
