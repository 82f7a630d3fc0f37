//! All colours of the app.
//!
//! Independent of widgets, so that exported pictures have the same colours. Colours of slices are given in Oklch
//! (lightness, chroma, hue), where equal lightness looks equally bright, so no category dominates. Text on slices is
//! black or white, whichever contrasts more (tested).

mod presets;

use std::fmt;
use std::sync::LazyLock;

use crate::prelude::*;

pub use presets::Preset;
use presets::WORK;

/// Number of colours for names.
pub const NAME_COLORS: usize = 24;
/// Number of colours of the scale from bad to good.
pub const SCALE_COLORS: usize = 10;

/// An opaque sRGB colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub [u8; 3]);

impl Rgb {
    /// Interpolates towards another colour: 0 is this one, 1 the other.
    #[must_use]
    pub fn towards(self, other: Self, share: f32) -> Self {
        let mix = |i: usize| {
            let (from, to) = (f32::from(self.0[i]), f32::from(other.0[i]));
            (from + (to - from) * share.clamp(0.0, 1.0)).round() as u8
        };
        Self([mix(0), mix(1), mix(2)])
    }
}

impl fmt::Display for Rgb {
    /// As in SVG: `#rrggbb`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [r, g, b] = self.0;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

/// The colour of a slice, as an index into the palette of the theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColorKey(pub u8);

impl ColorKey {
    /// Collectives in flight beside other work.
    pub const IN_FLIGHT: Self = Self((OpGroup::ALL.len() + NAME_COLORS + SCALE_COLORS) as u8);
    /// Compilation on the host.
    pub const COMPILATION: Self = Self(Self::IN_FLIGHT.0 + 1);

    /// The variant for tracks with work in flight.
    #[must_use]
    pub fn beside_work(self) -> Self {
        if self == Self::of_group(OpGroup::Collective) {
            Self::IN_FLIGHT
        } else {
            self
        }
    }

    /// The colour of a category.
    pub fn of_group(group: OpGroup) -> Self {
        let index = OpGroup::ALL.iter().position(|&g| g == group).unwrap_or(0);
        Self(index as u8)
    }

    /// The colour of a utilization from 0 % to 100 %.
    pub fn of_share(percent: f64) -> Self {
        let step = (percent / 100.0 * SCALE_COLORS as f64).clamp(0.0, SCALE_COLORS as f64 - 1.0);
        Self((OpGroup::ALL.len() + NAME_COLORS + step as usize) as u8)
    }

    /// The colour of a time that changed by `ratio`: orange for twice as long or more, blue for half or less, paler
    /// between.
    pub fn of_change(ratio: f64) -> Self {
        let doublings = if ratio > 0.0 {
            ratio.log2().clamp(-1.0, 1.0)
        } else {
            -1.0
        };
        Self::of_share(50.0 - 50.0 * doublings)
    }

    /// The colour of a name without its trailing number: `fusion.12` and `fusion.99` look alike.
    pub fn of_name(name: &str) -> Self {
        let stem = name.trim_end_matches(|c: char| {
            c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '(' | ')' | ' ')
        });
        if stem.is_empty() {
            // Names of steps are only numbers, which need no colours of their own.
            return Self::of_group(OpGroup::Other);
        }
        // FNV-1a: the same name has the same colour in every trace and every version.
        let hash = stem.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self((OpGroup::ALL.len() + ((hash >> 16) % NAME_COLORS as u64) as usize) as u8)
    }
}

/// A fill colour and the text colour that contrasts with it.
#[derive(Clone, Copy, Debug)]
pub struct SliceColor<C> {
    /// The box.
    pub fill: C,
    pub text: C,
}

#[derive(Debug)]
pub struct Palette<C> {
    /// Behind the tracks.
    pub canvas: C,
    /// Behind the names of tracks.
    pub labels: C,
    /// Behind headings of groups.
    pub heading: C,
    /// Behind panels.
    pub panel: C,
    /// Behind cards and input fields on panels.
    pub raised: C,
    /// Between panels, around cards.
    pub edge: C,
    /// Lines of the time grid.
    pub grid: C,
    pub text: C,
    /// Secondary text.
    pub text_weak: C,
    /// Headings and numbers.
    pub text_strong: C,
    /// Buttons and activity.
    pub accent: C,
    pub selection: C,
    pub warning: C,
    pub error: C,
    /// Lines of counters and plots.
    pub counter: C,
    pub flow_in: C,
    pub flow_out: C,
    slices: Vec<SliceColor<C>>,
}

