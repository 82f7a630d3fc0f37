use hardware::chips::chips;

use super::*;

/// The limits of a chip, without memory and links.
fn limits(chip: &str) -> Limits {
    Limits {
        links: None,
        ..Limits::of(Chip::named(chip).unwrap(), None).unwrap()
    }
}

#[test]
fn every_named_register_layout_is_known() {
    let named = || chips().iter().filter(|chip| chip.counters.is_some());
    assert_eq!(
        named().map(|chip| chip.id.as_str()).collect::<Vec<_>>(),
        ["v6e", "v7x"]
    );
    assert!(named().all(|chip| Limits::of(chip, None).is_some()));
}

/// Counts of one v6e core over a million cycles, computed by hand.
#[test]
fn v6e_counter_formulas() {
    let counts: Counts = [
        (CountedQuantity::Cycles, 1e6),
        (CountedQuantity::Scalar, 4e5),
        (CountedQuantity::VectorAlu, 1e6),
        (CountedQuantity::Store, 1e5),
        (CountedQuantity::Load, 5e5),
        (CountedQuantity::MxuBusy(1), 2e5),
        (CountedQuantity::MxuBusy(2), 3e5),
        (
            CountedQuantity::Matmul {
                mxu: 0,
                dtype: Dtype::Bf16,
                from_register: false,
            },
            5e4,
        ),
        (
            CountedQuantity::Matmul {
                mxu: 1,
                dtype: Dtype::Bf16,
                from_register: true,
            },
            1e4,
        ),
        (
            CountedQuantity::Matmul {
                mxu: 1,
                dtype: Dtype::I8,
                from_register: false,
            },
            2e4,
        ),
        (CountedQuantity::Matpush, 1e5),
        (CountedQuantity::Xlu(1), 5e4),
        (CountedQuantity::XluBusy(1), 1e5),
        (CountedQuantity::HbmRead, 1e6),
        (CountedQuantity::HbmWrite, 5e5),
        (CountedQuantity::IciRead, 1e5),
    ]
    .map(|(what, value)| (KnownCounter { die: 0, what }, value))
    .into();
    let limits = Limits {
        hbm: Some(1.638e12),
        links: Some(4e11),
        ..limits("v6e")
    };
    let found = metrics(&counts, &limits);
    let expected = [
        ("scalar", 20.0),
        ("vector_alu", 25.0),
        ("vector_stores", 10.0),
        ("vector_loads", 25.0),
        ("mxu_busy", 40.0),
        ("mxu_0", 20.0),
        ("mxu_1", 12.0),
        ("mxu_bf16", 14.0),
        ("mxu_int8", 2.0),
        ("mxu_matpush", 5.0),
        ("xlu_busy", 5.0),
        ("xlu_1", 20.0),
        // 48 MB of 1.638 TB/s over 571.4 µs.
        ("hbm", 100.0 * 48e6 / (1.638e12 * 1e6 / 1.75e9)),
        ("ici_read", 100.0 * 12.8e6 / (4e11 * 1e6 / 1.75e9)),
    ];
    assert_eq!(
        found.iter().map(|metric| metric.id).collect::<Vec<_>>(),
        expected.map(|(id, _)| id)
    );
    for (metric, (id, percent)) in found.iter().zip(expected) {
        assert!(
            (metric.percent().unwrap() - percent).abs() < 1e-9,
            "{id}: {metric:?}"
        );
    }
}

/// Throttled cycles count: the denominator is the power manager's count, for each die.
#[test]
fn v7x_counters_of_both_cores_and_throttling() {
    let counts: Counts = [
        (0, CountedQuantity::Cycles, 8e5),
        (0, CountedQuantity::PowerCycles, 1e6),
        (0, CountedQuantity::Skipped, 2e5),
        (
            0,
            CountedQuantity::Matmul {
                mxu: 0,
                dtype: Dtype::F8,
                from_register: true,
            },
            1e5,
        ),
        (1, CountedQuantity::PowerCycles, 1e6),
        (1, CountedQuantity::MxuBusy(2), 9e5),
        (1, CountedQuantity::IciWrite, 1e4),
    ]
    .map(|(die, what, value)| (KnownCounter { die, what }, value))
    .into();
    let limits = limits("v7x");
    let found: Vec<_> = metrics(&counts, &limits)
        .iter()
        .map(|metric| (metric.id, metric.core, metric.percent()))
        .collect();
    assert_eq!(
        found,
        [
            ("clocks_skipped", Some(0), Some(20.0)),
            ("mxu_0", Some(0), Some(80.0)),
            ("mxu_fp8", Some(0), Some(40.0)),
            ("mxu_busy", Some(1), Some(90.0)),
            ("ici_write", None, None),
        ]
    );
}

use super::known::{CountedQuantity, Dtype};

#[test]
fn no_utilization_without_cycles() {
    let counts: Counts = [(
        KnownCounter {
            die: 0,
            what: CountedQuantity::Scalar,
        },
        4e5,
    )]
    .into();
    assert_eq!(metrics(&counts, &limits("v6e")), []);
}

#[test]
fn notes_tell_sums_from_series() {
    let one = "each device has one sample: its counts are sums over the time of that sample";
    assert_eq!(how_read(1, 1), one);
    assert!(
        how_read(1, 5)
            .ends_with("up to 5 readings of a counter, a series, of which the last counts")
    );
    assert!(how_read(3, 1).starts_with("a device has up to 3 samples"));
}
