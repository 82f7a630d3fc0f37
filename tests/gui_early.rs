//! Large files: the first devices are shown while the rest is being read.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use importers::{ImportOptions, Progress};
use trace_model::TraceModel;

use super::*;

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/samples/synthetic_v5e_8chip_overlap.xplane.pb"
);
const SO_FAR: &str = "1 of 8 devices can be seen so far. The rest follows, and then all reports.";

fn session(first_look: Option<u64>) -> Session {
    let options = ImportOptions {
        first_look,
        ..ImportOptions::default()
    };
    let model = importers::import_path(Path::new(SAMPLE), &options, &Progress::new());
    Session::from_model(model.expect("it is a sample"), Options::default())
}

/// A window that opens a sample, of which it has the first device at once and the rest when it is told so. Other files are
/// none that it reads.
fn window() -> (Harness<'static, App>, Arc<AtomicBool>) {
    let is_read = Arc::new(AtomicBool::new(false));
    let waiting = Arc::clone(&is_read);
    let window = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(move |cc| {
            let whole: TraceLoader = Arc::new(move |path, progress| {
                while !waiting.load(Ordering::Relaxed) {
                    progress.check().map_err(|_cancelled| "cancelled")?;
                    std::thread::yield_now();
                }
                if path.ends_with("damaged") {
                    return Err("the file is damaged".to_owned());
                }
                Ok(OpenTrace::new(path.to_owned(), session(None)))
            });
            app(&cc.egui_ctx, Settings::default(), whole).with_first_look(Arc::new(
                |path, _progress| Some(OpenTrace::new(path.to_owned(), session(Some(1)))),
            ))
        });
    (window, is_read)
}

/// Such a window, with its first look at a file.
fn looking(path: &str) -> (Harness<'static, App>, Arc<AtomicBool>) {
    let (mut window, is_read) = window();
    window
        .state_mut()
        .push(AppCommand::Open(PathBuf::from(path)));
    until(&mut window, "the first device is shown", |window| {
        window.query_by_label(SO_FAR).is_some()
    });
    (window, is_read)
}

fn model(window: &Harness<'static, App>) -> TraceModel {
    window.state().trace().expect("it is open").model.clone()
}

#[test]
fn view_of_the_first_devices_is_kept_when_the_rest_is_read() {
    let (mut window, is_read) = looking("trace");
    assert!(!window.state().is_settled());
    window.get_by_label("Reports follow when the whole file is read.");
    hides_no_times(&window, SO_FAR);
    let early = model(&window);
    let op = early
        .all_slices()
        .nth(early.slice_count() / 2)
        .expect("there are many");
    let shown = op.range();
    for command in [
        ViewCommand::Show(shown),
        ViewCommand::Select(op.id()),
        ViewCommand::Mark(shown, std::collections::BTreeSet::new()),
    ] {
        window.state_mut().push(command);
    }
    window.run_steps(20);
    assert!(window.state().is_first_look(), "nobody has read the rest");
    let time = state(&window).place.time;
    is_read.store(true, Ordering::Relaxed);
    settle(&mut window);
    assert!(window.query_by_label(SO_FAR).is_none());
    assert!(!window.state().is_first_look());
    let whole = model(&window);
    assert_eq!(
        (early.tensor_cores().len(), whole.tensor_cores().len()),
        (8, 8)
    );
    assert!(whole.slice_count() > 7 * early.slice_count());
    assert_eq!(state(&window).place.time, time);
    assert_eq!(state(&window).place.mark, Some(shown));
    let selected = state(&window).place.selection.expect("it is kept");
    let same = whole.slice(selected);
    assert_eq!((same.name(), same.range()), (op.name(), shown));
}

#[test]
fn what_needs_the_whole_trace_waits_for_it() {
    let (mut window, is_read) = looking("trace");
    window
        .state_mut()
        .push(AppCommand::SaveSession("night".to_owned()));
    until(&mut window, "it is said", |window| {
        window
            .query_by_label("The file is still being read: do this again when all of it is shown")
            .is_some()
    });
    // The second trace must not take the place of the rest of the first one.
    window
        .state_mut()
        .push(AppCommand::Compare(PathBuf::from("other")));
    window.run_steps(5);
    assert!(window.state().is_first_look());
    is_read.store(true, Ordering::Relaxed);
    settle(&mut window);
    assert!(window.state().link().is_some(), "both are open");
    assert!(!window.state().is_first_look());
}

#[test]
fn first_look_at_a_file_that_is_not_read_to_the_end_is_closed() {
    let (mut window, is_read) = looking("damaged");
    is_read.store(true, Ordering::Relaxed);
    settle(&mut window);
    window.get_by_label("the file is damaged");
    assert!(window.state().trace().is_none());

    let (mut window, _) = looking("trace");
    window.get_by_label("Cancel").click();
    settle(&mut window);
    window.get_by_label("Open a profile…");
    assert!(window.state().trace().is_none());
}
