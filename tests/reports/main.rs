//! Reports about the samples, and about malformed files.

mod compact;
mod comparison_screen;
mod first_screen;
mod golden;
mod hostile;
#[path = "../json_schema.rs"]
mod json_schema;
