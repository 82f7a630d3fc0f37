//! Arguments that become facts of the model; all others stay in the file.
//!
//! There are three kinds: numbers of one execution ([`ExecutionArg`]), numbers of an op ([`OpNumbers`]), and strings of
//! an op, which are interned as one set.

use importer_common::names::{execution_attr, is_null};
use importer_common::prelude::*;

use super::json::{self, JsonResult, JsonString, JsonValue, byte, skip_blank, value};
use super::names::{NameId, NameTable, OpNumbers};
use super::number;
use super::repeats::RestFacts;

/// Numbers of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExecutionArg {
    DeviceStart,
    DeviceDur,
    Attr(SliceAttr),
}

/// A number or string of an op.
#[derive(Clone, Copy, Debug)]
enum OpArgument {
    Execution(ExecutionArg),
    Number(usize),
    Text(usize),
}

const FLOPS: usize = 0;
const MODEL_FLOPS: usize = 1;
const BYTES: usize = 2;
const RAW_BYTES: usize = 3;
const SYMBOL: usize = 4;
const ALL_REDUCE: usize = 5;

/// Strings of an op: category, HLO text, shape, framework name, source, stack, deduplicated name.
type OpTexts = [Option<StringId>; TEXTS];

const TEXTS: usize = 7;
const DEDUPLICATED: usize = 6;

fn known(key: &[u8]) -> Option<OpArgument> {
    use ExecutionArg::{Attr, DeviceDur, DeviceStart};
    if let Some(attr) = execution_attr(key) {
        return Some(OpArgument::Execution(Attr(attr)));
    }
    Some(match key {
        b"device_offset_ps" => OpArgument::Execution(DeviceStart),
        b"device_duration_ps" => OpArgument::Execution(DeviceDur),
        b"num_occurrences" => OpArgument::Execution(Attr(SliceAttr::Occurrences)),
        b"flops" => OpArgument::Number(FLOPS),
        b"model_flops" => OpArgument::Number(MODEL_FLOPS),
        b"bytes_accessed" => OpArgument::Number(BYTES),
        b"raw_bytes_accessed" => OpArgument::Number(RAW_BYTES),
        b"symbol_id" => OpArgument::Number(SYMBOL),
        b"all_reduce_id" => OpArgument::Number(ALL_REDUCE),
        b"hlo_category" => OpArgument::Text(0),
        b"long_name" => OpArgument::Text(1),
        b"shape_with_layout" => OpArgument::Text(2),
        b"tf_op" => OpArgument::Text(3),
        b"source" => OpArgument::Text(4),
        b"source_stack" => OpArgument::Text(5),
        b"deduplicated_name" => OpArgument::Text(DEDUPLICATED),
        _ => return None,
    })
}

/// The facts in the arguments of one event.
#[derive(Default)]
pub(super) struct EventFacts {
    pub device_start: Option<i64>,
    pub device_dur: Option<i64>,
    pub attrs: Vec<(SliceAttr, i64)>,
    pub numbers: OpNumbers,
    /// Index of the set of strings, if there are any.
    pub texts: Option<u32>,
    /// Whether there are facts about an op.
    pub has_op: bool,
}

impl EventFacts {
    fn clear(&mut self) {
        (self.device_start, self.device_dur) = (None, None);
        self.attrs.clear();
        if self.has_op {
            (self.numbers, self.texts, self.has_op) = (OpNumbers::default(), None, false);
        }
    }
}

/// Facts about an op, as an index into [`EventFactsStore`].
pub(super) type FactsId = u32;

/// Stores the facts of events, each distinct set once.
#[derive(Default)]
pub(super) struct EventFactsStore {
    pub names: NameTable,
    /// Facts of the last event.
    pub said: EventFacts,
    /// The name of the last event, if its arguments came after it.
    pub name: Option<NameId>,
    texts: Vec<OpTexts>,
    text_index: HashMap<OpTexts, u32>,
    stated: Vec<(Option<u32>, OpNumbers)>,
    fact_index: HashMap<(Option<u32>, OpNumbers), FactsId>,
}

