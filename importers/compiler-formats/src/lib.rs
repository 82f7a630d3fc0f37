//! Output of the compiler: scheduled programs, programs of a profile, and the code of ops.

pub(crate) mod hlo_dump;
pub(crate) mod llo;
pub(crate) mod xla;
