//! How to add a format, from its bytes to the model: the worked example of ARCHITECTURE.md.
//!
//! ```text
//! tinysim 940 MHz
//! matmul 0 94
//! copy 94 188
//! ```
//!
//! A simulator of one device writes a line for each op: name, first cycle, cycles. In the crate
//! `simulator-formats`, the file is `src/tinysim.rs`, the registry is `IMPORTERS`, and logs are read line by line with
//! `input::lines`.

use importers::{
    DetectionConfidence, ImportError, ImportOptions, Importer, InputSource, Progress, TraceFormat,
    detect,
};
use trace_model::{
    GroupKind, IssueKind, Op, Picos, SliceSpec, Source, TimeRange, Timestamp, TraceBuilder,
    TraceModel, TrackKind,
};

struct TinySim;

/// The `formats` command, file dialogs and the message for unknown files follow from this.
static FORMAT: TraceFormat = TraceFormat {
    id: "tinysim",
    title: "tinysim log",
    extensions: &["tiny"],
    markers: &[],
    about: "Ops of one simulated device, in cycles.",
};

impl Importer for TinySim {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        if head.starts_with(b"tinysim") {
            DetectionConfidence::Certain
        } else {
            DetectionConfidence::No
        }
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        let content = source.content(progress)?;
        let text = String::from_utf8_lossy((*content.bytes).as_ref());
        let (head, ops) = text.split_once('\n').unwrap_or((&text, ""));
        let written = head
            .split_whitespace()
            .nth(1)
            .and_then(|mhz| mhz.parse::<f64>().ok());
        let clock = options
            .clock_mhz
            .or(written)
            .filter(|mhz| mhz.is_normal() && *mhz > 0.0);
        let Some(mhz) = clock else {
            // What cannot be used at all is an error that says how to help.
            let what = "it names no clock: add --clock".to_owned();
            return Err(ImportError::Unusable {
                format: FORMAT.title,
                what,
            });
        };

        let about = out.source_mut();
        about.simulator = Some("tinysim".to_owned()); // the badge: nothing here was measured
        about.cannot_know = vec!["operations", "bytes"];
        let device = out.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let track = out.track(device, TrackKind::Ops, 0, "XLA Ops");
        let program = out.program("tinysim", None);
        let at = |cycle: i64| Timestamp::from_ps((cycle as f64 * 1e6 / mhz) as i64);
        for (number, line) in ops.lines().enumerate() {
            let Some((name, start, cycles)) = op_of(line) else {
                // What is lost is counted, with an example of where.
                out.log(IssueKind::MalformedEvent, || {
                    format!("{}: line {}: {line:?}", source.name(), number + 2)
                });
                continue;
            };
            let name_id = out.intern(name);
            let op = out.op(Op {
                name: name_id,
                program: Some(program),
                ..Op::default()
            });
            let label = out.label(name, Some(op));
            let range = TimeRange::new(at(start), at(start.saturating_add(cycles)));
            out.add_slice(track, SliceSpec::new(range, label));
        }
        Ok(())
    }
}

/// `matmul 0 94` in parts. Numbers of a file can be anything: they are checked here.
fn op_of(line: &str) -> Option<(&str, i64, i64)> {
    let mut words = line.split_whitespace();
    let (name, start, cycles) = (
        words.next()?,
        words.next()?.parse().ok()?,
        words.next()?.parse().ok()?,
    );
    (0..=1 << 40).contains(&start).then_some(())?;
    (0..=1 << 40)
        .contains(&cycles)
        .then_some((name, start, cycles))
}

/// The line to add.
static REGISTRY: &[&dyn Importer] = &[&TinySim];

fn open(text: &str, options: &ImportOptions) -> Result<TraceModel, ImportError> {
    let source = InputSource::from_bytes("run.tiny", text.as_bytes().to_vec())?;
    let importer = detect(source.head(), REGISTRY)?;
    let mut builder = TraceBuilder::new();
    builder.begin_source(Source {
        format: importer.format().id,
        ..Source::default()
    });
    importer.import(&source, options, &Progress::new(), &mut builder)?;
    Ok(builder.finish())
}

#[test]
fn format_example_is_registered() {
    let model = open(
        "tinysim 940 MHz\nmatmul 0 94\ncopy 94 188\nfuse x\n",
        &ImportOptions::default(),
    )
    .unwrap();
    let track = model.track_ids().next().unwrap();
    let ops: Vec<_> = model
        .slices_on(track)
        .map(|slice| (slice.name().to_owned(), slice.dur()))
        .collect();
    assert_eq!(
        ops,
        [
            ("matmul".to_owned(), Picos::from_ps(100_000)),
            ("copy".to_owned(), Picos::from_ps(200_000))
        ]
    );
    assert_eq!(model.import_log().count(IssueKind::MalformedEvent), 1);
    assert_eq!(model.badge().as_deref(), Some("SIMULATED by tinysim"));

    let error = open("tinysim\nmatmul 0 94\n", &ImportOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot use this tinysim log: it names no clock: add --clock"
    );
    let named = ImportOptions {
        clock_mhz: Some(470.0),
        ..ImportOptions::default()
    };
    let slower = open("tinysim\nmatmul 0 94\n", &named).unwrap();
    assert_eq!(
        slower.slices_on(track).next().unwrap().dur(),
        Picos::from_ps(200_000)
    );
    assert!(matches!(
        open("nothing known", &named),
        Err(ImportError::UnknownFormat { .. })
    ));
}
