//! Exact decimal numbers.
//!
//! `ts` and `dur` are microseconds as decimal text with up to 17 significant digits, also with exponents
//! (`9.9999999999999995e-07` is one picosecond). `f64` would lose picoseconds above 2.5 hours, so the digits are scaled
//! as integers and rounded half to even.

/// Powers of ten that fit into `u64`.
const POWERS: [u64; 20] = {
    let mut powers = [1_u64; 20];
    let mut i = 1;
    while i < 20 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// A decimal as written: `±mantissa × 10^exponent`, and whether any digit that did not
/// fit into the mantissa was not zero.
struct Decimal {
    negative: bool,
    mantissa: u128,
    exponent: i64,
    sticky: bool,
}

/// Microseconds as text to picoseconds; `None` if the text is not a number. Values beyond `i128` saturate.
pub(super) fn picos_from_micros(text: &[u8]) -> Option<i128> {
    if let Some(picos) = picos_from_short(text) {
        return Some(i128::from(picos));
    }
    let decimal = parse(text)?;
    let magnitude = scale(
        decimal.mantissa,
        decimal.exponent.saturating_add(6),
        decimal.sticky,
    );
    Some(if decimal.negative {
        -magnitude
    } else {
        magnitude
    })
}

/// A time in the usual format, parsed in the same pass that finds its end: digits, optionally a point and more digits,
/// at most 18 digits in total.
#[derive(Clone, Copy, Default)]
pub(super) struct ShortNumber {
    mantissa: u64,
    digits: u32,
    /// One plus the number of digits before the point; zero if there is no point.
    point: u32,
}

impl ShortNumber {
    /// Reads digits and a point; returns the number of bytes up to the first one that does not belong to the number.
    #[inline]
    pub fn read(&mut self, text: &[u8]) -> usize {
        let mut position = 0;
        loop {
            // Times have eight digits or more on both sides of the point: taken at once, they cost a third.
            while let Some(eight) = text.get(position..).and_then(<[u8]>::first_chunk)
                && self.push_eight(*eight)
            {
                position += 8;
            }
            loop {
                let Some(&byte) = text.get(position) else {
                    return position;
                };
                let digit = byte.wrapping_sub(b'0');
                if digit < 10 {
                    self.mantissa = self
                        .mantissa
                        .wrapping_mul(10)
                        .wrapping_add(u64::from(digit));
                    self.digits += 1;
                } else if byte == b'.' && self.point == 0 {
                    self.point = self.digits + 1;
                    position += 1;
                    break;
                } else {
                    return position;
                }
                position += 1;
            }
        }
    }

    /// Takes eight bytes, if all of them are digits.
    #[inline]
    fn push_eight(&mut self, bytes: [u8; 8]) -> bool {
        const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
        let word = u64::from_le_bytes(bytes);
        // Bytes are 0x30 to 0x39: so is the upper half of each, and stays so when 6 is added.
        let are_digits = word & HIGH == 0x3030_3030_3030_3030
            && word.wrapping_add(0x0606_0606_0606_0606) & HIGH == 0x3030_3030_3030_3030;
        if !are_digits {
            return false;
        }
        // Neighbours are joined: digits to pairs, pairs to fours, fours to eight. The first digit is the lowest byte.
        let digits = word & 0x0f0f_0f0f_0f0f_0f0f;
        let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
        let eight = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
        self.mantissa = self.mantissa.wrapping_mul(100_000_000).wrapping_add(eight);
        self.digits += 8;
        true
    }

    /// The time, read as microseconds; `None` if it has another format.
    #[inline]
    pub fn picos(self) -> Option<i64> {
        let Self {
            mantissa,
            digits,
            point,
        } = self;
        if digits == 0 || digits > 18 || point == 1 {
            return None;
        }
        let decimals = if point == 0 {
            0
        } else {
            (digits + 1 - point) as usize
        };
        if decimals <= 6 {
            let picos = mantissa.checked_mul(POWERS[6 - decimals])?;
            return i64::try_from(picos).ok();
        }
        let divisor = POWERS[decimals - 6];
        // Dividing by a constant is a multiplication.
        let whole = if divisor == 1000 {
            mantissa / 1000
        } else {
            mantissa / divisor
        };
        let rest = mantissa - whole * divisor;
        let up = rest * 2 > divisor || (rest * 2 == divisor && whole % 2 == 1);
        Some((whole + u64::from(up)) as i64)
    }
}

fn picos_from_short(text: &[u8]) -> Option<i64> {
    let mut short = ShortNumber::default();
    let usual = text.len() <= 19 && short.read(text) == text.len();
    if usual { short.picos() } else { None }
}

/// The integer in any numeric format (`12`, `-7`, `"12"` without quotes, `3.0`, `1e3`); `None` for fractions and other
/// text. Unsigned values above `i64::MAX` keep their bits.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) {
        let value = digits
            .iter()
            .fold(0_i64, |value, digit| value * 10 + i64::from(digit - b'0'));
        return Some(if negative { -value } else { value });
    }
    let decimal = parse(text)?;
    let mut mantissa = decimal.mantissa;
    let mut exponent = decimal.exponent;
    while exponent < 0 && mantissa % 10 == 0 && mantissa > 0 {
        mantissa /= 10;
        exponent += 1;
    }
    if decimal.sticky || (exponent < 0 && mantissa != 0) {
        return None;
    }
    let value = scale(mantissa, exponent.max(0), false);
    if decimal.negative {
        i64::try_from(-value).ok()
    } else {
        u64::try_from(value).ok().map(|value| value as i64)
    }
}

