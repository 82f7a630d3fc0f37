//! Texts of reports name the option of the command line that helps; where the window has a control for it, they name the
//! control.

use std::borrow::Cow;

/// What texts name, and the control.
const CONTROLS: [(&str, &str); 3] = [
    // `panels/chip.rs` shows a list of chips there.
    ("with --device-spec", "in the Overview"),
    ("with `--device-spec`", "in the Overview"),
    ("`systole analyze --only kernels`", "the tab Kernels"),
];

/// The text, with the window's own controls.
pub fn with_controls(text: &str) -> Cow<'_, str> {
    let mut replaced = Cow::Borrowed(text);
    for (option, control) in CONTROLS {
        if replaced.contains(option) {
            replaced = Cow::Owned(replaced.replace(option, control));
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_controls_of_the_window() {
        let text = analysis::hardware::peaks::NO_PEAK;
        assert!(text.contains("--device-spec"), "{text}");
        assert!(with_controls(text).ends_with("name the chip in the Overview"));
        assert_eq!(
            with_controls("Give --clock 940MHz."),
            "Give --clock 940MHz."
        );
    }
}
