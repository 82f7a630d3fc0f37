//! Expectations: what must and must not be in a program, or in a profile of it.
//!
//! Each is one condition with a name, and is met, not met, or unknown with the reason: what the file does not hold is never
//! taken for absent. They are judged on one program, the one that ran longest if none is named.

mod condition;
mod fitting;
mod init;
mod judge;
mod profile;
mod program;
mod report;
#[cfg(test)]
mod tests;

pub use condition::{Condition, Expectation, ExpectationError};
pub use init::expectations_of;
pub use judge::judge;
pub use report::{ExpectReport, JudgedExpectation, Verdict};
