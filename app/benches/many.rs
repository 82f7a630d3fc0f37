//! Processor seconds of opening, drawing and analysing documents of many of one thing, and of four times as
//! many: work that grows with the square shows as sixteen times the time.
//! `cargo bench -p systole --no-default-features --bench many`

#[path = "../../tests/shapes.rs"]
mod shapes;

use std::path::PathBuf;

use analysis::{ANALYSES, Options, Scope};
use cpu_time::ProcessTime;
use importers::{InputSource, Progress};
use render::pictures::{self, PicturePanel, PictureStyle};
use session::Session;
use view::state::ViewState;
use view::timeline::trace::OpenTrace;

/// So many of one thing, and so many times as many.
const FEW: usize = 20_000;
const TIMES: usize = 4;

/// `None` where the document cannot be read or drawn.
fn cost(document: String) -> Option<f64> {
    let started = ProcessTime::now();
    let source = InputSource::from_bytes("host.trace.json", document.into_bytes()).ok()?;
    let session = Session::from_model(
        importers::import(&source, &Progress::new()).ok()?,
        Options::default(),
    );
    for entry in ANALYSES {
        // An analysis that does not apply has a cost as well.
        let _ = session.report_by_id(entry.id, Scope::WholeTrace);
    }
    let trace = OpenTrace::new(PathBuf::from("host.trace.json"), session);
    let state = ViewState::new(&trace.model);
    pictures::draw(
        PicturePanel::TIMELINE,
        &trace,
        &state,
        None,
        PictureStyle::default(),
    )
    .ok()?;
    Some(started.elapsed().as_secs_f64())
}

#[expect(clippy::print_stdout, reason = "the result of the benchmark")]
fn main() {
    println!(
        "{:<22} {:>9} {:>9} {:>6}",
        "many", "few s", "many s", "times"
    );
    for (what, shape) in shapes::SHAPES {
        match (cost(shape(FEW)), cost(shape(FEW * TIMES))) {
            (Some(few), Some(many)) => {
                println!("{what:<22} {few:>9.3} {many:>9.3} {:>6.1}", many / few);
            }
            _ => println!("{what:<22} cannot be opened"),
        }
    }
}
