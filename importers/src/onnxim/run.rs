//! From lines to layers, tiles and models with begin and end, in cycles.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;
use trace_model::{IssueKind, StringId, TraceBuilder};

use super::line::{Line, Sizes, Usage};
use crate::lines;

/// More cores than any chip has; each gets tracks of its own.
const MAX_CORES: u32 = 4096;

/// A layer that ran.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub name: StringId,
    /// Known from its end, or from its first tile.
    pub begin: Option<i64>,
    /// `None` until it ends.
    pub end: Option<i64>,
}

/// Part of a layer on one core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub layer: StringId,
    pub core: u32,
    pub begin: i64,
    pub end: Option<i64>,
}

/// What a product of matrices costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Product {
    pub sizes: Sizes,
    pub gflops: f64,
    pub gigabytes: f64,
    /// No layer can do it in less.
    pub least_ms: f64,
}

/// How busy a core was until a cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub until: i64,
    pub usage: Usage,
}

/// What one core did.
#[derive(Debug, Default)]
pub(super) struct Core {
    pub gflops: Option<f64>,
    /// Each since the one before.
    pub samples: Vec<Sample>,
    /// Of the whole run.
    pub total: Option<Sample>,
    open: VecDeque<usize>,
}

/// A model that was asked for once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub name: StringId,
    pub start_us: i64,
    pub end: i64,
}

/// One simulation.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub cores: BTreeMap<u32, Core>,
    pub layers: Vec<Layer>,
    pub tiles: Vec<Tile>,
    pub products: Vec<Product>,
    pub requests: Vec<Request>,
    pub dram_gigabytes: Option<f64>,
    pub dram_percent: Option<f64>,
    /// Cycles and whole microseconds of all of it, where it came to its end.
    pub ended: Option<(i64, i64)>,
    /// The last cycle that the log names.
    pub now: i64,
    /// How many layers were announced; some schedulers announce none.
    pub announced: usize,
    /// The number of a layer, which the ends of tiles name instead of its name.
    names: HashMap<u64, StringId>,
    /// The layer that the next length is of.
    ended_last: Option<usize>,
    /// Unended layers by name, in the order in which they began.
    open: HashMap<StringId, VecDeque<usize>>,
}

impl Run {
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty() && self.tiles.is_empty()
    }

    /// Whether all cores stood still when the log ended without an end.
    pub fn is_stuck(&self) -> bool {
        let idle = |usage: Usage| usage.array == 0.0 && usage.vector == 0.0;
        let last: Vec<Usage> = self.cores.values().filter_map(|core| Some(core.samples.last()?.usage)).collect();
        self.ended.is_none() && !last.is_empty() && last.into_iter().all(idle)
    }
}

/// All simulations of a log, of which the last counts.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub last: Run,
    pub earlier: usize,
}

impl Runs {
    /// Takes a line of `file`.
    pub fn add(&mut self, line: lines::Line<'_>, file: &str, out: &mut TraceBuilder) {
        if matches!(line.level, "error" | "critical") {
            out.log(IssueKind::ProfilerError, || format!("line {} of {file}: {}", line.number, line.message));
        }
        let Some(parsed) = super::line::parse(line.message) else { return };
        let wrong = match parsed {
            Ok(Line::Begin) => {
                let before = std::mem::take(&mut self.last);
                self.earlier += usize::from(!before.is_empty());
                Ok(())
            }
            Ok(parsed) => self.last.add(&parsed, out),
            Err(()) => Err((IssueKind::MalformedEvent, "cannot be read".to_owned())),
        };
        if let Err((kind, what)) = wrong {
            out.log(kind, || format!("line {} of {file}: {what}", line.number));
        }
    }
}

type Added = Result<(), (IssueKind, String)>;

