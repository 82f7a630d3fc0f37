//! `systole mcp`: the reports as tools for agents, by the Model Context Protocol.
//!
//! A tool answers with the tables of the commands of the same name: it opens a trace as they do, asks the same reports and
//! refuses with the same messages. [`SystoleService`] knows no transport: here it is served on standard input and output.

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

mod answer;
mod args;
mod brief;
mod service;
mod tools;

pub use args::McpArgs;
pub use service::SystoleService;

use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::transport::stdio_pipes;

use cli::common::CommandOutcome;
use request::places::Roots;
use request::{OpenTraces, RequestError, Result};

/// Serves on standard input and output until the client closes them.
pub fn run(args: &McpArgs) -> Result<CommandOutcome> {
    let roots = Roots::new(&args.root, "systole mcp --root DIR")?;
    let traces = OpenTraces::new(usize::from(args.keep), usize::MAX);
    let service = SystoleService::new(Arc::new(roots), Arc::new(traces))
        .with_capture(args.allow_capture)
        .with_text_only(args.text);
    let internal = |error: &dyn std::fmt::Display| RequestError::Internal(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| internal(&error))?;
    let served = runtime.block_on(async {
        // A client that leaves before it has said hello is no error.
        let Ok(running) = service.serve(stdio_pipes()).await else {
            return Ok(());
        };
        running
            .waiting()
            .await
            .map(|_| ())
            .map_err(|error| internal(&error))
    });
    // A thread that waits for standard input must not keep the program.
    runtime.shutdown_background();
    served.map(|()| CommandOutcome::Done)
}
