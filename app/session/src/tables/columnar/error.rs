//! Why tables are not written.

use std::io;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// Why a table was not written.
#[derive(Debug, thiserror::Error)]
pub enum TableFileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}