impl<C: Copy> Palette<C> {
    /// This palette with another colour type.
    pub fn map<D>(&self, to: impl Fn(C) -> D) -> Palette<D> {
        Palette {
            canvas: to(self.canvas),
            labels: to(self.labels),
            heading: to(self.heading),
            panel: to(self.panel),
            raised: to(self.raised),
            edge: to(self.edge),
            grid: to(self.grid),
            text: to(self.text),
            text_weak: to(self.text_weak),
            text_strong: to(self.text_strong),
            accent: to(self.accent),
            selection: to(self.selection),
            warning: to(self.warning),
            error: to(self.error),
            counter: to(self.counter),
            flow_in: to(self.flow_in),
            flow_out: to(self.flow_out),
            slices: self
                .slices
                .iter()
                .map(|slice| SliceColor {
                    fill: to(slice.fill),
                    text: to(slice.text),
                })
                .collect(),
        }
    }

    /// Colours of a slice.
    pub fn slice(&self, key: ColorKey) -> SliceColor<C> {
        self.slices[usize::from(key.0)]
    }

    /// Colours of slices by [`ColorKey`].
    pub fn slices(&self) -> &[SliceColor<C>] {
        &self.slices
    }

    /// Colours of the categories that are work.
    pub fn work(&self) -> impl Iterator<Item = C> {
        WORK.into_iter().map(|group| self.group(group))
    }

    /// Colour of a category, for legends and bars.
    pub fn group(&self, group: OpGroup) -> C {
        self.slice(ColorKey::of_group(group)).fill
    }
}

impl Palette<Rgb> {
    /// The dark or light theme, with the slice colours of a preset.
    pub fn of(dark: bool, preset: Preset) -> &'static Self {
        static ALL: LazyLock<Vec<[Palette<Rgb>; 2]>> = LazyLock::new(|| {
            Preset::all()
                .map(|(preset, _)| [Palette::light(preset), Palette::dark(preset)])
                .collect()
        });
        &ALL[preset.index()][usize::from(dark)]
    }

    fn dark(preset: Preset) -> Self {
        let gray = |l: f32| oklch(l, 0.012, 262.0);
        Self {
            canvas: gray(0.185),
            labels: gray(0.215),
            heading: gray(0.255),
            panel: gray(0.225),
            raised: gray(0.275),
            edge: gray(0.33),
            grid: gray(0.25),
            text: gray(0.86),
            text_weak: gray(0.68),
            text_strong: gray(0.97),
            accent: oklch(0.74, 0.12, 245.0),
            selection: Rgb([255; 3]),
            warning: oklch(0.82, 0.14, 80.0),
            error: oklch(0.72, 0.16, 25.0),
            counter: oklch(0.70, 0.10, 200.0),
            flow_in: oklch(0.80, 0.13, 200.0),
            flow_out: oklch(0.82, 0.14, 80.0),
            slices: slices(preset, true, [0.44, 0.58, 0.34]),
        }
    }

    fn light(preset: Preset) -> Self {
        let gray = |l: f32| oklch(l, 0.008, 262.0);
        Self {
            canvas: gray(0.995),
            labels: gray(0.965),
            heading: gray(0.925),
            panel: gray(0.975),
            raised: gray(0.945),
            edge: gray(0.87),
            grid: gray(0.945),
            text: gray(0.32),
            text_weak: gray(0.50),
            text_strong: gray(0.20),
            accent: oklch(0.52, 0.16, 255.0),
            selection: Rgb([0; 3]),
            warning: oklch(0.52, 0.12, 65.0),
            error: oklch(0.52, 0.19, 27.0),
            counter: oklch(0.58, 0.10, 215.0),
            flow_in: oklch(0.50, 0.12, 230.0),
            flow_out: oklch(0.55, 0.15, 50.0),
            slices: slices(preset, false, [0.60, 0.70, 0.83]),
        }
    }
}

