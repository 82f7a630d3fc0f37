//! Values of arguments, each with one way to write it: clocks, steps, ranges, factors.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use analysis::ServingPattern;
use analysis::reports::ServingPhase;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use trace_model::{Picos, TimeRange, Timestamp};

/// A value that is a text everywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text<T>(pub T);

impl<T: FromStr> FromStr for Text<T> {
    type Err = T::Err;
    fn from_str(text: &str) -> Result<Self, T::Err> {
        text.parse().map(Self)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from)?.parse().map_err(D::Error::custom)
    }
}

impl<T> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// A text, or a number as its text.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(D::Error::custom("write a text")),
    }
}

/// A text; an empty one says nothing.
pub fn unless_empty<'de, D, T>(from: D) -> Result<Option<Text<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    match text(from)?.as_str() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(D::Error::custom),
    }
}

/// A list, or one value of it.
pub fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let values = match Value::deserialize(from)? {
        Value::Array(values) => values,
        Value::Null => Vec::new(),
        one => vec![one],
    };
    values
        .into_iter()
        .map(T::deserialize)
        .collect::<Result<_, _>>()
        .map_err(D::Error::custom)
}

/// A whole number that is not negative; `121.0` is one, as in JSON.
pub fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(WholeVisitor(PhantomData))
}

struct WholeVisitor<T>(PhantomData<T>);

impl<T: TryFrom<u64>> Visitor<'_> for WholeVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::try_from(number).map_err(|_large| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_negative) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        /// From here on, numbers are not exact.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if (0.0..EXACT).contains(&number) && number.fract() == 0.0 {
            return self.visit_u64(number as u64);
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        match (text.parse::<u64>(), text.parse::<f64>()) {
            (Ok(number), _) => self.visit_u64(number),
            (Err(_other), Ok(number)) => self.visit_f64(number),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

/// A clock in MHz: `940`, `940MHz` or `0.94GHz`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock(pub f64);

impl FromStr for Clock {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let (number, scale) = match (lower.strip_suffix("ghz"), lower.strip_suffix("mhz")) {
            (Some(number), _) => (number, 1e3),
            (None, Some(number)) => (number, 1.0),
            (None, None) => (lower.as_str(), 1.0),
        };
        let mhz = number
            .trim()
            .parse::<f64>()
            .map_or(f64::NAN, |number| number * scale);
        // Outside this, it is a typing error or another unit.
        if (1.0..=100_000.0).contains(&mhz) {
            Ok(Self(mhz))
        } else {
            Err("write a clock from 1 MHz to 100 GHz: 940MHz, 1.75GHz".to_owned())
        }
    }
}

/// `prefill=my_prefill*`.
#[derive(Clone, Debug)]
pub struct ServingArg(pub ServingPattern);

impl FromStr for ServingArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (phase, pattern) = text.split_once('=').unwrap_or((text, ""));
        if ServingPhase::named(phase).is_none() || pattern.is_empty() {
            let known = ServingPhase::ALL.map(ServingPhase::title).join(", ");
            return Err(format!(
                "write PHASE=PATTERN with one of the phases {known}: prefill=my_prefill*"
            ));
        }
        Ok(Self(ServingPattern {
            phase: phase.to_owned(),
            pattern: pattern.to_owned(),
        }))
    }
}

/// `3..7`, `3..`, `..7` or `3`, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepsArg {
    pub first: u32,
    pub last: u32,
}

impl FromStr for StepsArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str, open| {
            if text.is_empty() {
                Ok(open)
            } else {
                text.trim().parse::<u32>()
            }
        };
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        match (number(first, 0), number(last, u32::MAX)) {
            (Ok(first), Ok(last)) if first <= last && !text.trim().is_empty() => {
                Ok(Self { first, last })
            }
            _ => Err("write two step numbers, the first not after the last: 3..7".to_owned()),
        }
    }
}

/// `1.5ms..2ms`, `1s..`, `..40us`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeArg(pub TimeRange);