impl EventFactsStore {
    /// Clears the facts of the last event.
    #[inline]
    pub fn reset(&mut self) {
        self.said.clear();
        self.name = None;
    }

    /// The facts of the last event, whose name this is, if other events may share them: none is about one execution.
    pub fn shared(&mut self, name: JsonString<'_>) -> Option<RestFacts> {
        let said = &self.said;
        if said.device_start.is_some() || said.device_dur.is_some() || !said.attrs.is_empty() {
            return None;
        }
        let name = self.name.unwrap_or_else(|| self.names.id(name));
        let said = &self.said;
        Some(RestFacts {
            name,
            texts: said.texts,
            numbers: said.numbers,
            has_op: said.has_op,
        })
    }

    /// Gives an event without facts those of another one.
    #[inline]
    pub fn set(&mut self, facts: RestFacts) {
        self.name = Some(facts.name);
        if facts.has_op {
            (self.said.texts, self.said.numbers, self.said.has_op) =
                (facts.texts, facts.numbers, true);
        }
    }

    /// The id of the op facts of the last event.
    pub fn current(&mut self) -> Option<FactsId> {
        if !self.said.has_op {
            return None;
        }
        let key = (self.said.texts, self.said.numbers);
        Some(*self.fact_index.entry(key).or_insert_with(|| {
            self.stated.push(key);
            (self.stated.len() - 1) as FactsId
        }))
    }

    /// An op with these facts, without a program.
    pub fn op(&self, name: StringId, facts: Option<FactsId>) -> Op {
        let mut op = Op {
            name,
            ..Op::default()
        };
        let Some(&(texts, numbers)) = facts.and_then(|id| self.stated.get(id as usize)) else {
            return op;
        };
        let number = |i: usize| numbers[i].and_then(|value| u64::try_from(value).ok());
        op.flops = number(FLOPS);
        op.model_flops = number(MODEL_FLOPS);
        op.bytes_accessed = number(BYTES);
        op.raw_bytes_accessed = number(RAW_BYTES);
        op.symbol_id = numbers[SYMBOL].map(|value| value as u64);
        op.all_reduce_id = numbers[ALL_REDUCE];
        if let Some(texts) = texts.and_then(|id| self.texts.get(id as usize)) {
            [
                op.category,
                op.hlo_text,
                op.shape,
                op.framework_name,
                op.source,
                op.source_stack,
                op.deduplicated_name,
            ] = *texts;
        }
        op
    }

    fn text_set(
        &mut self,
        raw: &[Option<JsonString<'_>>; TEXTS],
        builder: &mut TraceBuilder,
    ) -> Option<u32> {
        let texts = raw.map(|text| {
            let text = text?.decode().0;
            (!is_null(&text)).then(|| builder.intern(&text))
        });
        if texts.iter().all(Option::is_none) {
            return None;
        }
        Some(*self.text_index.entry(texts).or_insert_with(|| {
            self.texts.push(texts);
            (self.texts.len() - 1) as u32
        }))
    }

    fn execution(&mut self, arg: ExecutionArg, value: JsonValue<'_>) {
        match arg {
            ExecutionArg::DeviceStart => self.said.device_start = number::integer(value.number()),
            ExecutionArg::DeviceDur => self.said.device_dur = number::integer(value.number()),
            ExecutionArg::Attr(SliceAttr::TimeScaleBits) => {
                // The usual factor, one, is left out.
                if let Some(factor) =
                    number::float(value.number()).filter(|factor| (factor - 1.0).abs() > 1e-12)
                {
                    self.said
                        .attrs
                        .push((SliceAttr::TimeScaleBits, factor.to_bits() as i64));
                }
            }
            ExecutionArg::Attr(SliceAttr::CounterValueBits) => {
                let bits = number::float(value.number()).map(|value| value.to_bits() as i64);
                self.said
                    .attrs
                    .extend(bits.map(|bits| (SliceAttr::CounterValueBits, bits)));
            }
            ExecutionArg::Attr(attr) => {
                if let Some(number) = number::integer(value.number()) {
                    self.said.attrs.push((attr, number));
                } else if value.is_true() {
                    self.said.attrs.push((attr, 1));
                }
            }
        }
    }
}

/// [`EventFactsStore`] together with the builder in which strings are interned.
pub(super) struct FactsReader<'a> {
    pub facts: &'a mut EventFactsStore,
    pub builder: &'a mut TraceBuilder,
}

