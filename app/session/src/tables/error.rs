//! Why tables are not written.

use std::io;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// Why a table was not written.
#[derive(Debug, thiserror::Error)]
pub enum TableFileError {
    /// The file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The batches.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The Parquet file.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}
