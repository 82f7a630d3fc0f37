//! Importers of real captures, and of other projects' test files.
//!
//! One program, so that it links once: `cargo test -p importers --test suite NAME`.

mod both_formats;
mod common;
mod damage_corpus;
mod example_format;
mod json_corpus;
mod perfetto_rows;
mod perfetto_suite;
mod simulator_corpus;
mod snapshots;
mod xla_corpus;
mod xplane_corpus;
