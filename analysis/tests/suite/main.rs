//! Analyses of real and of made traces against what is known of them.
//!
//! One program, so that it links once: `cargo test -p analysis --test suite NAME`.

mod agreement_capture;
mod agreement_section;
mod agreement_table;
mod capture;
mod compare_corpus;
mod compile_corpus;
mod example_analysis;
mod example_chip;
mod example_rule;
mod gaps_corpus;
mod hlo;
mod hlo_corpus;
mod host_corpus;
mod host_part;
mod ici;
mod kernels_corpus;
mod matmul_sizes;
mod megascale_cases;
mod memory_corpus;
mod memory_synthetic;
mod noise;
mod op_times_corpus;
mod options;
mod planted;
mod planted_devices;
mod predicted;
mod public_cases;
mod range_partition;
mod rare_captures;
mod replay;
mod scopes;
mod step_corpus;
mod time_corpus;
mod xprof;
mod xprof_agreement;
mod xprof_roofline;
