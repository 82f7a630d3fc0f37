//! Output of the compiler: scheduled programs, and the code of ops.

pub(crate) mod llo;
pub(crate) mod xla;
