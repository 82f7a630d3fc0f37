//! What programs of a server read from HBM: in a step that generates one token for each request, most weights once.
//!
//! The cache of keys and values comes on top of them: see [`super::cache`]. Where the capture holds no program, the texts
//! of its ops tell the weights: see [`super::op_texts`].
//!
//! Parameters of the entry computation that share no memory with results stay as they are: weights, apart from small
//! inputs. Of those that are only gathered or sliced (embeddings), no more than that is read, of others all. Those that
//! share memory with results are updated: the cache of keys and values, of which a step reads as much as its requests
//! have.

use std::cell::LazyCell;

use engine::number::{self, value};
use facts::hlo_for_now;
use facts::prelude::*;
use facts::window::counts;
use hardware::limits::possible;
use hlo::{ArrayShape, CostAnalysis, HBM, HloModule, Instruction, Shape};

use super::cache::{self, CacheReads};
use super::op_texts;
use super::report::{CacheFrom, ProgramReads, WeightsFrom};

/// Programs with fewer bytes of weights choose tokens or copy.
const LEAST_WEIGHTS: u64 = 1_000_000;
/// Programs that update fewer bytes have no cache of keys and values.
const LEAST_CACHE: u64 = 1_000_000;

#[derive(Default)]
struct Runs {
    count: u64,
    time: Picos,
    peaks: Option<Peaks>,
}