/// A floating point number in any of the forms that writers use, including `.75`, `246.`,
/// `01.23` and `+10.5`. Infinities are rejected, because they cannot be drawn or summed.
pub(super) fn float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    if !text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
    {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

fn parse(text: &[u8]) -> Option<Decimal> {
    let text = text.trim_ascii();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let (mut mantissa, mut exponent, mut sticky) = (0_u128, 0_i64, false);
    let (mut digits, mut point, mut position) = (0_usize, false, 0);
    while let Some(&byte) = text.get(position) {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                let more = mantissa
                    .checked_mul(10)
                    .and_then(|m| m.checked_add(u128::from(byte - b'0')));
                if let Some(more) = more {
                    mantissa = more;
                    exponent -= i64::from(point);
                } else {
                    sticky |= byte != b'0';
                    exponent += i64::from(!point);
                }
            }
            b'.' if !point => point = true,
            _ => break,
        }
        position += 1;
    }
    if digits == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(position) {
        let written = std::str::from_utf8(&text[position + 1..]).ok()?;
        // An exponent beyond i64 means zero or infinity in any case.
        let bare = written.trim_start_matches(['+', '-']);
        if bare.is_empty()
            || written.len() > bare.len() + 1
            || !bare.bytes().all(|b| b.is_ascii_digit())
        {
            return None;
        }
        let size = bare.parse().unwrap_or(i64::from(u32::MAX));
        exponent = exponent.saturating_add(if written.starts_with('-') {
            -size
        } else {
            size
        });
    } else if position < text.len() {
        return None;
    }
    Some(Decimal {
        negative,
        mantissa,
        exponent,
        sticky,
    })
}

