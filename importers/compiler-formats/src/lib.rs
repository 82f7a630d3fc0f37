//! Output of the compiler: scheduled programs, programs of a profile, the code of ops, and logs of compilations.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

pub mod hlo_dump;
pub mod jax_log;
pub mod llo;
pub mod program;
pub mod xla;
