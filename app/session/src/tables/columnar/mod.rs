//! Tables as columns in the formats of other programs: Arrow, Parquet.

pub mod arrow;
pub mod error;
pub mod files;
mod parquet_file;
pub mod partitions;