impl Run {
    fn add(&mut self, line: &Line<'_>, out: &mut TraceBuilder) -> Added {
        let lasts = std::mem::take(&mut self.ended_last);
        match *line {
            Line::Begin => {}
            Line::Peak { core, gflops } => self.core(core)?.gflops = Some(gflops),
            Line::DramPeak { gigabytes } => self.dram_gigabytes = Some(gigabytes),
            Line::DramUsage { percent } => self.dram_percent = Some(percent),
            Line::Sizes(sizes) => {
                self.products.push(Product { sizes, gflops: 0.0, gigabytes: 0.0, least_ms: 0.0 });
            }
            Line::Work { gflops, gigabytes } => {
                if let Some(product) = self.products.last_mut() {
                    (product.gflops, product.gigabytes) = (gflops, gigabytes);
                }
            }
            Line::LeastCompute { ms } => {
                if let Some(product) = self.products.last_mut() {
                    product.least_ms = ms;
                }
            }
            Line::Start { layer } => {
                self.announced += 1;
                self.begin_layer(out.intern(layer));
            }
            Line::GetTile { layer, core, cycle } => self.get_tile(out.intern(layer), core, cycle)?,
            Line::FinishTile { layer, core, cycle } => self.finish_tile(layer, core, cycle)?,
            Line::Finish { layer, cycle } => self.finish_layer(out.intern(layer), cycle)?,
            Line::Took { cycles } => {
                let Some(layer) = lasts.and_then(|index| self.layers.get_mut(index)) else {
                    return Err((IssueKind::MalformedEvent, "a length that follows no end of a layer".to_owned()));
                };
                let begin = layer.end.unwrap_or_default() - cycles;
                if begin < 0 {
                    let what = format!("a layer that took {cycles} cycles begins at cycle {begin}");
                    return Err((IssueKind::BadDuration, what));
                }
                layer.begin = Some(begin);
            }
            Line::Model { name, start_us, cycle } => {
                self.pass(cycle)?;
                self.requests.push(Request { name: out.intern(name), start_us, end: cycle });
            }
            Line::End { cycle, us } => {
                self.pass(cycle)?;
                self.ended = Some((cycle, us));
            }
            Line::Usage { core, cycle, usage } => {
                self.pass(cycle)?;
                let ended = self.ended.is_some();
                let (core, sample) = (self.core(core)?, Sample { until: cycle, usage });
                if ended { core.total = Some(sample) } else { core.samples.push(sample) }
            }
        }
        Ok(())
    }

    fn core(&mut self, core: u32) -> Result<&mut Core, (IssueKind, String)> {
        if core >= MAX_CORES {
            return Err((
                IssueKind::MalformedEvent,
                format!("there is no core {core}: a chip has at most {MAX_CORES}"),
            ));
        }
        Ok(self.cores.entry(core).or_default())
    }

    /// Time only moves on.
    fn pass(&mut self, cycle: i64) -> Added {
        if cycle < self.now {
            let what = format!("cycle {cycle} comes after cycle {}; the line was passed over", self.now);
            return Err((IssueKind::BadTimestamp, what));
        }
        self.now = cycle;
        Ok(())
    }

    fn begin_layer(&mut self, name: StringId) -> usize {
        let index = self.layers.len();
        self.layers.push(Layer { name, begin: None, end: None });
        self.open.entry(name).or_default().push_back(index);
        index
    }

    fn get_tile(&mut self, layer: StringId, core: u32, cycle: i64) -> Added {
        self.pass(cycle)?;
        let first = self.open.get(&layer).and_then(VecDeque::front).copied();
        let index = first.unwrap_or_else(|| self.begin_layer(layer));
        if let Some(layer) = self.layers.get_mut(index) {
            layer.begin.get_or_insert(cycle);
        }
        let tile = self.tiles.len();
        self.core(core)?.open.push_back(tile);
        self.tiles.push(Tile { layer, core, begin: cycle, end: None });
        Ok(())
    }

    /// A core may work at several tiles at once, and ends name a number: the first tile of
    /// the core tells what it stands for.
    fn finish_tile(&mut self, number: u64, core: u32, cycle: i64) -> Added {
        self.pass(cycle)?;
        let known = self.names.get(&number).copied();
        let tiles = &mut self.tiles;
        let Some(state) = self.cores.get_mut(&core) else {
            return Err((IssueKind::EndWithoutBegin, format!("core {core} never got a tile")));
        };
        let is_of = |index: &usize| known.is_none() || tiles.get(*index).map(|tile| tile.layer) == known;
        let Some(tile) = state.open.iter().position(is_of).and_then(|at| state.open.remove(at)) else {
            // The barrier at the end of a layer ends like a tile that nobody got.
            let what = format!("core {core} ends a tile of layer {number} that it did not get");
            return if known.is_some() { Ok(()) } else { Err((IssueKind::EndWithoutBegin, what)) };
        };
        if let Some(tile) = tiles.get_mut(tile) {
            tile.end = Some(cycle);
            self.names.insert(number, tile.layer);
        }
        Ok(())
    }

    fn finish_layer(&mut self, name: StringId, cycle: i64) -> Added {
        self.pass(cycle)?;
        let open = self.open.get_mut(&name).and_then(VecDeque::pop_front);
        let index = open.unwrap_or_else(|| {
            self.layers.push(Layer { name, begin: None, end: None });
            self.layers.len() - 1
        });
        if let Some(layer) = self.layers.get_mut(index) {
            layer.end = Some(cycle);
        }
        self.ended_last = Some(index);
        Ok(())
    }
}
