//! An open trace with everything that is computed from it once: pyramids, the
//! list of tracks, colours.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::ops::OpsReport;
use analysis::{OpClasses, OpGroup};
use importers::Progress;
use trace_model::{Label, LabelId, LodIndex, OpId, StringId, TraceModel};

use super::density::Density;
use super::layout::Scene;
use super::palette::ColorKey;
use super::tree::TrackTree;
use crate::session::Session;

/// Opens a file; runs on a thread of its own. The error is a sentence.
pub type Loader = Arc<dyn Fn(&Path, &Progress) -> Result<OpenTrace, String> + Send + Sync>;

/// An open trace.
#[derive(Clone)]
pub struct OpenTrace {
    /// Where it came from.
    pub path: PathBuf,
    /// The trace and its reports.
    pub session: Session,
    /// The trace.
    pub model: Arc<TraceModel>,
    /// Pyramids of all lanes.
    pub lod: Arc<LodIndex>,
    /// Groups and tracks in order.
    pub tree: Arc<TrackTree>,
    /// Kinds of work of all ops.
    pub classes: Arc<OpClasses>,
    /// Kinds of work that occur, in the order of a legend.
    pub groups: Arc<[OpGroup]>,
    /// Colours of labels by kind of work.
    pub by_category: Arc<[ColorKey]>,
    /// Colours of labels by name.
    pub by_name: Arc<[ColorKey]>,
    /// Colours of labels by program.
    pub by_module: Arc<[ColorKey]>,
    /// How full the trace is, for its minimap.
    pub density: Arc<Density>,
    /// Labels by their name.
    labels: Arc<HashMap<StringId, Vec<LabelId>>>,
}

impl OpenTrace {
    /// Prepares the trace of `session` for drawing; takes a moment for large ones.
    pub fn new(path: PathBuf, session: Session) -> Self {
        let model = Arc::clone(session.model());
        let lod = Arc::new(LodIndex::build(&model));
        let tree = Arc::new(TrackTree::new(&model));
        let classes = OpClasses::new(&model);
        let occurs = |&group: &OpGroup| {
            model.labels().iter().filter_map(|label| label.op).any(|op| classes.class(op).group == group)
        };
        let groups = OpGroup::ALL.into_iter().filter(occurs).collect();
        let name_key = |label: &Label| ColorKey::of_name(model.str(label.name));
        let by_name = model.labels().iter().map(name_key).collect();
        let by_category = model
            .labels()
            .iter()
            .map(|label| match label.op {
                Some(op) => ColorKey::of_group(classes.class(op).group),
                // Steps, programs and host functions are no kind of device work.
                None => name_key(label),
            })
            .collect();
        let module_key = |label: &Label| {
            let program = label.op.and_then(|op| model.op(op).program);
            program.map_or(name_key(label), |program| ColorKey::of_name(model.str(model.program(program).name)))
        };
        let by_module = model.labels().iter().map(module_key).collect();
        let mut labels: HashMap<StringId, Vec<LabelId>> = HashMap::new();
        for (id, label) in model.label_ids().zip(model.labels()) {
            labels.entry(label.name).or_default().push(id);
        }
        let density = Arc::new(Density::new(&model, &lod, &tree));
        let (classes, labels) = (Arc::new(classes), Arc::new(labels));
        Self { path, session, model, lod, tree, classes, groups, by_category, by_name, by_module, density, labels }
    }

    /// Colours of labels by how near their op comes to its limit.
    pub fn by_efficiency(&self, report: &OpsReport) -> Vec<ColorKey> {
        let mut by_op = vec![None; self.model.ops().len()];
        for row in &report.rows {
            if let (Some(op), Some(percent)) = (row.op, row.efficiency_percent)
                && let Some(slot) = by_op.get_mut(op.index())
            {
                *slot = Some(percent);
            }
        }
        let key = |op: Option<OpId>| match op.and_then(|op| by_op.get(op.index()).copied().flatten()) {
            Some(percent) => ColorKey::of_share(percent),
            None => ColorKey::of_group(OpGroup::Idle),
        };
        self.model.labels().iter().map(|label| key(label.op)).collect()
    }

    /// Labels that are written so.
    pub fn labels_named(&self, name: &str) -> &[LabelId] {
        let id = self.model.strings().find(name);
        id.and_then(|id| self.labels.get(&id)).map_or(&[], Vec::as_slice)
    }

    /// Labels of these ops.
    pub fn labels_of(&self, ops: &BTreeSet<OpId>) -> BTreeSet<LabelId> {
        let all = self.model.label_ids().zip(self.model.labels());
        all.filter(|(_, label)| label.op.is_some_and(|op| ops.contains(&op))).map(|(id, _)| id).collect()
    }

    /// What the timeline draws from.
    pub fn scene(&self) -> Scene<'_> {
        Scene { model: &self.model, lod: &self.lod, tree: &self.tree }
    }

    /// File name, for titles.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}
