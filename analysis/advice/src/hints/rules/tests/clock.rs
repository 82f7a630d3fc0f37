//! The clock of the chip, and what throttles it.

use engine::HintOptions;
use sample_traces::text_builder;
use trace_model::{Picos, SliceAttr, SliceKey, Timestamp, TrackKind};

use super::{Hint, HintsReport, cannot_tell, report, report_of, run, saving};

fn found(picture: &str) -> Option<Hint> {
    report(picture)
        .hints
        .into_iter()
        .find(|hint| hint.id == "K43")
}

/// An op of 100 us that the matrix unit limits while the clock is at 9, then at 8; and one that memory limits.
fn few(high: usize, low: usize, work: &str) -> String {
    format!(
        "@column 1us\n@device flops=1e12 hbm=1e12 TPU v5 lite\nops: {}\ncounter Core clock MHz: {}{}\n\
         M = fusion.1 [convolution fusion] {work}",
        run('M', 100),
        run('9', high),
        run('8', low)
    )
}

const COMPUTE: &str = "flops=90000000 hbm_read=1000";

#[test]
fn clock_below_its_highest_value_costs_compute_bound_ops() {
    let hint = found(&few(60, 40, COMPUTE)).unwrap();
    assert_eq!(
        hint.statement,
        "the clock of /device:TPU:0 (series \"Core clock MHz\") is more than 5 % below its highest value for 40.0 % of its busy \
         time, down to 89 % of it"
    );
    // A ninth of 40 us.
    assert_eq!(saving(&few(60, 40, COMPUTE), "K43"), Some(4_444_444));
    assert_eq!(
        hint.evidence.last().unwrap().provenance,
        engine::Provenance::Inferred
    );
    // What memory limits need not wait for the clock of the core.
    let memory = few(60, 40, "flops=1000 hbm_read=90000000");
    assert!(found(&memory).is_some_and(|hint| hint.saving_ps.is_none()));
    let unknown = few(60, 40, "");
    assert!(found(&unknown).is_some_and(|hint| hint.saving_ps.is_none()));
    // Single samples are regulation, and a tenth of all is the limit of nothing.
    assert!(found(&few(96, 4, COMPUTE)).is_none());
    assert!(found(&few(95, 5, COMPUTE)).is_some());
    assert!(report(&few(100, 0, COMPUTE)).quiet.contains(&"K43"));
}

/// Steps of 10 us of which each runs the same ops; the clock of the first device falls after the second step, and while
/// nothing runs, which does not count.
fn many(first: &str, second: &str) -> String {
    let steps: String = ('0'..='7').map(|step| run(step, 10)).collect();
    let ops = "AABBAABB..".repeat(8);
    format!(
        "@column 1us\n@device flops=1e12 hbm=1e12 TPU v5 lite\nTPU:0 steps: {steps}\nTPU:0 ops: {ops}\nTPU:1 steps: \
         {steps}\nTPU:1 ops: {ops}\nTPU:0 counter TensorCore frequency GHz: {first}\nTPU:1 counter TensorCore frequency \
         GHz: {second}\nTPU:0 counter HBM clock MHz: {}\nA = fusion.1 [convolution fusion] flops=1900000 hbm_read=10\n\
         B = fusion.2 [loop fusion] flops=10 hbm_read=1900000",
        "1".repeat(80)
    )
}

#[test]
fn clock_of_several_devices_and_steps() {
    let high = "9".repeat(80);
    let low = format!("{}{}", "9".repeat(20), "6".repeat(60));
    let hint = found(&many(&low, &high)).unwrap();
    assert!(
        hint.statement.starts_with(
            "the clock of /device:TPU:0 (series \"TensorCore frequency GHz\") is more than 5 % below its highest value for 75.0 % of \
             its busy time, down to 67 % of it"
        ),
        "{}",
        hint.statement
    );
    assert!(
        !hint.statement.contains("more device"),
        "{}",
        hint.statement
    );
    // A third of 4 us of ops that compute limits, in six of eight steps.
    assert_eq!(hint.saving_ps, Some(Picos::from_ps(1_000_000)));
    let both = found(&many(&low, &low)).unwrap();
    assert!(
        both.statement
            .contains(", and that of one more device falls as well"),
        "{}",
        both.statement
    );
    // Where no op runs a clock may fall.
    let idle = "9999999922".repeat(8);
    assert!(found(&many(&idle, &high)).is_none());
}

#[test]
fn temperature_and_power_are_evidence_and_no_finding() {
    let heat = |clock: &str| {
        format!(
            "@column 10us\nops: MMMMMMMMMM\ncounter Core clock MHz: {clock}\ncounter Temperature C: 6667788899\n\
             counter Power W: 3333333333\nM = fusion.1 [convolution fusion]"
        )
    };
    let hint = found(&heat("9999966666")).unwrap();
    assert!(
        hint.statement
            .ends_with("; Temperature C rose from 6 to 8 by then; Power W stood at 3"),
        "{}",
        hint.statement
    );
    let evidence: Vec<_> = hint
        .evidence
        .iter()
        .filter(|seen| seen.what.contains("first falls"))
        .map(|seen| (&*seen.what, seen.value, &*seen.of))
        .collect();
    assert_eq!(evidence.len(), 2, "{evidence:?}");
    assert!(found(&heat("9999999999")).is_none());
}

