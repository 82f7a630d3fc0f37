//! Sessions about all samples, for tests.

use analysis::Options;
use importers::{ImportOptions, InputSource, Progress};

use crate::open::Session;

/// The samples that are formats of profilers, by their names.
pub(super) fn sessions() -> impl Iterator<Item = (String, Session)> {
    let is_profile = |name: &str| name.ends_with(".xplane.pb") || name.ends_with(".trace.json.gz");
    let profiles = sample_traces::sample_files()
        .into_iter()
        .filter(move |file| is_profile(&file.name));
    profiles.map(|file| {
        let source = InputSource::from_bytes(&file.name, file.bytes).expect("a sample is readable");
        let model = importers::import_source(&source, &ImportOptions::default(), &Progress::new());
        (
            file.name,
            Session::from_model(model.expect("a sample is readable"), Options::default()),
        )
    })
}
