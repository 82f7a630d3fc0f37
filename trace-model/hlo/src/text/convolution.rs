//! Reads `window={size=8 stride=7 lhs_dilate=8}, dim_labels=0bf_0io->0bf`.

use crate::syntax::HloText;
use crate::{Convolution, WindowDimension};

/// The dimension numbers and window of a convolution; `None` without any.
pub(super) fn parse(hlo: &HloText<'_>) -> Option<Convolution> {
    let (operands, output) = hlo.attribute("dim_labels")?.split_once("->")?;
    let (input, kernel) = operands.split_once('_')?;
    let count = |key| {
        hlo.attribute(key)
            .and_then(|count| count.parse().ok())
            .unwrap_or(1)
    };
    let spatial = |labels: &str| {
        let mut digits: Vec<(u8, u64)> = labels
            .bytes()
            .zip(0..)
            .filter(|(label, _)| label.is_ascii_digit())
            .collect();
        digits.sort_unstable();
        digits
            .into_iter()
            .map(|(_, digit)| digit)
            .collect::<Vec<u64>>()
    };
    let position = |labels: &str, wanted: char| labels.find(wanted).map(|position| position as u64);
    Some(Convolution {
        window: hlo.attribute("window").and_then(window).unwrap_or_default(),
        input_batch: position(input, 'b')?,
        input_feature: position(input, 'f')?,
        input_spatial: spatial(input),
        kernel_input_feature: position(kernel, 'i')?,
        kernel_output_feature: position(kernel, 'o')?,
        kernel_spatial: spatial(kernel),
        output_batch: position(output, 'b')?,
        output_feature: position(output, 'f')?,
        output_spatial: spatial(output),
        feature_groups: count("feature_group_count"),
        batch_groups: count("batch_group_count"),
    })
}

/// `{size=3x3 stride=2x2 pad=1_1x1_1}`, in any order: each value has a part a dimension.
fn window(text: &str) -> Option<Vec<WindowDimension>> {
    let pairs: Vec<_> = text
        .strip_prefix('{')?
        .strip_suffix('}')?
        .split_whitespace()
        .collect();
    let sizes = pairs
        .iter()
        .find_map(|pair| pair.strip_prefix("size="))
        .unwrap_or_default();
    let dimension = |size: &str| {
        Some(WindowDimension {
            size: size.parse().ok()?,
            ..WindowDimension::default()
        })
    };
    let mut out: Vec<WindowDimension> = sizes
        .split('x')
        .filter(|size| !size.is_empty())
        .map(dimension)
        .collect::<Option<_>>()?;
    for pair in pairs {
        let (key, values) = pair.split_once('=')?;
        for (index, value) in values.split('x').enumerate() {
            let dimension = out.get_mut(index)?;
            match key {
                "stride" => dimension.stride = value.parse().ok()?,
                "pad" => {
                    let (low, high) = value.split_once('_')?;
                    (dimension.padding_low, dimension.padding_high) =
                        (low.parse().ok()?, high.parse().ok()?);
                }
                "lhs_dilate" => dimension.base_dilation = value.parse().ok()?,
                "rhs_dilate" => dimension.window_dilation = value.parse().ok()?,
                "rhs_reversal" => dimension.is_reversed = value != "0",
                _ => {}
            }
        }
    }
    Some(out)
}