#[test]
fn throttling_in_percent_is_a_hint_without_a_saving() {
    let with = |name: &str, value: f64| {
        let mut builder = text_builder(
            "@column 1us\nops: MMMM\nM = fusion.1 [convolution fusion]\ncounter x: 0000",
        );
        let named = builder.tracks().map(|(id, track)| (id, track.group));
        let group = named.last().unwrap().1;
        let track = builder.track(group, TrackKind::Counter, 99, name);
        builder.add_counter_sample(
            track,
            Timestamp::from_ps(0),
            Some(Picos::from_ps(2_000_000)),
            value,
        );
        builder.set_counter_unit(track, "%");
        report_of(&builder.finish(), HintOptions::default())
    };
    let found = with("Throttle", 40.0);
    let hint = found.hints.iter().find(|hint| hint.id == "K43").unwrap();
    assert!(
        hint.statement.contains("\"Throttle\" is 40.0 %"),
        "{}",
        hint.statement
    );
    assert_eq!(hint.saving_ps, None);
    assert!(with("Throttle", 1.0).quiet.contains(&"K43"));
    assert!(cannot_tell(&with("Temperature", 90.0), "K43"));
}

#[test]
fn lowered_clock_saving_is_the_missing_frequency() {
    let at = |columns: usize, scale: f64| {
        let ops = format!("{}{}", run('x', columns), run('M', 100 - columns));
        let picture = format!(
            "@column 1us\nops: {ops}\nx = fusion.1 [loop fusion]\nM = fusion.2 [convolution fusion]"
        );
        let mut builder = text_builder(&picture);
        let ops = builder
            .tracks()
            .find(|(_, track)| track.kind == TrackKind::Ops)
            .unwrap()
            .0;
        builder.set_attr(
            SliceKey::new(ops, 0),
            SliceAttr::TimeScaleBits,
            scale.to_bits() as i64,
        );
        report_of(&builder.finish(), HintOptions::default())
    };
    let saving = |report: &HintsReport| {
        report
            .hints
            .iter()
            .find(|hint| hint.id == "K43")
            .and_then(|hint| Some(hint.saving_ps?.ps()))
    };
    assert_eq!(saving(&at(5, 0.9)), Some(500_000));
    assert_eq!(saving(&at(4, 0.5)), None);
    assert_eq!(saving(&at(50, 0.995)), None);
    assert!(at(50, 1.0).quiet.contains(&"K43"));
    assert!(cannot_tell(
        &report("ops: MMMM\nM = fusion.1 [convolution fusion]"),
        "K43"
    ));
}

/// Four devices of which each runs a matmul of 40 us in 100 us, at these ratios of their default clocks.
fn four(ratios: [f64; 4]) -> HintsReport {
    let ops = format!("{}{}", run('M', 40), run('.', 59)) + "C";
    let lines = [0, 1, 2, 3].map(|nth| format!("TPU:{nth} ops: {ops}\n"));
    let lines = lines.concat();
    let mut builder = text_builder(&format!(
        "@column 1us\n{lines}M = fusion.1 [convolution fusion]\nC = copy.1 [copy]"
    ));
    let tracks: Vec<_> = (builder.tracks())
        .filter(|(_, track)| track.kind == TrackKind::Ops)
        .map(|(id, _)| id)
        .collect();
    for (ops, ratio) in tracks.into_iter().zip(ratios) {
        let bits = ratio.to_bits() as i64;
        builder.set_attr(SliceKey::new(ops, 0), SliceAttr::TimeScaleBits, bits);
    }
    report_of(&builder.finish(), HintOptions::default())
}

#[test]
fn throttled_devices_are_named() {
    let hint = |ratios| {
        let found = four(ratios).hints;
        found.into_iter().find(|hint| hint.id == "K43").unwrap()
    };
    let one = hint([1.0, 1.0, 0.8, 1.0]);
    assert_eq!(
        one.statement,
        "1 of 4 devices runs below its default clock: /device:TPU:2 in ops that take 40.0 % of its window, down to 80 % of the \
         default clock"
    );
    // A fifth of 40 us on that device, and not a twentieth on each.
    assert_eq!(one.saving_ps, Some(Picos::from_ps(8_000_000)));
    let seen = |hint: &Hint, what: &str| {
        let found = hint.evidence.iter().find(|seen| seen.what == what);
        found.map(|seen| (seen.value * 10.0).round() / 10.0)
    };
    // (32 + 1) of 41 us.
    assert_eq!(seen(&one, "clock of /device:TPU:2"), Some(80.5));
    assert_eq!(seen(&one, "lowest clock of the other devices"), Some(100.0));
    assert_eq!(seen(&one, "clock of /device:TPU:0"), None);

    let two = hint([0.9, 1.0, 0.8, 1.0]);
    assert!(
        two.statement.starts_with(
            "2 of 4 devices run below their default clock (/device:TPU:2, /device:TPU:0), most of all /device:TPU:2 in ops"
        ),
        "{}",
        two.statement
    );
    assert_eq!(seen(&two, "clock of /device:TPU:0"), Some(90.2));

    let all = hint([0.9, 0.9, 0.9, 0.8]);
    assert!(
        all.statement.starts_with(
            "all 4 devices run below their default clock, most of all /device:TPU:3 in ops that take 40.0 % of its window"
        ),
        "{}",
        all.statement
    );
    assert_eq!(seen(&all, "lowest clock of the other devices"), None);
    assert!(four([1.0; 4]).quiet.contains(&"K43"));
}
