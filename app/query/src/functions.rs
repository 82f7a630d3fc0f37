//! SQL functions for time, statistics and arguments of slices.

use std::sync::Mutex;

use analysis::facts::framework::scopes_of;
use analysis::math::quantile::quantile;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};
use trace_model::{Arg, ArgValue, SliceId, TraceModel, locked};

use super::memory::{HeldBytes, HeldNumbers};
use session::tables::cut;

/// A function of SQL, for the list of functions.
#[derive(Clone, Copy, Debug)]
pub struct SqlFunction {
    pub call: &'static str,
    /// What it returns.
    pub about: &'static str,
}

/// The functions beside those of SQLite.
pub const FUNCTIONS: [SqlFunction; 8] = [
    SqlFunction {
        call: "us(ps)",
        about: "picoseconds as microseconds",
    },
    SqlFunction {
        call: "ms(ps)",
        about: "picoseconds as milliseconds",
    },
    SqlFunction {
        call: "seconds(ps)",
        about: "picoseconds as seconds",
    },
    SqlFunction {
        call: "stem(name)",
        about: "the name of an op without the compiler's number: fusion of fusion.12",
    },
    SqlFunction {
        call: "scope(framework_name)",
        about: "the scope of the framework that an op is in: jit(f)/layer_0 of jit(f)/layer_0/add",
    },
    SqlFunction {
        call: "arg(slice_id, 'key')",
        about: "one argument of a slice as recorded",
    },
    SqlFunction {
        call: "median(x)",
        about: "the median of a group",
    },
    SqlFunction {
        call: "percentile(x, p)",
        about: "the p-th percentile of a group, p from 0 to 100, interpolated",
    },
];

/// The one that reads slices.
pub(super) const OF_SLICES: &str = "arg";

/// Registers them in SQLite; that which reads slices only for a whole model.
pub(super) fn register(
    connection: &Connection,
    whole: Option<&TraceModel>,
    held: &HeldBytes,
) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    for (name, per_unit) in [("us", 1e6), ("ms", 1e9), ("seconds", 1e12)] {
        connection.create_scalar_function(name, 1, pure, move |context| {
            Ok(number(context, 0)?.map(|picoseconds| picoseconds / per_unit))
        })?;
    }
    connection.create_scalar_function("stem", 1, pure, |context| {
        let name: Option<String> = context.get(0)?;
        Ok(name.map(|name| trace_model::without_number(&name).to_owned()))
    })?;
    connection.create_scalar_function("scope", 1, pure, |context| {
        let name: Option<String> = context.get(0)?;
        let scope = name.map(|name| {
            let parts = scopes_of(&name);
            let outer = parts.split_last().map_or(&[][..], |(_, outer)| outer);
            outer.join("/")
        });
        Ok(scope.filter(|scope| !scope.is_empty()))
    })?;
    if let Some(model) = whole.cloned() {
        // A query that asks for several arguments of a slice reads them once.
        let last: Mutex<Option<(i64, Vec<Arg>)>> = Mutex::default();
        connection.create_scalar_function(OF_SLICES, 2, pure, move |context| {
            let (row, key): (Option<i64>, Option<String>) = (context.get(0)?, context.get(1)?);
            let Some((row, key)) = row.zip(key) else {
                return Ok(None);
            };
            let mut last = locked(&last);
            if last.as_ref().is_none_or(|(known, _)| *known != row) {
                *last = Some((row, arguments(&model, row)));
            }
            let args = last.iter().flat_map(|(_, args)| args);
            Ok(args.into_iter().find(|arg| arg.name == key).map(value))
        })?;
    }
    connection.create_aggregate_function(
        "median",
        1,
        pure,
        Percentile {
            at: Some(50.0),
            held: held.clone(),
        },
    )?;
    connection.create_aggregate_function(
        "percentile",
        2,
        pure,
        Percentile {
            at: None,
            held: held.clone(),
        },
    )
}

fn number(context: &Context<'_>, index: usize) -> Result<Option<f64>> {
    match context.get_raw(index) {
        ValueRef::Integer(number) => Ok(Some(number as f64)),
        ValueRef::Real(number) => Ok(Some(number)),
        ValueRef::Null => Ok(None),
        ValueRef::Text(_) | ValueRef::Blob(_) => Err(Error::UserFunctionError(
            "this function takes numbers, but was given text".into(),
        )),
    }
}

/// The arguments of a slice; none if it has none, or they cannot be read.
fn arguments(model: &TraceModel, row: i64) -> Vec<Arg> {
    let row = usize::try_from(row)
        .ok()
        .filter(|&row| row < model.slice_count());
    row.and_then(|row| model.slice(SliceId::from_index(row)).args().ok())
        .unwrap_or_default()
}

fn value(arg: &Arg) -> Value {
    match arg.value {
        ArgValue::Int(number) => Value::Integer(number),
        ArgValue::Uint(number) => {
            i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Integer)
        }
        ArgValue::Float(number) => Value::Real(number),
        ArgValue::Bool(is_true) => Value::Integer(is_true.into()),
        ArgValue::Null => Value::Null,
        ArgValue::Text(_) | ArgValue::Opaque(_) => {
            Value::Text(cut(&arg.value.to_string()).into_owned())
        }
    }
}

/// Percentile of a group, as [`analysis::math::quantile`] defines it.
struct Percentile {
    /// Which; the second argument if `None`.
    at: Option<f64>,
    held: HeldBytes,
}

/// The numbers of a group, and which percentile is wanted.
struct PercentileState {
    numbers: HeldNumbers,
    at: f64,
}

impl Aggregate<PercentileState, Option<f64>> for Percentile {
    fn init(&self, _: &mut Context<'_>) -> Result<PercentileState> {
        Ok(PercentileState {
            numbers: HeldNumbers::new(self.held.clone()),
            at: 0.0,
        })
    }

    fn step(&self, context: &mut Context<'_>, state: &mut PercentileState) -> Result<()> {
        state.at = match self.at {
            Some(percentile) => percentile,
            None => number(context, 1)?
                .filter(|percentile| (0.0..=100.0).contains(percentile))
                .ok_or_else(|| {
                    Error::UserFunctionError(
                        "percentile(x, p): p must be a number from 0 to 100".into(),
                    )
                })?,
        };
        if let Some(number) = number(context, 0)? {
            state.numbers.push(number);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, state: Option<PercentileState>) -> Result<Option<f64>> {
        Ok(state.and_then(|state| quantile(state.numbers.as_slice(), state.at / 100.0)))
    }
}
