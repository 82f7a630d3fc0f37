//! Truncated files and unreadable events.

use super::*;

#[test]
fn truncated_file_keeps_its_beginning_and_is_logged() {
    let text = EVERYTHING.as_bytes();
    let whole = import(text).unwrap().slice_count();
    let mut most = 0;
    for len in 1..text.len() {
        match import(&text[..len]) {
            Ok(model) => {
                assert!(model.slice_count() <= whole);
                // Only whitespace follows the last brace.
                let complete = text[len..].iter().all(u8::is_ascii_whitespace);
                assert_eq!(
                    model.import_log().count(IssueKind::TruncatedFile),
                    u64::from(!complete),
                    "cut at {len}"
                );
                most = most.max(model.slice_count());
            }
            Err(ImportError::Malformed { .. }) => assert!(len < 90, "cut at {len}"),
            Err(error) => panic!("cut at {len}: {error}"),
        }
    }
    assert_eq!(most, whole);
}

#[test]
fn truncated_gzip_never_panics() {
    let packed = gzip(EVERYTHING.as_bytes());
    for len in 1..packed.len() {
        if let Ok(model) = import(&packed[..len]) {
            assert_eq!(
                model.import_log().count(IssueKind::TruncatedFile),
                1,
                "cut at {len}"
            );
        }
    }
}

#[test]
fn unreadable_event_loses_only_itself() {
    let good = |ts: u32| {
        format!(
            r#"{{"ph":"X","pid":1,"tid":1,"ts":{ts},"dur":1,"name":"good","args":{{"a":{{}}}}}}"#
        )
    };
    for bad in [
        r#"{"ph":"X",,"ts":1}"#,
        r#"{"ph":"X" "ts":1}"#,
        r#"{"ph":"X","name":"open,"ts":1,"dur":1}"#,
        r#"{"ph":"X","args":{"a":[1,2}},"ts":1}"#,
        r#"{"ph":"X","args":{"a":{"b":1},"ts":1}"#,
        r#"{"ph":X"}"#,
        r"{ph:1}",
        "null",
        "[1,2]",
        "\"text\"",
        "17",
        "?",
    ] {
        for (open, close) in [
            ("[", "]"),
            ("{\"traceEvents\":[", "],\"displayTimeUnit\":\"ns\"}"),
        ] {
            let text = format!("{open}{},{bad},{},{}{close}", good(1), good(2), good(3));
            let model = import(text.as_bytes()).unwrap();
            assert_eq!(model.slice_count(), 3, "{text}");
            assert_eq!(
                model.import_log().count(IssueKind::MalformedEvent),
                1,
                "{text}: {:?}",
                model.import_log()
            );
            assert_eq!(
                model.import_log().lost(),
                1,
                "{text}: {:?}",
                model.import_log()
            );
            for size in [1, 5] {
                assert_eq!(
                    dump(&in_windows(text.as_bytes(), size).unwrap()),
                    dump(&model),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn array_may_be_unterminated_but_object_may_not() {
    let event = r#"{"ph":"X","ts":1,"dur":1,"name":"n"}"#;
    let truncated = |text: String| {
        import(text.as_bytes())
            .unwrap()
            .import_log()
            .count(IssueKind::TruncatedFile)
    };
    assert_eq!(truncated(format!("[{event}")), 0);
    assert_eq!(truncated(format!("[{event},\n")), 0);
    assert_eq!(truncated(format!("[{event},{{\"ph\"")), 1);
    assert_eq!(truncated(format!("{{\"traceEvents\":[{event},")), 1);
    assert_eq!(truncated(format!("{{\"traceEvents\":[{event}]")), 1);
    assert_eq!(truncated(format!("{{\"traceEvents\":[{event}],}}")), 0);
    assert_eq!(truncated(format!("\u{feff}[{event}]")), 0);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
        let _ = import(&bytes);
        let _ = import(&[b"{\"traceEvents\":[", &bytes[..]].concat());
        let _ = import(&[b"[{\"ph\":\"X\",\"ts\":", &bytes[..], b"}]"].concat());
    }

    #[test]
    fn mutations_never_panic_or_depend_on_chunk_size(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..12),
        size in 1..600_usize,
    ) {
        let mut text = EVERYTHING.as_bytes().to_vec();
        for (at, byte, how) in changes {
            let at = at.index(text.len());
            match how {
                0 => text[at] = b"{}[]\",:\\ 0e.-n"[usize::from(byte) % 14],
                1 => drop(text.remove(at)),
                _ => text.insert(at, byte),
            }
        }
        match (import(&text), in_windows(&text, size)) {
            (Ok(whole), Ok(pieces)) => assert_eq!(dump(&whole), dump(&pieces)),
            (Err(whole), Err(pieces)) => assert_eq!(whole.to_string(), pieces.to_string()),
            (whole, pieces) => panic!("{whole:?} but {pieces:?}"),
        }
    }
}

/// Two devices and a host: what the file lost of a device is no idle time of it.
#[test]
fn devices_that_a_cut_file_does_not_hold_to_the_end_are_marked() {
    let mut text = "{\"traceEvents\":[".to_owned();
    for (pid, name) in [(1, "/device:TPU:0"), (2, "/device:TPU:1"), (3, "/host:CPU")] {
        let _ = write!(
            text,
            r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":"{name}"}}}},
            {{"ph":"M","pid":{pid},"tid":3,"name":"thread_name","args":{{"name":"XLA Ops"}}}},"#
        );
    }
    let event = |pid: u32, ts: u32| {
        format!(r#"{{"ph":"X","pid":{pid},"tid":3,"ts":{ts},"dur":1,"name":"fusion.1"}},"#)
    };
    let cut = |order: &[(u32, u32)]| {
        let events: String = order.iter().map(|&(pid, ts)| event(pid, ts)).collect();
        let model = import(format!("{text}{events}{{\"ph\"").as_bytes()).unwrap();
        let is_cut = |core| (model.device_name(core), model.group(core).is_cut);
        let found: Vec<_> = model.tensor_cores().into_iter().map(is_cut).collect();
        let logged = model.import_log().count(IssueKind::DeviceCut);
        assert_eq!(logged, found.iter().filter(|(_, cut)| *cut).count() as u64);
        found.into_iter().map(|(_, cut)| cut).collect::<Vec<_>>()
    };
    // One after the other: the first was written to its end.
    assert_eq!(cut(&[(1, 0), (1, 9), (2, 0)]), [false, true]);
    assert_eq!(cut(&[(1, 0), (1, 9)]), [true, true]);
    assert_eq!(cut(&[(1, 0), (2, 0), (3, 0)]), [false, false]);
    // By time: both may go on.
    assert_eq!(cut(&[(1, 0), (2, 0), (1, 5), (2, 5)]), [true, true]);
}
