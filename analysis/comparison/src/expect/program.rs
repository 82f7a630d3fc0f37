//! Conditions on a program.

use std::fmt::Write as _;

use engine::{glob, number};
use facts::prelude::*;
use hlo::{Instruction, InstructionId, opcodes_inside, running_computations};
use run_reports::hlo::{HloOp, ProgramContents, ProgramOrigin, TimedProgram};

use super::condition::{Condition, CountBounds, Expectation};
use super::fitting::{Fitting, is_from, is_kernel, names, some_or_none};
use super::report::{Answer, Verdict};

/// Memory space of the host in shapes.
const HOST: u64 = 5;

/// A program with what it consists of.
pub(super) struct JudgedProgram {
    pub timed: TimedProgram,
    pub contents: ProgramContents,
    runs: Vec<bool>,
    /// Why a part of the program may be missing.
    missing: Option<String>,
    is_compiled: bool,
}

impl JudgedProgram {
    pub fn new(cx: &Context<'_>, timed: TimedProgram) -> Self {
        let cut = timed
            .module
            .cut
            .as_ref()
            .map(|place| format!("the text ends {place}"));
        let missing = cut.or_else(|| {
            (timed.origin == ProgramOrigin::OpTexts)
                .then(|| "the capture holds only the lines of the ops that ran".to_owned())
        });
        Self {
            runs: running_computations(&timed.module),
            contents: ProgramContents::in_capture(cx, timed.program, &timed.module),
            missing,
            // What ran was compiled, even if its order is not recorded.
            is_compiled: timed.module.is_scheduled() || !cx.model.has_programs_only(),
            timed,
        }
    }

    pub fn answer(&self, expected: &Expectation, condition: &Condition) -> Answer {
        match condition {
            Condition::Op(opcode) => {
                let fitting = self.filtered(expected, |_, it| glob(opcode, &it.opcode));
                let is_kept = matches!(&**opcode, "dot" | "convolution" | "ragged-dot");
                let later = self.uncompiled().filter(|_| !is_kept);
                self.counted_of(expected.bounds(), &fitting, later)
            }
            Condition::Collective(kind) => self.collectives(expected, *kind),
            Condition::Product(dtype) => self.products(expected, dtype),
            Condition::Kernel(name) => {
                let fitting = self.filtered(expected, |_, it| is_kernel(it, name));
                self.present(expected, &fitting)
            }
            Condition::FusionOf(opcodes) => {
                let fitting = self.filtered(expected, |_, it| self.contains(it, opcodes));
                self.present(expected, &fitting)
            }
            Condition::Rematerialized(wanted) => {
                let fitting = self.filtered(expected, |_, it| {
                    self.runs_by_itself(it) && it.is_rematerialized()
                });
                self.counted_of(some_or_none(*wanted), &fitting, self.without_scopes())
            }
            Condition::HostCopies(wanted) => {
                let fitting = self.filtered(expected, |_, it| self.is_host_copy(it));
                self.counted_of(some_or_none(*wanted), &fitting, self.uncompiled())
            }
            Condition::PeakMemory(max) => self.peak(*max),
            Condition::Flops(max) => {
                let unknown = counted(self.contents.uncounted, "instruction");
                let why = format!("the operations of {unknown} are not known");
                let why = Some(why).filter(|_| self.contents.uncounted > 0);
                self.sum(self.contents.flops, why, *max, Unit::Flop)
            }
            Condition::Traffic(max) => self.sum(self.contents.hbm_bytes, None, *max, Unit::Bytes),
            Condition::Donated(name) => self.donated(name),
            // Conditions on runs.
            Condition::CompilesInSteps(_) | Condition::ShareOf(_) => {
                Answer::unknown("a program does not tell")
            }
        }
    }

    /// Whether all of the program is known.
    pub fn is_whole(&self) -> bool {
        self.missing.is_none()
    }

    fn runs_by_itself(&self, it: &Instruction) -> bool {
        let runs = self.runs.get(it.computation.index());
        runs.copied().unwrap_or(true)
    }