/// The programs that ran in the scope and read weights, by their time, the longest first.
pub(super) fn reads(cx: &Context<'_>) -> Result<Vec<ProgramReads>> {
    let known: BTreeMap<String, ProgramId> = cx
        .model
        .program_ids()
        .map(|id| (cx.model.program_title(id), id))
        .collect();
    let mut by_program: BTreeMap<ProgramId, Runs> = BTreeMap::new();
    for core in cx.tensor_cores() {
        let Some(window) = cx.window(core)? else {
            continue;
        };
        for (program, _) in cx.programs_on_host(core) {
            let id = known.get(program.name());
            let Some(&id) = id.filter(|_| counts(cx, window, program)) else {
                continue;
            };
            let runs = by_program.entry(id).or_default();
            runs.count += 1;
            runs.time += program.measured_dur();
            runs.peaks.get_or_insert_with(|| cx.peaks(core));
        }
    }
    // Programs without products choose tokens, select rows or copy: what they read are inputs, not weights.
    by_program.retain({
        let with_products = with_products(cx);
        move |id, _| with_products.contains(id)
    });
    let mut caches = cache::cache_reads(cx);
    // Only where a program is missing: the texts of all ops are taken apart.
    let texts = LazyCell::new(|| op_texts::parameter_bytes(cx));
    let mut rows: Vec<(Picos, ProgramReads)> = by_program
        .into_iter()
        .filter_map(|(id, runs)| {
            let title = cx.model.program_title(id);
            let inputs = match hlo_for_now(cx, id) {
                Ok(module) => parameter_bytes(&module)
                    .map(|(weights, updated)| (weights, updated, WeightsFrom::Program)),
                Err(_) => texts
                    .get(&*title)
                    .map(|&(weights, updated)| (weights, updated, WeightsFrom::OpTexts)),
            };
            let cache = caches.remove(&*title).unwrap_or_default();
            Some((runs.time, of_program(&title, inputs?, &cache, &runs)?))
        })
        .collect();
    largest_first(&mut rows, |row| row.0, |row| &row.1.program);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Programs with matrix products or kernels, which may contain some.
fn with_products(cx: &Context<'_>) -> BTreeSet<ProgramId> {
    let classes = cx.classes();
    let ops = cx.model.op_ids().filter(|op| {
        matches!(
            classes.class(*op).group,
            OpGroup::MatMul | OpGroup::CustomKernel
        )
    });
    ops.filter_map(|op| cx.model.op(op).program).collect()
}

fn of_program(
    title: &str,
    (weights, updated, weights_from): (u64, u64, WeightsFrom),
    cache: &CacheReads,
    runs: &Runs,
) -> Option<ProgramReads> {
    let mean = runs.time.as_ps_f64() / runs.count as f64;
    let peak = runs.peaks.as_ref()?.hbm;
    let at_peak = |bytes: f64| peak.map(|peak| bytes / peak.per_second * 1e12);
    // With experts or other branches it reads fewer, and may take less.
    let of_mean = |time: Option<f64>| {
        let share = possible(Percent::ratio(time?, mean)?.0)?;
        Some(Percent(share))
    };
    let least = at_peak(weights as f64);
    // Fewer bytes are a state of something else.
    let of_cache = Some(updated).filter(|&bytes| bytes >= LEAST_CACHE);
    let (cache_from, known) = cache.known(runs.time.as_ps_f64(), peak, of_cache.is_some());
    let each = |all: f64| (all / runs.count as f64).round();
    let cache_bytes = known.map(each);
    let bound = match cache_from {
        CacheFrom::NotKnown => None,
        _ => at_peak(weights as f64 + cache_bytes.unwrap_or(0.0)),
    };
    // A cache is not larger than the parameters that it lies in.
    let most = cache.limit().map(each).map(|bytes| bytes as u64);
    let most = most.into_iter().chain(of_cache).min();
    let mut row = ProgramReads {
        program: Arc::from(title),
        occurrences: runs.count,
        mean_time_ps: mean,
        weight_bytes: weights,
        updated_bytes: updated,
        cache_bytes: cache_bytes.map(|bytes| bytes as u64),
        cache_from,
        most_cache_bytes: most.filter(|_| cache_from == CacheFrom::NotKnown),
        least_time_ps: least,
        least_percent: of_mean(least),
        bound_time_ps: bound,
        bound_percent: of_mean(bound),
        weights_from,
        finding: String::new(),
    };
    row.finding = row.in_words();
    (weights >= LEAST_WEIGHTS).then_some(row)
}

impl ProgramReads {
    /// What bounds the time of the program from below.
    fn in_words(&self) -> String {
        let share = |time: Option<f64>, percent: Option<Percent>| {
            let Some(time) = time.map(|time| value(time, Unit::Picoseconds)) else {
                return ", for which the peak of HBM is not known".to_owned();
            };
            match percent {
                Some(percent) => {
                    format!(", which takes at least {time}, {percent:.1} of its mean time")
                }
                None => format!(
                    ", which would take {time} at the peak of HBM, more than it takes: it does not read all of it"
                ),
            }
        };
        let program = self.program.split('(').next().unwrap_or_default();
        let weights = format!(
            "{program} reads {} of weights",
            number::bytes(self.weight_bytes)
        );
        let of_weights = share(self.least_time_ps, self.least_percent);
        let (more, bound) = match (self.cache_from, self.cache_bytes) {
            (CacheFrom::NoCache, _) => {
                return weights + &of_weights + "; no cache of keys and values is seen";
            }
            (CacheFrom::Declared, Some(cache)) => (
                format!(
                    "{} of its cache of keys and values as its attention kernel declares, queries and results included",
                    number::bytes(cache)
                ),
                share(self.bound_time_ps, self.bound_percent),
            ),
            (CacheFrom::Shapes, Some(cache)) => (
                format!(
                    "{} of its cache of keys and values by the shapes of its attention kernel",
                    number::bytes(cache)
                ),
                share(self.bound_time_ps, self.bound_percent),
            ),
            _ => {
                let most = self.most_cache_bytes.map_or_else(String::new, |most| {
                    format!("; it is at most {}", number::bytes(most))
                });
                return format!(
                    "{weights}{of_weights}; what it reads of its cache of keys and values is not known, because captures do not \
                     hold the lengths of sequences{most}. The bound is that of the weights alone, a lower limit"
                );
            }
        };
        format!("{weights} and {more}{bound}")
    }
}

/// Bytes in HBM that are read of parameters that share no memory with results, and all bytes of those that do.
fn parameter_bytes(module: &HloModule) -> Option<(u64, u64)> {
    let mut weights = 0_u64;
    let mut updated = 0_u64;
    let read = CostAnalysis::new(module).parameter_reads();
    for (number, parameter) in module.parameters() {
        for (place, array) in places(parameter) {
            if array.memory_space != HBM {
                continue;
            }
            let bytes = array.bytes()?;
            let is_updated = module
                .aliases
                .iter()
                .any(|alias| alias.parameter == number && alias.parameter_index == place);
            let (sum, bytes) = match read.get(&number) {
                _ if is_updated => (&mut updated, bytes),
                // A tuple is read by its parts.
                Some(&read) if place.is_empty() => (&mut weights, bytes.min(read)),
                _ => (&mut weights, bytes),
            };
            *sum = sum.checked_add(bytes)?;
        }
    }
    Some((weights, updated))
}

/// The arrays of a parameter with their places in its tuple.
fn places(parameter: &Instruction) -> Vec<(Vec<u64>, &ArrayShape<'static>)> {
    parameter
        .shape
        .as_deref()
        .map(Shape::arrays_with_index)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_are_updated_are_no_weights() {
        let text = "HloModule jit_step, is_scheduled=true, input_output_alias={ {1}: (2, {}, may-alias) }\n\n\
                    ENTRY %main (p0: bf16[1024,512], p1: s32[8], p2: bf16[64,16,128], p3: bf16[32000,512], \
                    p4: bf16[4096], p5: bf16[2,512]) -> (s32[8], bf16[64,16,128]) {\n  \
                    %p0 = bf16[1024,512]{1,0} parameter(0)\n  \
                    %p1 = s32[8]{0:S(6)} parameter(1)\n  \
                    %p2 = bf16[64,16,128]{2,1,0} parameter(2)\n  \
                    %p3 = bf16[32000,512]{1,0} parameter(3)\n  \
                    %p4 = bf16[4096]{0} parameter(4)\n  \
                    %p5 = bf16[2,512]{1,0} parameter(5)\n  \
                    %e = bf16[8,512]{1,0} gather(%p3, %p1), offset_dims={1}\n  \
                    %n = bf16[1024,512]{1,0} negate(%p0)\n  \
                    %v = bf16[2,512]{1,0} bitcast(%p5)\n  \
                    %l = (bf16[8,512]{1,0}, bf16[2,512]{1,0}) tuple(%e, %v)\n  \
                    ROOT %t = (s32[8]{0}, bf16[64,16,128]{2,1,0}) tuple(%p1, %p2)\n}\n";
        let module = hlo::TextProgram::read(text).unwrap().module;
        // Of the embeddings the rows that are gathered; nothing of a parameter without use.
        let weights = 1024 * 512 + 8 * 512 + 2 * 512;
        let cache = 64 * 16 * 128 * 2;
        assert_eq!(parameter_bytes(&module), Some((weights * 2, cache)));
        // Parts of one tuple.
        let text = "HloModule jit_step, is_scheduled=true, input_output_alias={ {}: (0, {1}, may-alias) }\n\n\
                    ENTRY %main (p: (bf16[512], bf16[64])) -> bf16[64] {\n  \
                    %p = (bf16[512]{0}, bf16[64]{0}) parameter(0)\n  \
                    %w = bf16[512]{0} get-tuple-element(%p), index=0\n  \
                    ROOT %c = bf16[64]{0} get-tuple-element(%p), index=1\n}\n";
        let module = hlo::TextProgram::read(text).unwrap().module;
        assert_eq!(parameter_bytes(&module), Some((1024, 128)));
    }
}