impl FromStr for RangeArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "write two times with their units, the first before the second: 1.5ms..2ms".to_owned()
        };
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        let time = |text: &str, open: Timestamp| match text.trim() {
            "" => Ok(open),
            text => text.parse::<Picos>().map(|time| Timestamp::ZERO + time),
        };
        let (from, to) = (time(from, Timestamp::MIN)?, time(to, Timestamp::MAX)?);
        if from < to {
            Ok(Self(TimeRange::new(from, to)))
        } else {
            Err(wrong())
        }
    }
}

/// A number of seconds, at most a day.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(number @ 0.0..=86_400.0) => Ok(Duration::from_secs_f64(number)),
        _ => Err("write a number of seconds up to 86400".to_owned()),
    }
}

/// How long to wait for a run: seconds, or true for as long as usual.
pub fn wait<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::Null | Value::Bool(false) => return Ok(None),
        Value::Bool(true) => USUAL_WAIT.to_owned(),
        other => other.to_string(),
    };
    seconds(&text).map(Some).map_err(D::Error::custom)
}

/// Seconds to wait for a run unless others are given.
pub const USUAL_WAIT: &str = "300";

/// Others are slips of typing, and times would be longer than the timeline can hold.
const POSSIBLE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// A factor: `2x`, `0.5`.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema)]
pub struct Speed(pub f64);

impl FromStr for Speed {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let factor = text.trim_end_matches(['x', 'X', '×']).parse::<f64>();
        match factor {
            Ok(factor) if POSSIBLE.contains(&factor) => Ok(Self(factor)),
            _ => Err("write a factor above 0, from 0.000001 to 1000000: 2x, 0.5x".to_owned()),
        }
    }
}

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_one_step_or_a_range() {
        assert_eq!("3..7".parse(), Ok(StepsArg { first: 3, last: 7 }));
        assert_eq!("3".parse(), Ok(StepsArg { first: 3, last: 3 }));
        assert_eq!(
            "3..".parse(),
            Ok(StepsArg {
                first: 3,
                last: u32::MAX
            })
        );
        for wrong in ["", "7..3", "a..b", "-1..2", "1...2"] {
            assert!(wrong.parse::<StepsArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn clocks_default_to_megahertz() {
        for (text, mhz) in [
            ("940", 940.0),
            ("940MHz", 940.0),
            ("1.75GHz", 1750.0),
            (" 1.05 ghz", 1050.0),
        ] {
            assert_eq!(text.parse(), Ok(Clock(mhz)), "{text}");
        }
        for wrong in [
            "",
            "fast",
            "0",
            "-940",
            "NaN",
            "inf",
            "940000000",
            "940Hz",
            "1e308GHz",
        ] {
            assert!(wrong.parse::<Clock>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_need_units() {
        let range = |start, end| {
            RangeArg(TimeRange::new(
                Timestamp::from_ps(start),
                Timestamp::from_ps(end),
            ))
        };
        assert_eq!("1.5us..2us".parse(), Ok(range(1_500_000, 2_000_000)));
        assert_eq!("..7ps".parse(), Ok(range(i64::MIN, 7)));
        assert_eq!("0..2ns".parse(), Ok(range(0, 2000)));
        for wrong in [
            "2us..1us",
            "1us",
            "fast..slow",
            "1us..1us",
            "1..2",
            "..7",
            "5..",
        ] {
            assert!(wrong.parse::<RangeArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_are_those_of_json() {
        let read = |value: Value| whole::<_, u32>(value).ok();
        for (value, number) in [
            (json!(7), 7),
            (json!(121.0), 121),
            (json!("121.0"), 121),
            (json!("1e3"), 1000),
        ] {
            assert_eq!(read(value), Some(number));
        }
        for value in [
            json!(1.5),
            json!(-1),
            json!(-1.0),
            json!("x"),
            json!(""),
            json!("inf"),
            json!(1e10),
            json!(null),
        ] {
            assert_eq!(read(value.clone()), None, "{value}");
        }
    }

    #[test]
    fn rejects_factors_of_zero_or_less() {
        assert_eq!("2x".parse(), Ok(Speed(2.0)));
        assert_eq!("0.5".parse(), Ok(Speed(0.5)));
        for wrong in [
            "", "x", "0x", "-1x", "nanx", "infx", "2y", "1e300x", "1e-300x",
        ] {
            assert!(wrong.parse::<Speed>().is_err(), "{wrong}");
        }
    }
}
