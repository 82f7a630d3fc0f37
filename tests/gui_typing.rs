//! What is typed goes into the field that an action opened, and the palette knows what people type.

use super::*;

/// Adds a key and the text that it types to the next frame.
fn put_key(window: &mut Harness<'static, App>, chord: &str, typed: Option<char>) {
    let (modifiers, name) = chord.rsplit_once('+').unwrap_or(("", chord));
    let mut all = Modifiers::NONE;
    if modifiers.contains("Ctrl") {
        all |= Modifiers::COMMAND;
    }
    if modifiers.contains("Shift") {
        all |= Modifiers::SHIFT;
    }
    let key = |pressed| Event::Key {
        key: Key::from_name(name).expect("a key"),
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: all,
    };
    let text = typed.map(|typed| Event::Text(typed.to_string()));
    let events = [key(true)].into_iter().chain(text).chain([key(false)]);
    window.input_mut().events.extend(events);
}

/// Adds keys and what they type to the next frame.
fn type_keys(window: &mut Harness<'static, App>, text: &str) {
    for c in text.chars() {
        let shift = if c.is_ascii_uppercase() { "Shift+" } else { "" };
        put_key(
            window,
            &format!("{shift}{}", c.to_ascii_uppercase()),
            Some(c),
        );
    }
}

/// The view without what is typed into it.
fn untyped(window: &Harness<'_, App>) -> ViewState {
    let mut state = state(window).clone();
    state.notes.clear();
    state.search.clear();
    state.track_filter.clear();
    state
}

#[test]
fn a_note_is_typed_at_once() {
    for in_one_frame in [false, true] {
        let mut window = opened();
        want(&mut window, ViewCommand::MarkAll);
        let place = state(&window).place;
        type_keys(&mut window, "M");
        if !in_one_frame {
            settle(&mut window);
        }
        type_keys(&mut window, "offload");
        settle(&mut window);
        let notes: Vec<&str> = state(&window)
            .notes
            .iter()
            .map(|note| note.text.as_str())
            .collect();
        assert_eq!(notes, ["offload"]);
        assert_eq!(state(&window).place, place);
    }
}

#[test]
fn a_note_about_nothing_says_what_it_needs() {
    let mut window = opened();
    type_keys(&mut window, "M");
    settle(&mut window);
    window.get_by_label("Select a slice that takes time, or mark a time first: a note is about it");
}

/// Does it in one frame, without waiting for what follows from it.
fn now(window: &mut Harness<'static, App>, command: ViewCommand) {
    window.state_mut().push(command);
    window.step();
}

/// Whatever is typed into a field that an action opens, no other action runs, even if all is typed in one frame.
#[test]
fn text_typed_into_an_opened_field_runs_no_action() {
    let text = "wasdfzmrpixclqbngt0123456789MTXC,.";
    let mut with_field = 0;
    let mut window = opened();
    want(&mut window, ViewCommand::MarkAll);
    let initial = Box::new(state(&window).clone());
    for (_, actions) in window::ACTIONS {
        for action in *actions {
            let Some(run) = action.run else { continue };
            now(&mut window, ViewCommand::Restore(initial.clone()));
            let command = run(state(&window));
            want(&mut window, command);
            if !window.ctx.text_edit_focused() {
                continue;
            }
            with_field += 1;
            let before = untyped(&window);
            type_keys(&mut window, text);
            settle(&mut window);
            assert_eq!(untyped(&window), before, "{}", action.id);

            for chord in action.keys {
                window = opened();
                want(&mut window, ViewCommand::MarkAll);
                let shown = chord.strip_prefix("Shift+").unwrap_or(chord);
                let typed = shown.chars().next().filter(|_| shown.len() == 1);
                put_key(&mut window, chord, typed);
                type_keys(&mut window, text);
                settle(&mut window);
                assert_eq!(untyped(&window), before, "{} in one frame", action.id);
            }
            window = opened();
        }
    }
    assert!(with_field >= 5, "{with_field}");
}