    /// Instructions that fit, and that the expectation does not leave out.
    fn filtered(
        &self,
        expected: &Expectation,
        fits: impl Fn(InstructionId, &Instruction) -> bool,
    ) -> Fitting {
        let module = &self.timed.module;
        let mut out = Fitting::default();
        // Where a program records them, what has none comes from the compiler.
        let mut all = module.instructions.iter();
        let has_scopes = all.clone().any(|it| !it.op_name.is_empty());
        let has_sources = all.any(|it| module.source(it).is_some());
        for (id, it) in module.iter() {
            let is_named = expected.named.as_ref();
            if !fits(id, it) || !is_named.is_none_or(|name| glob(name, &it.name)) {
                continue;
            }
            let in_scope = expected.scope.as_ref().map(|scope| {
                let name = Some(&it.op_name).filter(|name| !name.is_empty());
                name.map(|name| glob(scope, name))
                    .or(has_scopes.then_some(false))
            });
            let from = expected.source.as_ref().map(|source| {
                let place = module.source(it);
                place
                    .map(|place| is_from(&place, source))
                    .or(has_sources.then_some(false))
            });
            match (in_scope, from) {
                (Some(Some(false)), _) | (_, Some(Some(false))) => {}
                (Some(None), _) => out.without_scope += 1,
                (_, Some(None)) => out.without_source += 1,
                _ => out.ids.push(id),
            }
        }
        out
    }

    fn ops(&self, ids: &[InstructionId]) -> Vec<HloOp> {
        let instructions = ids
            .iter()
            .filter_map(|&id| self.timed.module.instruction(id));
        instructions.map(|it| self.timed.op(it)).collect()
    }

