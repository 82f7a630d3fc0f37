//! Collects layers, tiles and models with start and end, in cycles.

use std::collections::VecDeque;

use hashbrown::HashSet;
use importer_common::prelude::*;
use importer_common::simulated::{LineProblem, core_of, unreadable, went_back};

use super::line::{CoreUtilization, MatmulDims, OnnximLine};

/// Maximum number of words of a model name.
const MAX_WORDS: usize = 16;

/// An executed layer.
#[derive(Debug)]
pub(super) struct OnnximLayer {
    pub name: StringId,
    pub id: OnnximNumber,
    /// Known from its end, or from its first tile.
    pub begin: Option<i64>,
    /// `None` until it ends.
    pub end: Option<i64>,
}

/// The number of a layer in graph order, from the ends of its tiles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum OnnximNumber {
    #[default]
    Unknown,
    Known(u64),
    /// Its tiles have several numbers: it was confused with another layer of the same name.
    Several,
}

/// Part of a layer on one core.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnnximTile {
    pub layer: StringId,
    /// Index among the layers of that name.
    of: usize,
    pub core: u32,
    pub begin: i64,
    pub end: Option<i64>,
}

/// The costs of a matrix product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OnnximMatmul {
    pub sizes: MatmulDims,
    pub gflops: Option<f64>,
    pub gigabytes: Option<f64>,
    /// Lower bound of the duration, by the simulator's clock.
    pub least_ms: Option<f64>,
}

/// Utilization of a core up to a cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnnximSample {
    pub until: i64,
    pub usage: CoreUtilization,
}

/// Activity of one core.
#[derive(Debug, Default)]
pub(super) struct OnnximCore {
    pub gflops: Option<f64>,
    /// Samples, each for the time since the previous one.
    pub samples: Vec<OnnximSample>,
    /// Sample of the whole run.
    pub total: Option<OnnximSample>,
    /// Tiles in the order in which the core received them; those at the front may have ended.
    got: VecDeque<usize>,
    /// Received tiles of layers that had no number yet.
    got_unnumbered: VecDeque<usize>,
    /// Received tiles by layer.
    got_of: HashMap<StringId, VecDeque<usize>>,
}

/// One request to a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnnximRequest {
    pub name: StringId,
    pub start_us: i64,
    pub end: i64,
}

/// One simulation run.
#[derive(Debug, Default)]
pub(super) struct OnnximRun {
    pub cores: BTreeMap<u32, OnnximCore>,
    pub layers: Vec<OnnximLayer>,
    pub tiles: Vec<OnnximTile>,
    pub products: Vec<OnnximMatmul>,
    pub requests: Vec<OnnximRequest>,
    pub dram_gigabytes: Option<f64>,
    pub dram_percent: Option<f64>,
    /// Cycles and whole microseconds of the run, if it finished.
    pub ended: Option<(i64, i64)>,
    /// The last cycle in the log.
    pub now: i64,
    /// Number of announced layers; some schedulers announce none.
    pub announced: usize,
    /// How often the log states that only one layer was ready to start.
    pub without_choice: usize,
    /// Whether several layers could be started at any time.
    pub had_choice: bool,
    /// The model names that precede layer names in lines about the end of a layer.
    pub models: OnnximModels,
    /// Names of layers by number, because the ends of tiles have numbers.
    names: HashMap<u64, StringId>,
    /// Layers with a number.
    numbered: HashSet<StringId>,
    /// The layer that the next duration belongs to.
    ended_last: Option<usize>,
    /// Open layers by name, in start order.
    open: HashMap<Box<str>, VecDeque<usize>>,
}

/// The model names that occur in the log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum OnnximModels {
    #[default]
    Unnamed,
    One(Box<str>),
    Several,
}

impl OnnximModels {
    fn add(&mut self, name: &str) {
        match self {
            Self::Unnamed => *self = Self::One(name.into()),
            Self::One(known) if **known != *name => *self = Self::Several,
            _ => {}
        }
    }
}

impl OnnximRun {
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty() && self.tiles.is_empty()
    }

    /// Whether the run hangs: the log ends without an end, all cores are idle, and work is left.
    pub fn is_stuck(&self) -> bool {
        let idle = |usage: CoreUtilization| usage.array == 0.0 && usage.vector == 0.0;
        let stands = |core: &OnnximCore| {
            core.samples
                .last()
                .is_some_and(|last| last.until == self.now && idle(last.usage))
        };
        let waits = self.layers.is_empty() || self.layers.iter().any(|layer| layer.end.is_none());
        self.ended.is_none() && waits && !self.cores.is_empty() && self.cores.values().all(stands)
    }

    /// Sets a peak in GFLOP/s as if each of two cores had printed it.
    #[cfg(test)]
    pub fn set_peak(&mut self, gflops: Option<f64>) {
        self.cores.extend([0, 1].map(|core| {
            (
                core,
                OnnximCore {
                    gflops,
                    ..OnnximCore::default()
                },
            )
        }));
    }

    /// Whether these may be layers of several models.
    pub fn has_several_models(&self) -> bool {
        let first = self.requests.first().map(|request| request.name);
        self.models == OnnximModels::Several
            || self
                .requests
                .iter()
                .any(|request| Some(request.name) != first)
    }
}

