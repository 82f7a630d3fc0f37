//! Settings that are written, read again, shared by windows, and damaged.

use std::fs;

use super::*;

#[test]
fn recent_files_are_ordered_and_unique() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("deep").join("gui.json");
    let mut settings = Settings::load_from(&file);
    for name in ["/a", "/b", "/a"] {
        settings.remember(Path::new(name));
    }
    settings.set_theme(ThemeChoice::Light);
    let again = Settings::load_from(&file);
    assert_eq!(again.recent, [PathBuf::from("/a"), PathBuf::from("/b")]);
    assert_eq!(again.theme, ThemeChoice::Light);
    for i in 0..50 {
        settings.remember(Path::new(&format!("/{i}")));
    }
    assert_eq!(settings.recent.len(), RECENT);
}

#[test]
fn panel_sizes_are_saved_within_usable_limits() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gui.json");
    let mut settings = Settings::load_from(&file);
    settings.set_size(PanelPart::Reports, 512.0);
    settings.set_size(PanelPart::Details, 3.0);
    settings.set_scale(1.5);
    let again = Settings::load_from(&file);
    assert_eq!(
        (
            again.sizes.of(PanelPart::Reports, 1280.0),
            again.sizes.of(PanelPart::Details, 1280.0)
        ),
        (512.0, 100.0)
    );
    assert_eq!(again.sizes, settings.sizes);
    assert!((again.scale - 1.5).abs() < 1e-6);
    fs::write(&file, r#"{"sizes": {"reports": 1e9}, "scale": 0}"#).unwrap();
    let again = Settings::load_from(&file);
    assert_eq!(
        again.sizes,
        PanelSizes {
            reports: Some(2000.0),
            ..PanelSizes::default()
        }
    );
    assert!((again.scale - 0.6).abs() < 1e-6);
}

#[test]
fn reports_grow_with_the_window_until_the_user_chooses_a_width() {
    let mut settings = Settings::default();
    let width =
        |settings: &Settings, window: f32| settings.sizes.of(PanelPart::Reports, window) as u32;
    let usual = [900.0, 1280.0, 1920.0, 3840.0].map(|window| width(&settings, window));
    assert_eq!(usual, [440, 371, 557, 1114]);
    for window in [1280.0, 1920.0, 3840.0] {
        // The names of tracks and the rail take about 320 points.
        let tracks = window - 320.0 - width(&settings, window) as f32;
        assert!(tracks >= 0.45 * window, "{window}");
    }
    settings.set_size(PanelPart::Reports, 500.0);
    assert_eq!(
        [1280.0, 3840.0].map(|window| width(&settings, window)),
        [500; 2]
    );
}

#[test]
fn two_windows_keep_each_others_settings() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gui.json");
    let key = |id: &str, key: &str| (id.to_owned(), vec![key.to_owned()]);
    let mut first = Settings::load_from(&file);
    first.set_keys(BTreeMap::from([key("undo", "U")]));
    let mut second = Settings::load_from(&file);
    first.set_keys(BTreeMap::from([key("fit", "Ctrl+E")]));
    first.remember(Path::new("/of-the-first"));
    first.set_times(TimeFormat::Exact);
    first.set_colors(Preset::Catapult);
    // The settings that this window read at its start are outdated.
    second.set_theme(ThemeChoice::Light);
    second.remember(Path::new("/of-the-second"));
    second.set_keys(BTreeMap::from([key("undo", "U"), key("notes", "Ctrl+J")]));
    let both = Settings::load_from(&file);
    assert_eq!(
        (both.theme, both.times),
        (ThemeChoice::Light, TimeFormat::Exact)
    );
    assert_eq!(both.colors, Preset::Catapult);
    assert_eq!(
        both.recent,
        [
            PathBuf::from("/of-the-second"),
            PathBuf::from("/of-the-first")
        ]
    );
    assert_eq!(
        both.keys,
        BTreeMap::from([key("fit", "Ctrl+E"), key("notes", "Ctrl+J")])
    );
}

#[test]
fn concurrent_setting_writes_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gui.json");
    let mut windows: Vec<Settings> = (0..4).map(|_| Settings::load_from(&file)).collect();
    std::thread::scope(|scope| {
        for (i, window) in windows.iter_mut().enumerate() {
            scope.spawn(move || {
                for n in 0..RECENT / 4 {
                    window.remember(Path::new(&format!("/{i}/{n}")));
                    let own = [
                        ("fit", "F2"),
                        ("undo", "F3"),
                        ("notes", "F4"),
                        ("focus", "F5"),
                    ][i];
                    window.set_keys(BTreeMap::from([(
                        own.0.to_owned(),
                        vec![own.1.to_owned(), n.to_string()],
                    )]));
                }
            });
        }
    });
    let all = Settings::load_from(&file);
    assert_eq!((all.recent.len(), all.keys.len()), (RECENT, 4), "{all:?}");
}

#[test]
fn damaged_settings_file_gives_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gui.json");
    fs::write(&file, b"{ not json").unwrap();
    let mut settings = Settings::load_from(&file);
    assert_eq!(settings.recent, Vec::<PathBuf>::new());
    settings.remember(Path::new("/a"));
    assert_eq!(Settings::load_from(&file).recent, [PathBuf::from("/a")]);
    let kept = fs::read(dir.path().join("gui.damaged.json")).unwrap();
    assert_eq!(kept, b"{ not json", "what was there can still be mended");
}

#[test]
fn damaged_setting_keeps_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gui.json");
    let text = r#"{"recent": 7, "theme": "light", "times": "exact", "of_tomorrow": {"x": 1},
        "keys": {"focus": ["Ctrl+E"], "fit": "0", "undo": [7]}}"#;
    fs::write(&file, text).unwrap();
    let mut settings = Settings::load_from(&file);
    assert_eq!(
        (settings.theme, settings.times),
        (ThemeChoice::Light, TimeFormat::Exact)
    );
    assert_eq!(
        settings.keys,
        BTreeMap::from([("focus".to_owned(), vec!["Ctrl+E".to_owned()])])
    );
    settings.remember(Path::new("/a"));
    let again = Settings::load_from(&file);
    assert_eq!(again.keys, settings.keys);
    let all = stored(&file).unwrap();
    assert_eq!(all["of_tomorrow"]["x"], 1, "another version may know it");
    assert_eq!(all["keys"]["fit"], "0", "somebody may mend it");
    let entries = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(entries, 2, "beside it lies the lock, and nothing else");
}
