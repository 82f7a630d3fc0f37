//! The command line: data on stdout, messages on stderr, exit codes that scripts can rely on.

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

pub mod commands;
pub mod common;
mod prelude;