/// Colours of all [`ColorKey`]s. In the light theme, categories are lighter, but not too light to see. Names have
/// little chroma in most presets, so that they stay in the background. `grays` are the lightness of what is not work.
fn slices(preset: Preset, dark: bool, grays: [f32; 3]) -> Vec<SliceColor<Rgb>> {
    let row = preset.row();
    let lift = if dark { 0.0 } else { 0.08 };
    let most = if dark { 1.0 } else { 0.83 };
    let groups = OpGroup::ALL.map(
        |group| match WORK.into_iter().position(|work| work == group) {
            Some(index) => {
                let (lightness, chroma, hue) = row.work[index];
                oklch((lightness + lift).min(most), chroma, hue)
            }
            None if group == OpGroup::Control => oklch(grays[0], 0.02, 262.0),
            None if group == OpGroup::Idle => oklch(grays[2], 0.01, 262.0),
            None => oklch(grays[1], 0.02, 262.0),
        },
    );
    let names = (0..NAME_COLORS).map(|i| {
        let hue = i as f32 * 360.0 / NAME_COLORS as f32;
        let (in_dark, in_light, chroma) = row.names;
        let lightness = if dark { in_dark } else { in_light };
        oklch(
            lightness + if i % 2 == 0 { 0.04 } else { -0.03 },
            chroma,
            hue,
        )
    });
    // Orange to blue, which people with red-green colour blindness can distinguish.
    let scale = (0..SCALE_COLORS).map(|i| {
        let share = i as f32 / (SCALE_COLORS - 1) as f32;
        let hue = if share < 0.5 { 50.0 } else { 250.0 };
        let chroma = 0.03 + 0.28 * (share - 0.5).abs();
        oklch(0.62 + lift, chroma.min(0.17), hue)
    });
    // Waiting stands out; work in flight beside other work is less prominent.
    let (lightness, chroma, hue) = row.work[WORK
        .into_iter()
        .position(|work| work == OpGroup::Collective)
        .unwrap_or(0)];
    let ground = if dark { 0.185 } else { 0.995 };
    let lightness = (lightness + lift).min(most);
    let in_flight = oklch(lightness + (ground - lightness) * 0.45, chroma * 0.7, hue);
    let compilation = oklch(0.60 + lift, 0.13, 330.0);
    let all = groups
        .into_iter()
        .chain(names)
        .chain(scale)
        .chain([in_flight, compilation]);
    all.map(|fill| SliceColor {
        fill,
        text: readable_on(fill),
    })
    .collect()
}

/// Black or white, whichever contrasts more.
pub fn readable_on(fill: Rgb) -> Rgb {
    let black = Rgb([12; 3]);
    if contrast(black, fill) >= contrast(Rgb([255; 3]), fill) {
        black
    } else {
        Rgb([255; 3])
    }
}

