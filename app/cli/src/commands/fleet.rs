//! `systole fleet`: the program says where it is, the Python package runs it.

use super::prelude::*;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// run PATHS -o DATASET, or report DATASET
    ///
    /// run takes --layout, --version, --device-spec, --engine, --workers and --again; report takes --format and -o.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    pub arguments: Vec<String>,
}

/// The Python package takes the command before this program sees it.
pub fn run(_: &FleetArgs) -> Result<CommandOutcome> {
    Err(RequestError::Usage(
        "systole fleet belongs to the Python package: pip install 'systole-tpu[fleet]', then run its systole".to_owned(),
    ))
}