/// `mantissa × 10^exponent`, rounded half to even, at most `i128::MAX`.
fn scale(mantissa: u128, exponent: i64, sticky: bool) -> i128 {
    if mantissa == 0 {
        return 0;
    }
    if exponent >= 0 {
        let power = u32::try_from(exponent)
            .ok()
            .and_then(|e| 10_u128.checked_pow(e));
        let value = power.and_then(|power| mantissa.checked_mul(power));
        return value
            .and_then(|value| i128::try_from(value).ok())
            .unwrap_or(i128::MAX);
    }
    let Some(divisor) = u32::try_from(-exponent)
        .ok()
        .and_then(|e| 10_u128.checked_pow(e))
    else {
        return 0;
    };
    let (whole, rest) = (mantissa / divisor, mantissa % divisor);
    let half = divisor / 2;
    let up = rest > half || (rest == half && (sticky || whole % 2 == 1));
    i128::try_from(whole + u128::from(up)).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ps(text: &str) -> Option<i128> {
        picos_from_micros(text.as_bytes())
    }

    #[test]
    fn microseconds_become_picoseconds_exactly() {
        assert_eq!(ps("0"), Some(0));
        assert_eq!(ps("5.1"), Some(5_100_000));
        assert_eq!(ps("40672.245000000003"), Some(40_672_245_000));
        assert_eq!(ps("9.9999999999999995e-07"), Some(1));
        assert_eq!(ps("7.7999999999999999e-05"), Some(78));
        assert_eq!(ps("1E3"), Some(1_000_000_000));
        assert_eq!(
            ps("1850244461563845.0"),
            Some(1_850_244_461_563_845_000_000)
        );
        assert_eq!(ps("1597071955492308"), Some(1_597_071_955_492_308_000_000));
        assert_eq!(ps("-3"), Some(-3_000_000));
        assert_eq!(ps("-0.0000005"), Some(0));
        assert_eq!(ps("246."), Some(246_000_000));
        assert_eq!(ps(".5"), Some(500_000));
    }

    #[test]
    fn halves_round_to_even() {
        assert_eq!(ps("0.0000005"), Some(0));
        assert_eq!(ps("0.0000015"), Some(2));
        assert_eq!(ps("0.0000025"), Some(2));
        assert_eq!(
            ps("0.00000250000000000000000000000000000000000000001"),
            Some(3)
        );
        assert_eq!(ps("2.5e-6"), Some(2));
        assert_eq!(ps("2.5000001e-6"), Some(3));
    }

    #[test]
    fn non_numbers_are_none() {
        assert_eq!(picos_from_short(b"1234567/"), None);
        assert_eq!(picos_from_short(b"1234567:"), None);
        assert_eq!(picos_from_short(b"12345678.1234567\xb0"), None);
        for text in [
            "", "-", "+", ".", "abc", "100a", "1.5e", "2e+", "1e--2", "1.2.3", "NaN", "Infinity",
            "0x10", "1 2",
        ] {
            assert_eq!(ps(text), None, "{text}");
        }
    }

    #[test]
    fn huge_numbers_saturate() {
        assert_eq!(ps("1e999999999999999999999"), Some(i128::MAX));
        assert_eq!(ps("1e-999999999999999999999"), Some(0));
        let many_nines = "9".repeat(400);
        assert_eq!(ps(&many_nines), Some(i128::MAX));
    }

    #[test]
    fn fast_path_agrees_with_general_parser() {
        for text in [
            "123456789.123456789",
            "999999999999.999999",
            "0.1234565",
            "0.1234575",
            "151685.787578",
            "0.031",
            "00.5",
            "12345678",
            "12345678.5",
            "87654321.98765432",
            "1.12345678901",
        ] {
            let slow = parse(text.as_bytes()).map(|d| scale(d.mantissa, d.exponent + 6, d.sticky));
            assert_eq!(ps(text), slow, "{text}");
            assert_eq!(
                picos_from_short(text.as_bytes()).map(i128::from),
                slow,
                "{text}"
            );
        }
    }

    #[test]
    fn parses_integers_in_any_form() {
        assert_eq!(integer(b"3437500"), Some(3_437_500));
        assert_eq!(integer(b"-1472598470"), Some(-1_472_598_470));
        assert_eq!(integer(b"18446744073709551615"), Some(-1));
        assert_eq!(integer(b"1.5e2"), Some(150));
        assert_eq!(integer(b"7.0"), Some(7));
        assert_eq!(integer(b"0.5"), None);
        assert_eq!(integer(b"99999999999999999999"), None);
        assert_eq!(integer(b"x"), None);
    }

    #[test]
    fn parses_finite_floats_in_any_form() {
        for (text, value) in [
            (".75", 0.75),
            ("246.", 246.0),
            ("01.23", 1.23),
            ("050", 50.0),
            ("+10.5", 10.5),
        ] {
            assert_eq!(float(text.as_bytes()), Some(value));
        }
        for text in ["1.5e", "2e+", ".", "+", "-", "", "nan", "inf", "1e999"] {
            assert_eq!(float(text.as_bytes()), None, "{text}");
        }
    }
}
