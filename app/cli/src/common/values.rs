//! Values of arguments: files.

/// Stands for standard input or output in place of a path.
pub use session::stdin::STANDARD;
