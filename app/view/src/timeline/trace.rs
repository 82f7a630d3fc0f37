//! An open trace with everything that is computed from it once: level of
//! detail, the list of tracks, colours.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::prelude::*;
use analysis::facts::host_class::{HostClass, classify};
use analysis::reports::OpsReport;
use analysis::{Scope, TraceFacts as _};
use trace_model::{Label, LodIndex, StringId, pausing};

use crate::palette::ColorKey;
use crate::state::ColorBy;
use crate::timeline::columns::class_of;
use crate::timeline::density::MinimapDensity;
use crate::timeline::scene::DrawnTrace;
use crate::timeline::tree::TrackTree;
use session::Session;

/// Opens a file; runs on a thread of its own. The error is a sentence.
pub type TraceLoader = Arc<dyn Fn(&Path, &Progress) -> Result<OpenTrace, String> + Send + Sync>;

/// Opens what is shown first of a large file, until all of it is read; `None` where nothing is gained by it.
pub type FirstLookLoader = Arc<dyn Fn(&Path, &Progress) -> Option<OpenTrace> + Send + Sync>;

#[derive(Clone)]
pub struct OpenTrace {
    /// The path it was opened from.
    pub path: PathBuf,
    /// The trace and its reports.
    pub session: Session,
    pub model: TraceModel,
    /// Level of detail of all lanes, in the colours `by_category`.
    pub lod: Arc<LodIndex>,
    /// Groups and tracks in order.
    pub tree: Arc<TrackTree>,
    /// Kinds of work of all ops.
    pub classes: Arc<OpClasses>,
    /// Kinds of work that occur and their colours, in the order of a legend.
    pub kinds: Arc<[(ColorKey, &'static str)]>,
    /// Colours of labels by kind of work.
    pub by_category: Arc<[ColorKey]>,
    /// Colours of labels by name.
    pub by_name: Arc<[ColorKey]>,
    /// Colours of labels by program.
    pub by_module: Arc<[ColorKey]>,
    /// The load over time, for the minimap.
    pub density: Arc<MinimapDensity>,
    /// Labels by their name.
    labels: Arc<HashMap<StringId, Vec<LabelId>>>,
    /// By label: its longest slice; computed on first use.
    longest: Arc<OnceLock<Vec<Option<SliceId>>>>,
}

impl OpenTrace {
    /// Prepares the trace of `session` for drawing; takes a moment for large ones.
    pub fn new(path: PathBuf, session: Session) -> Self {
        let model = session.model().clone();
        let tree = Arc::new(TrackTree::new(&model));
        let classes = Arc::clone(session.context(Scope::WholeTrace).classes());
        let name_key = |label: &Label| ColorKey::of_name(model.str(label.name));
        let by_name = model.labels().iter().map(name_key).collect();
        let by_category: Arc<[ColorKey]> = model
            .labels()
            .iter()
            .map(|label| match label.op {
                Some(op) => ColorKey::of_group(classes.class(op).group),
                None if is_compilation(model.str(label.name)) => ColorKey::COMPILATION,
                // Steps, programs and host functions are no kind of device work.
                None => name_key(label),
            })
            .collect();
        let lod = Arc::new(LodIndex::build(&model, class_of(&by_category)));
        let kinds = kinds(&model, &classes, &by_category);
        let module_key = |label: &Label| {
            let program = label.op.and_then(|op| model.op(op).program);
            program.map_or(name_key(label), |program| {
                ColorKey::of_name(model.str(model.program(program).name))
            })
        };
        let by_module = model.labels().iter().map(module_key).collect();
        let mut labels: HashMap<StringId, Vec<LabelId>> = HashMap::new();
        for (id, label) in model.label_ids().zip(model.labels()) {
            labels.entry(label.name).or_default().push(id);
        }
        let density = Arc::new(MinimapDensity::new(DrawnTrace {
            model: &model,
            lod: &lod,
            tree: &tree,
            keys: &by_category,
        }));
        let (labels, longest) = (Arc::new(labels), Arc::default());
        Self {
            path,
            session,
            model,
            lod,
            tree,
            classes,
            kinds,
            by_category,
            by_name,
            by_module,
            density,
            labels,
            longest,
        }
    }

    /// Colours of labels; those of their category where what others need is not known.
    pub fn keys<'a>(
        &'a self,
        color_by: ColorBy,
        efficiency: Option<&'a [ColorKey]>,
        change: Option<&'a [ColorKey]>,
    ) -> &'a [ColorKey] {
        let known = match color_by {
            ColorBy::Name => Some(&*self.by_name),
            ColorBy::Module => Some(&*self.by_module),
            ColorBy::Efficiency => efficiency,
            ColorBy::Change => change,
            ColorBy::Category => None,
        };
        known.unwrap_or(&self.by_category)
    }

    /// Colours of labels by the roofline efficiency of their op.
    pub fn by_efficiency(&self, report: &OpsReport) -> Vec<ColorKey> {
        let mut by_op = vec![None; self.model.ops().len()];
        for row in &report.rows {
            if let (Some(op), Some(percent)) = (row.op, row.rates.efficiency_percent)
                && let Some(slot) = by_op.get_mut(op.index())
            {
                *slot = Some(percent);
            }
        }
        let key =
            |op: Option<OpId>| match op.and_then(|op| by_op.get(op.index()).copied().flatten()) {
                Some(Percent(percent)) => ColorKey::of_share(percent),
                None => ColorKey::of_group(OpGroup::Idle),
            };
        self.model
            .labels()
            .iter()
            .map(|label| key(label.op))
            .collect()
    }

