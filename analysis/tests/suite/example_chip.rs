//! How to add a chip: the worked example of ARCHITECTURE.md.
//!
//! Published chips are entries of `assets/chips.toml`, which importers read as well; a user writes the same into a file
//! for `--device-spec`.

use std::sync::Arc;

use analysis::hardware::chips::Chip;
use analysis::reports::Utilization;
use analysis::{Context, Options, Provenance, ReportCache, Scope};
use importers::{ImportOptions, Progress};

/// What differs from v6e. An entry of the table has a source for every fact and no base.
const CHIP: &str = r#"
id = "v6x"
base = "v6e"
bf16_flops = 1836e12
hbm_bandwidth = 3276e9
"#;

#[test]
fn chip_example_is_registered() {
    // JSON exports record no peaks, so those of the chip count.
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v6e_4chip_padded.trace.json.gz"
    );
    let model =
        importers::import_path(path.as_ref(), &ImportOptions::default(), &Progress::new()).unwrap();
    let mfu = |chip: Arc<Chip>| {
        let options = Options {
            own_chip: Some(chip),
            ..Options::default()
        };
        let reports = ReportCache::default();
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let report = cx.report::<Utilization>().unwrap();
        let metric = report.metric("mfu_window_percent").unwrap();
        assert_eq!(metric.provenance, Provenance::AssumedPeak, "{metric:?}");
        metric.value.unwrap()
    };
    let chip = Chip::from_toml(CHIP, "v6x.toml").unwrap();
    assert_eq!(
        (chip.id.as_str(), chip.mxu_dim),
        ("v6x", 256),
        "what the file does not say is that of the base"
    );
    let twice_as_fast = mfu(Arc::new(chip));
    let published = mfu(Arc::new(Chip::named("v6e").unwrap().clone()));
    assert!(
        (published / twice_as_fast - 2.0).abs() < 1e-9,
        "{published} {twice_as_fast}"
    );
}
