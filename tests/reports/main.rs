//! What reports say of the samples, and of files that no writer makes.

mod compact;
mod golden;
mod hostile;
#[path = "../json_schema.rs"]
mod json_schema;