/// The part of the arguments that is the same for all executions of an op.
#[derive(Default)]
struct SharedArguments<'a> {
    /// Start of that part; `None` if the last argument varies.
    from: Option<usize>,
    /// The only string fact that may precede it.
    before: &'a [u8],
    texts: [Option<JsonString<'a>>; TEXTS],
    numbers: OpNumbers,
}

impl SharedArguments<'_> {
    /// Restarts the shared part at `end`, after an argument that varies; returns whether the rest may be cached.
    fn restart(&mut self, end: usize, arg: ExecutionArg) -> bool {
        let others = self
            .texts
            .iter()
            .enumerate()
            .any(|(i, text)| i != DEDUPLICATED && text.is_some());
        let may_begin = arg == ExecutionArg::DeviceStart && !others;
        self.from = may_begin.then_some(end);
        self.before = self.texts[DEDUPLICATED].map_or(b"", |text| text.raw);
        self.numbers = OpNumbers::default();
        may_begin
    }
}

impl FactsReader<'_> {
    /// Reads the arguments object at `start`; returns the position after it.
    #[inline]
    pub fn read<'a>(
        &mut self,
        buf: &'a [u8],
        start: usize,
        name: JsonString<'a>,
    ) -> JsonResult<usize> {
        let Self { facts, builder } = self;
        facts.reset();
        let name = if name.raw.is_empty() {
            None
        } else {
            Some(facts.names.id(name))
        };
        facts.name = name;
        let mut constant = SharedArguments {
            from: Some(start),
            ..SharedArguments::default()
        };
        if let Some(end) = facts.recall(&constant, buf, start) {
            return Ok(end);
        }
        let mut position = skip_blank(buf, start + 1)?;
        while byte(buf, position)? != b'}' {
            let (key, from) = json::key(buf, position)?;
            let (value, end) = value(buf, from)?;
            match (known(key.raw), value) {
                (Some(OpArgument::Execution(arg)), value) => {
                    facts.execution(arg, value);
                    if constant.restart(end, arg)
                        && let Some(end) = facts.recall(&constant, buf, end)
                    {
                        return Ok(end);
                    }
                }
                (Some(OpArgument::Number(i)), value) => {
                    facts.said.numbers[i] = number::integer(value.number());
                    facts.said.has_op = true;
                    constant.numbers[i] = facts.said.numbers[i];
                }
                (Some(OpArgument::Text(i)), JsonValue::Text(text)) => {
                    constant.texts[i] = Some(text);
                    facts.said.has_op = true;
                }
                (Some(OpArgument::Text(_)) | None, _) => {}
            }
            position = json::next_item(buf, end)?;
        }
        facts.said.texts = facts.text_set(&constant.texts, builder);
        if let (Some(name), Some(from)) = (name, constant.from) {
            let texts = facts.said.texts;
            facts.names.remember(
                name,
                constant.before,
                &buf[from..=position],
                texts,
                constant.numbers,
            );
        }
        Ok(position + 1)
    }
}

impl EventFactsStore {
    /// The end of the arguments, if the rest from `position` on is cached.
    #[inline]
    fn recall(
        &mut self,
        constant: &SharedArguments<'_>,
        buf: &[u8],
        position: usize,
    ) -> Option<usize> {
        let (memo, len) = self
            .names
            .recall(self.name?, constant.before, &buf[position..])?;
        let said = &mut self.said;
        for (number, known) in said.numbers.iter_mut().zip(memo.numbers) {
            *number = known.or(*number);
        }
        said.texts = memo.texts;
        said.has_op |= memo.texts.is_some() || memo.numbers.iter().any(Option::is_some);
        Some(position + len)
    }
}
