//! An open trace with everything that is computed from it once: pyramids, the
//! list of tracks, colours.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::{OpClasses, OpGroup};
use importers::Progress;
use trace_model::{Label, LodIndex, TraceModel};

use super::theme::ColorKey;
use super::timeline::layout::Scene;
use super::timeline::tree::TrackTree;
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
        Self { path, session, model, lod, tree, classes: Arc::new(classes), groups, by_category, by_name }
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
