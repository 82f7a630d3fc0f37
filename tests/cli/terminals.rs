//! What is printed suits the terminal: its width, its locale, and no characters that control it.

use std::fs;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use crate::outputs::{printed, program, recompile, run, sample, text};

#[test]
fn lines_fit_the_terminal_from_forty_columns_on() {
    let samples = [
        "synthetic_v5e_8chip_recompile.xplane.pb",
        "synthetic_v6e_pallas_waits.xplane.pb",
        "jax_cpu_small.xplane.pb",
        "synthetic_v5e_layer_predicted.txt",
    ];
    for name in samples {
        for columns in [40, 60, 80] {
            for args in [
                &["analyze"][..],
                &["analyze", "--only", "ops,steps,hints,overlap,targets"],
                &["doctor"],
            ] {
                let mut command = program(args);
                let output = command
                    .arg(sample(name))
                    .env("COLUMNS", columns.to_string())
                    .output()
                    .unwrap();
                let wide: Vec<_> = text(&output.stdout)
                    .lines()
                    // Code to copy, which stands further in than any text, is not broken.
                    .filter(|line| line.width() > columns && !line.starts_with("       "))
                    .collect();
                assert!(
                    wide.is_empty(),
                    "{name} {args:?} in {columns} columns:\n{}",
                    wide.join("\n")
                );
            }
        }
    }
}

#[test]
fn text_is_ascii_where_the_locale_is() {
    let path = recompile();
    for args in [
        vec!["analyze", &path],
        vec!["doctor", &path],
        vec!["formats"],
        vec!["chips"],
        vec!["explain", "K01"],
    ] {
        for (locale, is_ascii) in [("C", true), ("de_DE.ISO-8859-1", true), ("C.UTF-8", false)] {
            let output = program(&args).env("LC_ALL", locale).output().unwrap();
            // `explain` may print only ASCII in every locale.
            assert!(
                output.stdout.is_ascii() == is_ascii || args[0] == "explain",
                "{args:?} {locale}"
            );
        }
    }
}

/// An override of direction turns what follows: such a name could pass off as another one, or turn numbers around.
#[test]
fn names_cannot_turn_or_control_what_is_printed() {
    const NAME: &str = "fusion\u{202e}.83\u{2066}\u{200f}\u{1b}[31m";
    let mut json = String::new();
    let packed = fs::read(sample("synthetic_v5e_8chip_overlap.trace.json.gz")).unwrap();
    GzDecoder::new(&packed[..])
        .read_to_string(&mut json)
        .unwrap();
    let json = json
        .replace("fusion.38", &NAME.replace('\u{1b}', "\\u001b"))
        .replace("jit_train", "jit_\u{202e}train");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("turned.trace.json");
    fs::write(&path, json).unwrap();
    let path = path.to_str().unwrap();
    let turns = |c: char| matches!(c, '\u{202e}' | '\u{2066}' | '\u{200f}' | '\u{1b}');
    for args in [
        &["analyze", path][..],
        &["analyze", path, "--top", "0", "-v"],
        &["analyze", path, "--format", "md"],
        &["events", path, "--name", "fusion*"],
        &["hlo", path],
        &["hlo", path, "--text"],
        &["hlo", path, "--find", "fusion"],
        &["render", path],
        &["query", path, "SELECT DISTINCT name, program FROM slices"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        for said in [text(&output.stdout), text(&output.stderr)] {
            let turned = said.lines().find(|line| line.contains(turns));
            assert_eq!(turned, None, "{args:?}");
        }
    }
    let as_is = |value: &Value| {
        value
            .to_string()
            .contains(NAME.trim_end_matches("\u{1b}[31m"))
    };
    assert!(as_is(
        &serde_json::from_str(&printed(&["analyze", path, "--format", "json"])).unwrap()
    ));
}
