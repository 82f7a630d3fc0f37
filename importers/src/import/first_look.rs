//! A part of a large file that is read soon, for a window that reads all of it meanwhile.

use std::path::Path;

use importer_common::ImportOptions;
use input::{InputSource, Progress, ProgressStage};
use profiler_formats::xplane;
use trace_model::TraceModel;

use super::{import_of_host, locate, open_file};

/// A smaller file is read about as soon as a window is open.
const WORTH_IT: u64 = 24 << 20;
/// Bytes of events that are read meanwhile.
const SOON: u64 = 6 << 20;

/// The first devices, or threads, of what `path` names; `None` where all of it is there about as soon, or may only be read
/// as a whole: several files, packed ones, those of buckets, other formats. What is wrong with a file is left to
/// [`import_path`](super::import_path).
pub fn first_look(path: &Path, options: &ImportOptions, progress: &Progress) -> Option<TraceModel> {
    if input::is_remote(path) || options.wait.is_some() {
        return None;
    }
    let located = locate(path, options, progress).ok()?;
    let [host] = &located.hosts[..] else {
        return None;
    };
    let file = host.files.first().filter(|file| file.is_file())?;
    // A small one is not read twice.
    if file.metadata().ok()?.len() < WORTH_IT {
        return None;
    }
    let source = open_file(file, options, progress).ok()?;
    first_look_at(&source, host.host.as_deref(), options, progress)
}

/// The first devices, or threads, of a file of a host, if its name is known; `None` as for [`first_look`].
pub fn first_look_at(
    source: &InputSource,
    host: Option<&str>,
    options: &ImportOptions,
    progress: &Progress,
) -> Option<TraceModel> {
    if source.packed_len() < WORTH_IT {
        return None;
    }
    xplane::event_bytes(source)?;
    let options = ImportOptions {
        first_look: Some(SOON),
        fingerprints: false,
        ..options.clone()
    };
    let look = import_of_host(source, host, &options, progress).ok();
    progress.begin(ProgressStage::Reading);
    look
}

#[cfg(test)]
mod tests {
    use trace_model::TrackId;

    use super::super::import_path;
    use super::*;

    const SAMPLE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v5e_8chip_overlap.xplane.pb"
    );

    fn read(first_look: Option<u64>) -> Option<TraceModel> {
        let options = ImportOptions {
            first_look,
            ..ImportOptions::default()
        };
        import_path(Path::new(SAMPLE), &options, &Progress::new()).ok()
    }

    /// Start, length and name of each slice of a track, by its names.
    fn slices(model: &TraceModel, track: TrackId) -> Vec<(i64, i64, String)> {
        let slices = model.slices_on(track);
        let slice = |slice: trace_model::SliceRef<'_>| {
            (
                slice.start().ps(),
                slice.range().dur().ps(),
                slice.name().to_owned(),
            )
        };
        slices.map(slice).collect()
    }

    fn names(model: &TraceModel, track: TrackId) -> (String, String) {
        let track = model.track(track);
        let group = model.group(track.group);
        (
            model.str(group.name).to_owned(),
            model.str(track.name).to_owned(),
        )
    }

    #[test]
    fn first_devices_are_as_in_the_whole_trace_and_the_others_are_empty() {
        let whole = read(None).unwrap();
        let options = ImportOptions::default();
        let source = open_file(Path::new(SAMPLE), &options, &Progress::new()).unwrap();
        let [of_devices, _] = xplane::event_bytes(&source).unwrap();
        let mut shown = Vec::new();
        for bytes in [1, of_devices / 3] {
            let look = read(Some(bytes)).unwrap();
            assert!(look.is_partial() && !whole.is_partial());
            let full = |track: &TrackId| look.slices_on(*track).next().is_some();
            let mut cores = 0;
            for core in look.tensor_cores() {
                let tracks: Vec<_> = look.tracks_of(core).into_iter().filter(full).collect();
                let name = look.str(look.group(core).name);
                let same = whole.tensor_cores().into_iter();
                let same = same.filter(|&core| whole.str(whole.group(core).name) == name);
                let all = same.flat_map(|core| whole.tracks_of(core));
                assert!(tracks.is_empty() || tracks.len() == all.count(), "{name}");
                cores += usize::from(!tracks.is_empty());
            }
            for track in look.track_ids().filter(full) {
                let name = names(&look, track);
                let same = whole.track_ids().find(|&same| names(&whole, same) == name);
                assert_eq!(slices(&look, track), slices(&whole, same.unwrap()));
            }
            shown.push(cores);
        }
        assert_eq!(shown[0], 1);
        assert!((2..8).contains(&shown[1]), "{shown:?}");
    }

    #[test]
    fn the_only_file_of_a_run_keeps_the_name_of_its_host() {
        let (options, progress) = (ImportOptions::default(), Progress::new());
        let source = open_file(Path::new(SAMPLE), &options, &progress).unwrap();
        let name = Some("worker-3".to_owned());
        let sources = vec![(name.clone(), source)];
        let model = super::super::import_sources(sources, &options, &progress).unwrap();
        assert_eq!(model.sources()[0].host, name);
    }

    #[test]
    fn file_that_is_read_soon_has_no_first_look() {
        assert!(read(Some(1 << 30)).is_none(), "it would be all of it");
        let look = first_look(
            Path::new(SAMPLE),
            &ImportOptions::default(),
            &Progress::new(),
        );
        assert!(look.is_none(), "it is small");
    }
}
