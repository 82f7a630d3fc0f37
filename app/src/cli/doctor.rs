//! `systole doctor`: how far this trace can be trusted.

use analysis::Scope;

use super::Talk;
use super::analyze::check_devices;
use super::args::DoctorArgs;
use super::failure::{Failure, Outcome};
use super::{loading, output};
use crate::render::{Document, View};

/// The analysis behind the command.
const DOCTOR: &str = "doctor";

/// Runs the command.
pub fn run(args: &DoctorArgs, talk: &Talk) -> Result<Outcome, Failure> {
    output::check(&args.output)?;
    let session = loading::open(&args.input, args.output.format, talk)?;
    check_devices(&session, &args.input.assume.device)?;
    let document = Document::new(&session, Scope::WholeTrace, &[DOCTOR], View::Doctor);
    output::write(&document, &args.output, talk)?;
    Ok(match document.doubt() {
        Some(why) if args.output.strict => Outcome::Inconclusive(why),
        _ => Outcome::Done,
    })
}