/// All simulations of a log; the last one is used.
#[derive(Debug, Default)]
pub(super) struct OnnximRuns {
    pub last: OnnximRun,
    pub earlier: usize,
}

impl OnnximRuns {
    /// Handles a message of the log.
    pub fn add(&mut self, message: &str, out: &mut TraceBuilder) -> OnnximUpdate {
        let Some(parsed) = super::line::parse(message) else {
            return Ok(());
        };
        match parsed.map_err(|()| unreadable())? {
            OnnximLine::Begin => {
                let before = std::mem::take(&mut self.last);
                self.earlier += usize::from(!before.is_empty());
                Ok(())
            }
            line => self.last.add(&line, out),
        }
    }
}

type OnnximUpdate = Result<(), LineProblem>;

impl OnnximRun {
    fn add(&mut self, line: &OnnximLine<'_>, out: &mut TraceBuilder) -> OnnximUpdate {
        let lasts = std::mem::take(&mut self.ended_last);
        match *line {
            OnnximLine::Peak { core, gflops } => {
                core_of(&mut self.cores, core)?.gflops = Some(gflops);
            }
            OnnximLine::DramPeak { gigabytes } => self.dram_gigabytes = Some(gigabytes),
            // Before the end of the run, the value refers to an interval.
            OnnximLine::DramUsage { percent } if self.ended.is_some() => {
                self.dram_percent = Some(percent);
            }
            OnnximLine::Sizes(_) | OnnximLine::Work { .. } | OnnximLine::LeastCompute { .. } => {
                self.product(line);
            }
            OnnximLine::Begin | OnnximLine::DramUsage { .. } | OnnximLine::Ready { layers: 0 } => {}
            OnnximLine::Ready { layers } => {
                self.had_choice |= layers > 1;
                self.without_choice += usize::from(layers == 1);
            }
            OnnximLine::Start { layer } => {
                self.announced += 1;
                self.begin_layer(layer, out);
            }
            OnnximLine::GetTile { layer, core, cycle } => self.get_tile(layer, core, cycle, out)?,
            OnnximLine::FinishTile { layer, core, cycle } => {
                self.finish_tile(layer, core, cycle)?;
            }
            OnnximLine::Finish { layer, cycle } => self.finish_layer(layer, cycle, out)?,
            OnnximLine::Took { cycles } => {
                let Some(layer) = lasts.and_then(|index| self.layers.get_mut(index)) else {
                    return Err((
                        IssueKind::MalformedEvent,
                        "a layer duration without the end of a layer before it".to_owned(),
                    ));
                };
                let begin = layer.end.unwrap_or_default() - cycles;
                if begin < 0 {
                    let what = format!("a layer that took {cycles} cycles begins at cycle {begin}");
                    return Err((IssueKind::BadDuration, what));
                }
                layer.begin = Some(begin);
            }
            OnnximLine::Model {
                name,
                start_us,
                cycle,
            } => {
                self.pass(cycle)?;
                self.requests.push(OnnximRequest {
                    name: out.intern(name),
                    start_us,
                    end: cycle,
                });
            }
            OnnximLine::End { cycle, us } => {
                self.pass(cycle)?;
                self.ended = Some((cycle, us));
            }
            OnnximLine::Usage { core, cycle, usage } => {
                self.pass(cycle)?;
                let ended = self.ended.is_some();
                let (core, sample) = (
                    core_of(&mut self.cores, core)?,
                    OnnximSample {
                        until: cycle,
                        usage,
                    },
                );
                if ended {
                    core.total = Some(sample);
                } else {
                    core.samples.push(sample);
                }
            }
        }
        Ok(())
    }

    /// Handles the costs of a matrix product.
    fn product(&mut self, line: &OnnximLine<'_>) {
        let last = self.products.last_mut();
        match (line, last) {
            (OnnximLine::Sizes(sizes), _) => {
                self.products.push(OnnximMatmul {
                    sizes: *sizes,
                    gflops: None,
                    gigabytes: None,
                    least_ms: None,
                });
            }
            (OnnximLine::Work { gflops, gigabytes }, Some(product)) => {
                let some = |amount: f64| (amount > 0.0).then_some(amount);
                (product.gflops, product.gigabytes) = (some(*gflops), some(*gigabytes));
            }
            (OnnximLine::LeastCompute { ms }, Some(product)) => product.least_ms = Some(*ms),
            _ => {}
        }
    }

    /// Advances the time; it never goes back.
    fn pass(&mut self, cycle: i64) -> OnnximUpdate {
        if cycle < self.now {
            return Err(went_back(cycle, self.now));
        }
        self.now = cycle;
        Ok(())
    }