/// Contrast ratio of two opaque colours, 1 to 21 (WCAG 2).
pub fn contrast(a: Rgb, b: Rgb) -> f32 {
    let luminance = |color: Rgb| {
        let [r, g, b] = color.0.map(|v| {
            let v = f32::from(v) / 255.0;
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Oklch to sRGB, clipped to the gamut.
#[expect(
    clippy::many_single_char_names,
    reason = "the names of the colour spaces' axes"
)]
fn oklch(lightness: f32, chroma: f32, hue_degrees: f32) -> Rgb {
    let (sin, cos) = hue_degrees.to_radians().sin_cos();
    let (a, b) = (chroma * cos, chroma * sin);
    let l = (lightness + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
    let m = (lightness - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
    let s = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
    let linear = [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ];
    let [r, g, b] = linear.map(|v| {
        let v = v.clamp(0.0, 1.0);
        let v = if v <= 0.003_130_8 {
            v * 12.92
        } else {
            1.055 * v.powf(1.0 / 2.4) - 0.055
        };
        (v * 255.0).round() as u8
    });
    Rgb([r, g, b])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every preset on both grounds.
    fn all() -> impl Iterator<Item = (bool, Preset)> {
        [true, false]
            .into_iter()
            .flat_map(|dark| Preset::all().map(move |(preset, _)| (dark, preset)))
    }

    #[test]
    fn hues_keep_their_meaning_and_idle_is_gray() {
        for (dark, preset) in all() {
            let theme = Palette::of(dark, preset);
            for group in OpGroup::ALL {
                let [r, _, b] = theme.group(group).0.map(i32::from);
                let keeps = match group {
                    OpGroup::MatMul | OpGroup::CustomKernel | OpGroup::SparseCore => b > r,
                    OpGroup::DataMovement | OpGroup::Collective => r > b,
                    OpGroup::Control | OpGroup::Other | OpGroup::Idle => (r - b).abs() < 25,
                    OpGroup::AsyncWait | OpGroup::HostIo | OpGroup::Vector => true,
                };
                assert!(keeps, "dark {dark}, {preset:?}, {group:?}: {r} {b}");
            }
        }
    }

    #[test]
    fn text_has_enough_contrast() {
        for (dark, preset) in all() {
            let theme = Palette::of(dark, preset);
            // All colours of the scale, and two others: in flight, compilation.
            assert_eq!(
                theme.slices.len(),
                OpGroup::ALL.len() + NAME_COLORS + SCALE_COLORS + 2
            );
            for (i, color) in theme.slices.iter().enumerate() {
                let ratio = contrast(color.fill, color.text);
                assert!(
                    ratio >= 4.5,
                    "dark {dark}, {preset:?}, colour {i}: {ratio:.2}"
                );
            }
            for back in [
                theme.panel,
                theme.labels,
                theme.heading,
                theme.canvas,
                theme.raised,
            ] {
                for text in [
                    theme.text,
                    theme.text_weak,
                    theme.text_strong,
                    theme.warning,
                    theme.error,
                ] {
                    let ratio = contrast(text, back);
                    assert!(
                        ratio >= 4.5,
                        "dark {dark}: {text:?} on {back:?} is {ratio:.2}"
                    );
                }
            }
        }
    }

    #[test]
    fn slices_stand_out_from_the_canvas() {
        for (dark, preset) in all() {
            let theme = Palette::of(dark, preset);
            for group in OpGroup::ALL
                .into_iter()
                .filter(|&group| group != OpGroup::Idle)
            {
                let ratio = contrast(theme.group(group), theme.canvas);
                assert!(
                    ratio >= 1.5,
                    "dark {dark}, {preset:?}, {group:?}: {ratio:.2}"
                );
            }
        }
    }

    #[test]
    fn overlapping_activity_has_muted_colours() {
        for (dark, (preset, title)) in [true, false]
            .into_iter()
            .flat_map(|dark| Preset::all().map(move |of| (dark, of)))
        {
            let theme = Palette::of(dark, preset);
            let from_ground = |key: ColorKey| contrast(theme.slice(key).fill, theme.canvas);
            let waited_for = ColorKey::of_group(OpGroup::Collective);
            assert!(
                from_ground(waited_for.beside_work()) < from_ground(waited_for),
                "{title}, dark {dark}"
            );
            assert!(
                from_ground(ColorKey::IN_FLIGHT) >= 1.3
                    && from_ground(ColorKey::COMPILATION) >= 1.5,
                "{title}"
            );
        }
        let matmul = ColorKey::of_group(OpGroup::MatMul);
        assert_eq!(matmul.beside_work(), matmul);
    }

    #[test]
    fn names_that_differ_by_number_share_a_colour() {
        assert_eq!(
            ColorKey::of_name("fusion.12"),
            ColorKey::of_name("fusion.99")
        );
        assert_eq!(
            ColorKey::of_name("jit_step(123)"),
            ColorKey::of_name("jit_step(9)")
        );
        assert_ne!(ColorKey::of_name("fusion"), ColorKey::of_name("copy"));
        assert_eq!(ColorKey::of_name("12"), ColorKey::of_group(OpGroup::Other));
    }

    #[test]
    fn known_colours_convert() {
        assert_eq!(oklch(1.0, 0.0, 0.0), Rgb([255; 3]));
        assert_eq!(oklch(0.0, 0.0, 0.0), Rgb([0; 3]));
        // Pure sRGB red is oklch(0.628, 0.2577, 29.23).
        let red = oklch(0.627_96, 0.257_68, 29.23);
        assert!(red.0[0] >= 254 && red.0[1] <= 2 && red.0[2] <= 2, "{red:?}");
    }
}
