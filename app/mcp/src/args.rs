//! Arguments of the command.

use std::path::PathBuf;

use clap::Args;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Directory whose files may be read; may be repeated; the current directory by default
    #[arg(long, value_name = "DIR")]
    pub root: Vec<PathBuf>,
    /// Traces to keep open between calls
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    pub keep: u8,
    /// Also offer the tool `capture`, which records running programs and writes the profiles below a directory of --root
    #[arg(long)]
    pub allow_capture: bool,
    /// Answer with text alone, for clients that hand on no structured answers (Gemini CLI)
    #[arg(long)]
    pub text: bool,
}
