//! Output of the compiler: scheduled programs, programs of a profile, and the code of ops.

pub mod hlo_dump;
pub mod llo;
pub mod xla;