/// What users type, and an entry that must be among the first eight.
const TYPED: &[(&str, &str)] = &[
    ("export", "Save the timeline as PNG"),
    ("picture", "Save the timeline as PNG"),
    ("screenshot", "Save the window as PNG"),
    ("image", "Save the timeline as SVG"),
    ("png", "Save the window as PNG"),
    ("svg", "Save the timeline as SVG"),
    ("settings", "Change keys"),
    ("preferences", "Change keys"),
    ("shortcuts", "Change keys"),
    ("hotkeys", "Change keys"),
    ("keyboard", "This help"),
    ("font", "Size: larger texts and buttons"),
    ("bigger", "Size: larger texts and buttons"),
    ("dpi", "Size: larger texts and buttons"),
    ("theme", "Dark theme"),
    ("night", "Dark theme"),
    ("dark mode", "Dark theme"),
    ("appearance", "Light theme"),
    ("mfu", "Reports: Overview"),
    ("utilization", "Reports: Overview"),
    ("goodput", "Reports: Overview"),
    ("summary", "Reports: Overview"),
    ("verdict", "Reports: Overview"),
    ("idle", "Reports: Overview"),
    ("bottleneck", "Reports: Hints"),
    ("advice", "Reports: Hints"),
    ("suggestions", "Reports: Hints"),
    ("recommendations", "Reports: Hints"),
    ("optimize", "Reports: Hints"),
    ("what to do", "Reports: Hints"),
    ("straggler", "Reports: Steps"),
    ("late", "Reports: Collectives"),
    ("skew", "Reports: Collectives"),
    ("network", "Reports: Collectives"),
    ("ici", "Reports: Collectives"),
    ("dcn", "Reports: Collectives"),
    ("communication", "Reports: Collectives"),
    ("all-reduce", "Reports: Collectives"),
    ("compare", "Compare with another file"),
    ("diff", "Compare with another file"),
    ("baseline", "Compare with another file"),
    ("flops", "Reports: Roofline"),
    ("bandwidth", "Reports: Roofline"),
    ("intensity", "Reports: Roofline"),
    ("mxu", "Reports: Roofline"),
    ("hbm", "Reports: Roofline"),
    ("kernels", "Reports: Ops"),
    ("flame", "Reports: Ops"),
    ("icicle", "Reports: Ops"),
    ("hottest", "Reports: Ops"),
    ("graph", "Reports: HLO"),
    ("compiler", "Reports: HLO"),
    ("instruction", "Reports: HLO"),
    ("code", "Reports: Source"),
    ("python", "Reports: Source"),
    ("stack", "Reports: Source"),
    ("jitter", "Reports: Steps"),
    ("iteration", "Reports: Steps"),
    ("recompile", "Reports: Compile"),
    ("jit", "Reports: Compile"),
    ("oom", "Reports: Memory"),
    ("leak", "Reports: Memory"),
    ("allocation", "Reports: Memory"),
    ("pallas", "Reports: Kernels"),
    ("mosaic", "Reports: Kernels"),
    ("latency", "Reports: Serving"),
    ("decode", "Reports: Serving"),
    ("prefill", "Reports: Serving"),
    ("dataloader", "Reports: Host"),
    ("infeed", "Reports: Host"),
    ("gil", "Reports: Host"),
    ("doctor", "Reports: Health"),
    ("warnings", "Reports: Health"),
    ("dropped", "Reports: Health"),
    ("sql", "Reports: Query"),
    ("select", "Reports: Query"),
    ("database", "Reports: Query"),
    ("reset", "Show what the devices do, or the whole trace"),
    ("home", "Show what the devices do, or the whole trace"),
    ("history", "Back to the previous view"),
    ("measure", "Mark the time of the selection"),
    ("bookmark", "Save the marked time as a note"),
    ("annotate", "Save the marked time as a note"),
    ("comment", "Save the marked time as a note"),
    ("find", "Search; Enter / Shift+Enter: next / previous"),
    ("grep", "Search; Enter / Shift+Enter: next / previous"),
    ("threads", "Filter tracks by name"),
    ("collapse", "Fold all tracks"),
    ("expand", "Unfold all tracks"),
    ("blank", "Hide tracks without slices in sight"),
    ("unhide", "Show all hidden tracks"),
    ("units", "Times: next format"),
    ("milliseconds", "Times: in milliseconds"),
    ("legend", "Colour by category"),
    ("color by name", "Colour by name"),
    ("palette", "Colours: Systole"),
    ("touchpad", "Wheel: zooms; with Ctrl it scrolls"),
    ("dependency", "Follow a flow"),
    ("arrows", "Flow arrows of the selected slice"),
    ("sidebar", "Reports"),
    ("maximize", "Reports: wide or one column"),
    ("record", "Capture a running program"),
    ("load", "Open a file"),
    ("properties", "Details"),
    ("workspace", "Save view and notes as a session"),
];

#[test]
fn the_palette_knows_the_words_that_people_type() {
    assert!(TYPED.len() >= 100, "{}", TYPED.len());
    let mut window = window_of(3_000.0);
    open(&mut window, "trace");
    for (typed, wanted) in TYPED {
        now(&mut window, ViewCommand::ShowPanel(Panel::Palette, true));
        window.event(Event::Text((*typed).to_owned()));
        settle(&mut window);
        let rows: Vec<f32> = window
            .query_all_by_label(wanted)
            .map(|row| row.rect().top())
            .collect();
        let list = window.get_by_label("Search commands").rect().bottom();
        assert!(
            rows.iter()
                .any(|top| (0.0..8.0 * 26.0).contains(&(top - list))),
            "{typed} finds {wanted}: {rows:?} below {list}"
        );
        now(&mut window, ViewCommand::ShowPanel(Panel::Palette, false));
    }
}