    fn add_layer(&mut self, name: &str, out: &mut TraceBuilder) -> usize {
        self.layers.push(OnnximLayer {
            name: out.intern(name),
            id: OnnximNumber::Unknown,
            begin: None,
            end: None,
        });
        self.layers.len() - 1
    }

    fn begin_layer(&mut self, name: &str, out: &mut TraceBuilder) -> usize {
        let index = self.add_layer(name, out);
        match self.open.get_mut(name) {
            Some(open) => open.push_back(index),
            None => drop(self.open.insert(name.into(), VecDeque::from([index]))),
        }
        index
    }

    fn get_tile(
        &mut self,
        name: &str,
        core: u32,
        cycle: i64,
        out: &mut TraceBuilder,
    ) -> OnnximUpdate {
        self.pass(cycle)?;
        let first = self.open.get(name).and_then(VecDeque::front).copied();
        let of = first.unwrap_or_else(|| self.begin_layer(name, out));
        let layer = out.intern(name);
        if let Some(layer) = self.layers.get_mut(of) {
            layer.begin.get_or_insert(cycle);
        }
        let tile = self.tiles.len();
        let is_numbered = self.numbered.contains(&layer);
        let core_of_tile = core_of(&mut self.cores, core)?;
        core_of_tile.got.push_back(tile);
        core_of_tile
            .got_of
            .entry(layer)
            .or_default()
            .push_back(tile);
        if !is_numbered {
            core_of_tile.got_unnumbered.push_back(tile);
        }
        self.tiles.push(OnnximTile {
            layer,
            of,
            core,
            begin: cycle,
            end: None,
        });
        Ok(())
    }

    /// Handles the end of a tile. A core may work on several tiles at once, and lines about the end of a tile give a
    /// layer number instead of a name. The first tile of the core, preferably of a layer without a number, determines
    /// which layer has this number.
    fn finish_tile(&mut self, number: u64, core: u32, cycle: i64) -> OnnximUpdate {
        self.pass(cycle)?;
        let known = self.names.get(&number).copied();
        let Some(state) = self.cores.get_mut(&core) else {
            return Err((
                IssueKind::EndWithoutBegin,
                format!("core {core} never started a tile"),
            ));
        };
        let tiles = &self.tiles;
        let has_ended = |index: usize| tiles.get(index).is_none_or(|tile| tile.end.is_some());
        let is_numbered = |index: usize| {
            tiles
                .get(index)
                .is_none_or(|tile| self.numbered.contains(&tile.layer))
        };
        let tile = match known {
            Some(layer) => state
                .got_of
                .get_mut(&layer)
                .and_then(|got| front(got, has_ended)),
            None => front(&mut state.got_unnumbered, |index| {
                has_ended(index) || is_numbered(index)
            })
            .or_else(|| front(&mut state.got, has_ended)),
        };
        let Some(tile) = tile.and_then(|index| self.tiles.get_mut(index)) else {
            // The barrier at the end of a layer is logged like the end of a tile that no core received.
            let what = format!("core {core} ends a tile of layer {number} that it did not start");
            return if known.is_some() {
                Ok(())
            } else {
                Err((IssueKind::EndWithoutBegin, what))
            };
        };
        tile.end = Some(cycle);
        self.names.insert(number, tile.layer);
        self.numbered.insert(tile.layer);
        if let Some(layer) = self.layers.get_mut(tile.of) {
            layer.id = match layer.id {
                OnnximNumber::Unknown => OnnximNumber::Known(number),
                OnnximNumber::Known(other) if other == number => layer.id,
                _ => OnnximNumber::Several,
            };
        }
        Ok(())
    }

    fn finish_layer(&mut self, name: &str, cycle: i64, out: &mut TraceBuilder) -> OnnximUpdate {
        self.pass(cycle)?;
        let open = match self.end_open(name) {
            Some(index) => Some(index),
            // Prefer the longest name of an open layer.
            None => name
                .match_indices(' ')
                .take(MAX_WORDS)
                .find_map(|(space, _)| {
                    let index = self.end_open(&name[space + 1..])?;
                    self.models.add(&name[..space]);
                    Some(index)
                }),
        };
        let index = open.unwrap_or_else(|| self.add_layer(name, out));
        if let Some(layer) = self.layers.get_mut(index) {
            layer.end = Some(cycle);
        }
        self.ended_last = Some(index);
        Ok(())
    }

    /// Removes and returns the first open layer of the name.
    fn end_open(&mut self, name: &str) -> Option<usize> {
        let open = self.open.get_mut(name)?;
        let index = open.pop_front();
        if open.is_empty() {
            self.open.remove(name);
        }
        index
    }
}

/// The first tile that is not `over`; those before it are removed.
fn front(tiles: &mut VecDeque<usize>, over: impl Fn(usize) -> bool) -> Option<usize> {
    while tiles.front().is_some_and(|index| over(*index)) {
        tiles.pop_front();
    }
    tiles.front().copied()
}