    /// Why the compiler may add collectives: the program is not partitioned yet.
    pub fn unpartitioned(&self) -> Option<&'static str> {
        (self.timed.module.may_get_collectives() && !self.is_compiled)
            .then_some("the compiler adds collectives when it divides the program among devices")
    }

    /// Why fusions, copies and kernels may be missing.
    pub fn uncompiled(&self) -> Option<&'static str> {
        (!self.is_compiled).then_some("the compiler adds fusions, copies and kernels")
    }

    /// Why values may be computed again although no name says so.
    pub fn without_scopes(&self) -> Option<&'static str> {
        let module = &self.timed.module;
        let mut all = module.instructions.iter();
        all.all(|it| it.op_name.is_empty())
            .then_some("its text has no framework names, which tell jax.checkpoint")
    }

    /// Judges a number of instructions, of which some may be missing because parts of the program are, or because they
    /// come `later`.
    fn counted_of(&self, bounds: CountBounds, fitting: &Fitting, later: Option<&str>) -> Answer {
        let hidden = fitting.hidden();
        let missing = self.missing.as_deref().or(hidden.as_deref()).or(later);
        let ids = &fitting.ids;
        let count = ids.len() as u64;
        let ops = self.ops(ids);
        let wanted = bounds.in_words(|count| number::count(count as f64));
        let said = format!(
            "{} found, expected {wanted}{}",
            number::count(count as f64),
            names(&ops)
        );
        let too_many = bounds.max.is_some_and(|max| count > max);
        let too_few = bounds.min.is_some_and(|min| count < min);
        let answer = match missing {
            _ if too_many => Answer::new(Verdict::NotMet, said),
            Some(why) if too_few || bounds.max.is_some() => {
                Answer::unknown(format!("{said}; there may be more, because {why}"))
            }
            _ => Answer::met_if(!too_few, said),
        };
        answer.about(ops)
    }

    fn present(&self, expected: &Expectation, fitting: &Fitting) -> Answer {
        let bounds = some_or_none(expected.present.unwrap_or(true));
        self.counted_of(bounds, fitting, self.uncompiled())
    }

    fn collectives(&self, expected: &Expectation, kind: Option<CollectiveKind>) -> Answer {
        let of_kind = self
            .contents
            .collectives
            .iter()
            .filter(|((other, _), _)| kind.is_none_or(|kind| kind == *other));
        let ids: BTreeSet<InstructionId> = of_kind
            .clone()
            .flat_map(|(_, sum)| sum.ids.clone())
            .collect();
        let is_filtered =
            expected.named.is_some() || expected.scope.is_some() || expected.source.is_some();
        let fitting = self.filtered(expected, |id, _| ids.contains(&id));
        let missing = self.missing.as_deref().or(self.unpartitioned());
        let mut answer = self.counted_of(expected.bounds(), &fitting, self.unpartitioned());
        let bytes = CountBounds {
            min: expected.min_bytes,
            max: expected.max_bytes,
        };
        if bytes == CountBounds::default() {
            return answer;
        }
        if is_filtered {
            answer.verdict = Verdict::Unknown;
            answer
                .message
                .push_str("; bytes are only known of all collectives of a kind");
            return answer;
        }
        let sum = of_kind.map(|(_, sum)| sum.bytes);
        let Some(sum) = sum.sum::<Option<u64>>() else {
            answer.verdict = Verdict::Unknown;
            answer.message.push_str("; the bytes of one are not known");
            return answer;
        };
        let _ = write!(
            answer.message,
            "; {}{} in one execution of the program, expected {}",
            if self.contents.is_least {
                "at least "
            } else {
                ""
            },
            number::bytes(sum),
            bytes.in_words(number::bytes)
        );
        let too_much = bytes.max.is_some_and(|max| sum > max);
        let too_little = bytes.min.is_some_and(|min| sum < min);
        let loops = "it is not known how often a loop runs";
        let missing = missing.or(self.contents.is_least.then_some(loops));
        if too_much || (too_little && missing.is_none()) {
            answer.verdict = Verdict::NotMet;
        } else if let Some(why) = missing
            && (too_little || bytes.max.is_some())
            && answer.verdict == Verdict::Met
        {
            answer.verdict = Verdict::Unknown;
            let _ = write!(answer.message, "; it may be more, because {why}");
        }
        answer
    }

    /// Whether the operands of all products have one type.
    fn products(&self, expected: &Expectation, dtype: &str) -> Answer {
        let is_product =
            |it: &Instruction| matches!(&*it.opcode, "dot" | "convolution" | "ragged-dot");
        let fitting = self.filtered(expected, |_, it| is_product(it));
        let missing = self.missing.clone().or(fitting.hidden());
        let products = fitting.ids;
        if products.is_empty() {
            return match missing {
                Some(why) => Answer::unknown(format!("no matrix product found, and {why}")),
                None => Answer::new(Verdict::NotMet, "there is no such matrix product"),
            };
        }
        let module = &self.timed.module;
        let types = |id: &InstructionId| {
            let operands = module.instruction(*id).into_iter();
            let operands = operands.flat_map(|it| module.operands(it).take(2));
            let types = operands.filter_map(|it| it.arrays().first().map(|array| array.dtype));
            types.collect::<Vec<_>>()
        };
        let is_other = |id: &&InstructionId| types(id).into_iter().any(|other| other != dtype);
        // Values from outside of a region are not among the operands.
        let unknown = products.iter().filter(|id| types(id).len() < 2).count();
        let missing = missing.or_else(|| {
            let products = counted(unknown, "matrix product");
            (unknown > 0).then(|| format!("not all types of {products} are known"))
        });
        let others: Vec<InstructionId> = products.iter().filter(is_other).copied().collect();
        let ops = self.ops(if others.is_empty() {
            &products
        } else {
            &others
        });
        let all = number::count(products.len() as f64);
        match (missing, others.len()) {
            (Some(why), 0) => Answer::unknown(format!(
                "no operand of {all} matrix products is known to be other than {dtype}, but {why}"
            )),
            (None, 0) if products.len() == 1 => Answer::new(
                Verdict::Met,
                format!("the operands of the matrix product are {dtype}"),
            ),
            (None, 0) => Answer::new(
                Verdict::Met,
                format!("the operands of {all} matrix products are {dtype}"),
            ),
            (_, others) => Answer::new(
                Verdict::NotMet,
                format!(
                    "{} of {all} matrix products have an operand that is not {dtype}{}",
                    number::count(others as f64),
                    names(&ops)
                ),
            ),
        }
        .about(ops)
    }

    fn contains(&self, it: &Instruction, opcodes: &[String]) -> bool {
        if &*it.opcode != "fusion" {
            return false;
        }
        let body = it.called.first().copied();
        body.is_some_and(|body| {
            let inside = opcodes_inside(&self.timed.module, body);
            opcodes
                .iter()
                .all(|opcode| inside.contains_key(opcode.as_str()))
        })
    }

    /// Whether an instruction moves data between the device and the host.
    fn is_host_copy(&self, it: &Instruction) -> bool {
        let on_host = |it: &Instruction| it.arrays().iter().any(|array| array.memory_space == HOST);
        let target = it.attributes().custom_call_target.as_deref();
        match &*it.opcode {
            "copy-start" | "copy" => {
                let from_host = self.timed.module.operands(it).any(on_host);
                from_host || on_host(it)
            }
            "infeed" | "outfeed" => true,
            "send" | "recv" => it.attributes().is_host_transfer,
            "custom-call" => target.is_some_and(|target| {
                matches!(
                    target,
                    "MoveToHost" | "MoveToDevice" | "annotate_device_placement"
                )
            }),
            _ => false,
        }
    }

    /// Instructions that move data between the device and the host.
    pub fn host_copies(&self) -> usize {
        self.timed
            .module
            .instructions
            .iter()
            .filter(|it| self.is_host_copy(it))
            .count()
    }

    /// Names of parameters that give their memory to a result, if no other parameter has the name.
    pub fn donated_parameters(&self) -> Vec<String> {
        let module = &self.timed.module;
        let parameters = module.parameters();
        let name = |it: &Instruction| {
            let name = if it.op_name.is_empty() {
                &it.name
            } else {
                &it.op_name
            };
            name.to_string()
        };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, it) in &parameters {
            *counts.entry(&it.op_name).or_default() += 1;
            if it.name != it.op_name {
                *counts.entry(&it.name).or_default() += 1;
            }
        }
        let is_only = |wanted: &String| counts.get(wanted.as_str()) == Some(&1);
        let donated = module.aliases.iter().map(|alias| alias.parameter);
        let mut numbers: Vec<u64> = donated.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let known = parameters
            .iter()
            .filter(|(number, _)| numbers.binary_search(number).is_ok());
        known.map(|(_, it)| name(it)).filter(is_only).collect()
    }

    fn peak(&self, max: u64) -> Answer {
        match &self.contents.peak {
            Ok(peak) => {
                let said = format!(
                    "{}, {}; expected at most {}",
                    number::bytes(peak.bytes),
                    peak.how(),
                    number::bytes(max)
                );
                match peak.fits(max) {
                    Some(fits) => Answer::met_if(fits, said),
                    None => Answer::unknown(format!(
                        "{said}: too close to tell without a plan, which has the padding"
                    )),
                }
            }
            Err(_) if self.timed.origin == ProgramOrigin::OpTexts => {
                Answer::unknown("peak memory is not known: the capture does not hold the program")
            }
            Err(why) => Answer::unknown(format!("peak memory is not known, because {why}")),
        }
    }

    /// Judges a sum over one execution of the program.
    fn sum(&self, total: u64, unknown: Option<String>, max: u64, unit: Unit) -> Answer {
        if self.timed.origin == ProgramOrigin::OpTexts {
            return Answer::unknown(
                "the capture does not hold the program: what is inside fusions is not known",
            );
        }
        let text = |sum: u64| number::value(sum as f64, unit);
        let of_all = self.contents.devices;
        let of_all = of_all.map_or_else(String::new, |all| format!(" of all {all} partitions"));
        let said = format!(
            "{} counted from shapes{of_all}, expected at most {}",
            text(total),
            text(max)
        );
        if total > max {
            let is_of_all = self.timed.module.is_unpartitioned() && !self.is_compiled;
            return if is_of_all {
                Answer::unknown(format!(
                    "{said}; it is of all devices together, because the program is not partitioned yet"
                ))
            } else {
                Answer::new(Verdict::NotMet, said)
            };
        }
        let loops = "it is not known how often a loop runs".to_owned();
        let why = self.missing.clone().or(unknown);
        match why.or(self.contents.is_least.then_some(loops)) {
            Some(why) => Answer::unknown(format!("{said}; it may be more, because {why}")),
            None => Answer::new(Verdict::Met, said),
        }
    }

    fn donated(&self, name: &str) -> Answer {
        let module = &self.timed.module;
        if self.timed.origin == ProgramOrigin::OpTexts {
            return Answer::unknown(
                "the lines of ops do not tell which parameters give their memory to results",
            );
        }
        let parameters = module.parameters();
        if parameters.is_empty() {
            return match &self.missing {
                Some(why) => Answer::unknown(format!("no parameter is known, because {why}")),
                None => Answer::new(Verdict::NotMet, "the program has no parameters"),
            };
        }
        let is_wanted = |it: &Instruction| glob(name, &it.op_name) || glob(name, &it.name);
        let wanted: Vec<_> = parameters.iter().filter(|(_, it)| is_wanted(it)).collect();
        let aliases = module.aliases.iter().map(|alias| alias.parameter);
        let donors = module.donors.iter().map(|(donor, _)| *donor);
        let donated: BTreeSet<u64> = aliases.chain(donors).collect();
        let is_donated = |number: u64| donated.contains(&number);
        let kept: Vec<HloOp> = wanted
            .iter()
            .filter(|(number, _)| !is_donated(*number))
            .map(|(_, it)| self.timed.op(it))
            .collect();
        let all = number::count(wanted.len() as f64);
        if wanted.is_empty() {
            let said = format!("no parameter is called {name:?}");
            if parameters.iter().all(|(_, it)| it.op_name.is_empty()) && !self.is_compiled {
                return Answer::unknown(format!("{said}, and the text has no names of arguments"));
            }
            return Answer::new(Verdict::NotMet, said);
        }
        let said = match (kept.len(), wanted.len()) {
            (0, 1) => "the parameter gives its memory to a result".to_owned(),
            (0, _) => format!("all {all} parameters give their memory to a result"),
            (1, 1) => format!("the parameter keeps its memory{}", names(&kept)),
            (some, _) => format!(
                "{} of {all} parameters keep their memory{}",
                number::count(some as f64),
                names(&kept)
            ),
        };
        Answer::met_if(kept.is_empty(), said).about(kept)
    }
}
