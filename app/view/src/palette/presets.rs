//! Colour presets for slices: our own and those that resemble other tools. All are rows of one table and keep the
//! meaning of hues.

use crate::prelude::*;

/// Lightness, chroma and hue in degrees (Oklch), as in the dark theme.
pub(super) type Lch = (f32, f32, f32);

/// Categories with a hue: cool for work, warm for data movement and waiting. Everything else is gray.
pub(super) const WORK: [OpGroup; 8] = [
    OpGroup::MatMul,
    OpGroup::Vector,
    OpGroup::CustomKernel,
    OpGroup::SparseCore,
    OpGroup::DataMovement,
    OpGroup::Collective,
    OpGroup::AsyncWait,
    OpGroup::HostIo,
];

/// A colour preset of slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Our own.
    #[default]
    Systole,
    /// Vivid, like Perfetto, which spreads names over all hues.
    Perfetto,
    /// Muted, like Catapult's trace viewer.
    Catapult,
    /// The 300 tones of Material Design, for dark backgrounds.
    Material,
    /// The accent colours of Dracula.
    Dracula,
    /// The accent colours of Solarized.
    Solarized,
    /// The accent colours of Monokai.
    Monokai,
}

/// The colours of a preset.
pub(super) struct PresetColors {
    preset: Preset,
    title: &'static str,
    /// Colours of [`WORK`].
    pub work: [Lch; 8],
    /// Names, spread over all hues: lightness in the dark and the light theme, chroma.
    pub names: Lch,
}

const fn row(preset: Preset, title: &'static str, work: [Lch; 8], names: Lch) -> PresetColors {
    PresetColors {
        preset,
        title,
        work,
        names,
    }
}

/// Hues of presets with a model were measured there and assigned to categories; lightness is adjusted where text would
/// not be readable.
#[rustfmt::skip]
static ROWS: [PresetColors; 7] = [
    row(Preset::Systole, "Systole",
        [(0.62, 0.15, 255.0), (0.66, 0.11, 175.0), (0.62, 0.15, 300.0), (0.70, 0.11, 215.0),
         (0.76, 0.13, 90.0), (0.68, 0.16, 48.0), (0.58, 0.16, 15.0), (0.60, 0.08, 65.0)],
        (0.47, 0.80, 0.065)),
    row(Preset::Perfetto, "Perfetto",
        [(0.64, 0.16, 262.0), (0.70, 0.16, 150.0), (0.62, 0.18, 310.0), (0.74, 0.13, 205.0),
         (0.80, 0.16, 100.0), (0.70, 0.17, 60.0), (0.62, 0.20, 22.0), (0.64, 0.14, 345.0)],
        (0.64, 0.74, 0.15)),
    row(Preset::Catapult, "Catapult",
        [(0.60, 0.09, 268.0), (0.66, 0.085, 145.0), (0.55, 0.09, 318.0), (0.70, 0.06, 205.0),
         (0.77, 0.10, 115.0), (0.66, 0.09, 65.0), (0.60, 0.10, 20.0), (0.55, 0.05, 85.0)],
        (0.56, 0.70, 0.075)),
    row(Preset::Material, "Material",
        [(0.75, 0.12, 245.0), (0.71, 0.10, 187.0), (0.63, 0.13, 299.0), (0.79, 0.11, 207.0),
         (0.89, 0.15, 91.0), (0.75, 0.15, 38.0), (0.69, 0.14, 21.0), (0.65, 0.03, 41.0)],
        (0.49, 0.78, 0.09)),
    row(Preset::Dracula, "Dracula",
        [(0.56, 0.08, 270.0), (0.87, 0.22, 148.0), (0.74, 0.15, 302.0), (0.88, 0.09, 213.0),
         (0.96, 0.13, 113.0), (0.83, 0.12, 67.0), (0.68, 0.21, 24.0), (0.75, 0.18, 347.0)],
        (0.49, 0.78, 0.09)),
    row(Preset::Solarized, "Solarized",
        [(0.61, 0.14, 245.0), (0.64, 0.15, 119.0), (0.54, 0.13, 279.0), (0.64, 0.10, 187.0),
         (0.65, 0.13, 86.0), (0.64, 0.17, 45.0), (0.56, 0.21, 27.0), (0.61, 0.20, 356.0)],
        (0.50, 0.76, 0.08)),
    row(Preset::Monokai, "Monokai",
        [(0.83, 0.11, 212.0), (0.84, 0.20, 127.0), (0.70, 0.18, 298.0), (0.90, 0.08, 185.0),
         (0.88, 0.13, 103.0), (0.77, 0.17, 62.0), (0.64, 0.24, 7.0), (0.55, 0.03, 97.0)],
        (0.49, 0.78, 0.10)),
];

impl Preset {
    /// All presets with their names.
    pub fn all() -> impl ExactSizeIterator<Item = (Self, &'static str)> {
        ROWS.iter().map(|row| (row.preset, row.title))
    }

    /// Index in the table.
    pub fn index(self) -> usize {
        ROWS.iter().position(|row| row.preset == self).unwrap_or(0)
    }

    pub(super) fn row(self) -> &'static PresetColors {
        &ROWS[self.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_in_the_table_once() {
        for (i, (preset, title)) in Preset::all().enumerate() {
            assert_eq!(preset.index(), i, "{title}");
            let text = serde_json::to_string(&preset).unwrap();
            assert_eq!(text, format!("\"{}\"", title.to_lowercase()));
        }
    }

    #[test]
    fn op_groups_have_distinct_colours() {
        let place = |(l, c, h): Lch| [l, c * h.to_radians().cos(), c * h.to_radians().sin()];
        for row in &ROWS {
            for (i, &one) in row.work.iter().enumerate() {
                for &other in &row.work[i + 1..] {
                    let [a, b] = [one, other].map(place);
                    let apart = a
                        .iter()
                        .zip(b)
                        .map(|(a, b)| (a - b).powi(2))
                        .sum::<f32>()
                        .sqrt();
                    assert!(
                        apart >= 0.06,
                        "{}: {one:?} and {other:?} are {apart:.3} apart",
                        row.title
                    );
                }
            }
        }
    }
}
