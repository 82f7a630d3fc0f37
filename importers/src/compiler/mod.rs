//! What the compiler dumps: scheduled programs, and the code of their ops.

pub(crate) mod llo;
pub(crate) mod xla;
