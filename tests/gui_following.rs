//! A log directory whose newest run is followed.

use std::fs;
use std::path::Path;

use importers::ImportOptions;
use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;
use window::{FollowedStep, file_loader};

use super::*;

fn write_run(folder: &Path, name: &str, bytes: &[u8]) {
    let run = folder.join("plugins/profile").join(name);
    fs::create_dir_all(&run).expect("the directory can be written");
    fs::write(run.join("host.xplane.pb"), bytes).expect("the file can be written");
}

fn profile(steps: u32) -> Vec<u8> {
    let run = FleetSpec {
        devices: 2,
        steps,
        calls: true,
        ..FleetSpec::default()
    };
    xspace_bytes(&run.session())
}

fn following(folder: &Path) -> Harness<'static, App> {
    let folder = folder.to_owned();
    Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(move |cc| {
            let options = Arc::new(|| Ok(Options::default()));
            let loader = file_loader(ImportOptions::default(), options);
            app(&cc.egui_ctx, Settings::default(), loader)
                .with_followed(folder, Duration::from_millis(20))
        })
}

fn shows(run: &'static str) -> impl Fn(&Harness<'_, App>) -> bool {
    move |window| {
        let open = window.state().trace();
        open.is_some_and(|trace| trace.path.ends_with(run))
    }
}

fn step(window: &Harness<'_, App>, at: usize) -> FollowedStep {
    let following = window.state().following().expect("it is followed");
    following.runs()[at].step.clone()
}

#[test]
fn newer_runs_take_the_place_of_the_open_one() {
    let dir = tempfile::tempdir().expect("there is a place for files");
    let mut window = following(dir.path());
    window.run_steps(5);
    window.get_by_label_contains("No runs yet");
    write_run(dir.path(), "run_1", &profile(4));
    until(&mut window, "the first run is opened", shows("run_1"));
    settle(&mut window);
    let model = window.state().trace().expect("it is open").model.clone();
    let slices = model.all_slices().filter(|slice| slice.op().is_some());
    let chosen = slices.last().expect("there are ops");
    let (name, track) = (chosen.name().to_owned(), chosen.track());
    for command in [
        ViewCommand::Pin(track, true),
        ViewCommand::Select(chosen.id()),
        ViewCommand::ShowTab("ops".to_owned()),
    ] {
        window.state_mut().push(AppCommand::View(command));
    }
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some(&*name));

    write_run(dir.path(), "run_2", b"this is no profile");
    until(&mut window, "the run is skipped", |window| {
        let runs = window.state().following().expect("it is followed").runs();
        matches!(
            &runs.last().expect("it is listed").step,
            FollowedStep::Failed(_)
        )
    });
    window.run_steps(2);
    window.get_by_label_contains("run_2 is skipped: ");
    assert!(shows("run_1")(&window));

    write_run(dir.path(), "run_3", &profile(6));
    until(&mut window, "the third run is opened", shows("run_3"));
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some(&*name));
    assert_eq!(
        (state(&window).pinned.len(), &*state(&window).tab),
        (1, "ops")
    );
    until(&mut window, "its step time is known", |window| {
        matches!(step(window, 2), FollowedStep::Time(_))
    });
    assert!(matches!(step(&window, 0), FollowedStep::Time(_)));
    window.run_steps(2);
    window.get_by_label_contains("run_3, the newest: step ");

    // A click on an older run opens it, and stays there.
    window.get_by_label_contains("run_1: step ").click();
    until(&mut window, "the first run is opened again", shows("run_1"));
    write_run(dir.path(), "run_4", &profile(5));
    std::thread::sleep(Duration::from_millis(100));
    window.run_steps(50);
    settle(&mut window);
    assert!(shows("run_1")(&window), "it is paused");
    window.get_by_label("Follow again").click();
    until(&mut window, "the newest run is opened", shows("run_4"));
    window.get_by_label("Stop following").click();
    window.run_steps(3);
    assert!(window.state().following().is_none());
    assert!(shows("run_4")(&window), "it stays open");
}