    pub fn labels_named(&self, name: &str) -> &[LabelId] {
        let id = self.model.strings().find(name);
        id.and_then(|id| self.labels.get(&id))
            .map_or(&[], Vec::as_slice)
    }

    /// The longest slice of some labels; of equal ones the first. The first call reads all
    /// slices of the trace.
    pub fn longest<'a>(&self, labels: impl IntoIterator<Item = &'a LabelId>) -> Option<SliceId> {
        let longest = self.longest.get_or_init(|| longest_of_labels(&self.model));
        let slices = labels
            .into_iter()
            .filter_map(|label| longest.get(label.index()).copied().flatten());
        slices.max_by_key(|&slice| {
            (
                measured_range(self.model.slice(slice), &self.model).dur(),
                Reverse(slice),
            )
        })
    }

    /// Finds what [`Self::longest`] needs, ahead of the first call.
    pub fn find_longest(&self) {
        if self.longest.get().is_none() {
            // Not inside the cell: where this can be interrupted, the window may ask meanwhile.
            let _ = self.longest.set(longest_of_labels(&self.model));
        }
    }

    /// Labels of these ops.
    pub fn labels_of(&self, ops: &BTreeSet<OpId>) -> BTreeSet<LabelId> {
        let all = self.model.label_ids().zip(self.model.labels());
        all.filter(|(_, label)| label.op.is_some_and(|op| ops.contains(&op)))
            .map(|(id, _)| id)
            .collect()
    }

    /// The share of a time that slices of some lanes cover, the mean over the lanes, and those of the kinds of work
    /// among them, largest first.
    pub fn shares_of(&self, lanes: &[usize], range: TimeRange) -> (f64, Vec<(&'static str, f64)>) {
        let mut covered_share = 0.0;
        let mut shares: BTreeMap<&'static str, f64> = BTreeMap::new();
        let whole = range.dur().ps().max(1) as f64 * lanes.len() as f64;
        for &lane in lanes {
            let (Some(of_model), sums) = (self.model.all_lanes().get(lane), self.lod.sums(lane))
            else {
                continue;
            };
            let ends = [range.start, range.end];
            sums.between(
                &self.model,
                of_model,
                class_of(&self.by_category),
                ends,
                |covered, _| {
                    for (&class, &ps) in sums
                        .classes()
                        .iter()
                        .zip(covered)
                        .filter(|(_, ps)| **ps > 0)
                    {
                        covered_share += ps as f64 / whole;
                        // Names have colours, too, but no kind.
                        let kind = self.kinds.iter().find(|(color, _)| color.0 == class);
                        if let Some((_, title)) = kind {
                            *shares.entry(title).or_default() += ps as f64 / whole;
                        }
                    }
                },
            );
        }
        let mut shares: Vec<_> = shares.into_iter().collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        (covered_share, shares)
    }

    /// The data that the timeline draws.
    pub fn scene(&self) -> DrawnTrace<'_> {
        DrawnTrace {
            model: &self.model,
            lod: &self.lod,
            tree: &self.tree,
            keys: &self.by_category,
        }
    }

    /// File name, preceded by the badge if times were not measured.
    pub fn title(&self) -> String {
        let badge = self
            .model
            .badge()
            .map_or_else(String::new, |badge| format!("{badge} · "));
        badge + &self.name()
    }

    /// File name.
    pub fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or(self.path.as_os_str())
            .to_string_lossy()
            .into_owned()
    }
}

/// Whether a host function traces, lowers or compiles a program.
fn is_compilation(name: &str) -> bool {
    matches!(
        classify(name),
        HostClass::Trace | HostClass::Lower | HostClass::Compile
    )
}

/// Kinds of work that occur and their colours.
fn kinds(
    model: &TraceModel,
    classes: &OpClasses,
    colors: &[ColorKey],
) -> Arc<[(ColorKey, &'static str)]> {
    let mut occurring = BTreeSet::new();
    for op in model.labels().iter().filter_map(|label| label.op) {
        occurring.insert(classes.class(op).group);
    }
    let mut kinds: Vec<_> = OpGroup::ALL
        .into_iter()
        .filter(|group| occurring.contains(group))
        .map(|group| (ColorKey::of_group(group), group.title()))
        .collect();
    let collective = ColorKey::of_group(OpGroup::Collective);
    let beside = model
        .track_ids()
        .filter(|&track| model.track(track).kind == TrackKind::AsyncOps);
    let mut beside = beside.flat_map(|track| model.slices_on(track));
    if let Some(index) = kinds.iter().position(|(color, _)| *color == collective)
        && beside.any(|slice| colors.get(slice.label_id().index()) == Some(&collective))
    {
        kinds.insert(index + 1, (ColorKey::IN_FLIGHT, "Collective in flight"));
    }
    if colors.contains(&ColorKey::COMPILATION) {
        kinds.push((ColorKey::COMPILATION, "Compilation"));
    }
    kinds.into()
}

/// By label: its longest slice; of equal ones the first.
fn longest_of_labels(model: &TraceModel) -> Vec<Option<SliceId>> {
    let mut longest = vec![None; model.labels().len()];
    for slice in pausing(model.all_slices()) {
        let dur = measured_range(slice, model).dur();
        if let Some(best) = longest.get_mut(slice.label_id().index())
            && best.is_none_or(|(length, _)| length < dur)
        {
            *best = Some((dur, slice.id()));
        }
    }
    longest
        .into_iter()
        .map(|best| best.map(|(_, slice)| slice))
        .collect()
}
