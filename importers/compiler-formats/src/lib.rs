//! Output of the compiler: scheduled programs, programs of a profile, and the code of ops.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

pub mod hlo_dump;
pub mod llo;
pub mod program;
pub mod xla;
