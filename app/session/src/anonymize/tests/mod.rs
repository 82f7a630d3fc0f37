mod planted;

use super::*;

/// A text with its names replaced, after names were learned from it.
fn replaced(text: &str) -> String {
    replaced_as(text, TextKind::Value, Names::default())
}

fn replaced_as(text: &str, kind: TextKind, mut names: Names) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let regions = [Region {
        range: 0..bytes.len(),
        kind,
    }];
    learn(&bytes, &regions, &mut names);
    replace(&mut bytes, &regions, &mut names, &mut Kept::default());
    assert_eq!(bytes.len(), text.len());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn folders_and_files_are_replaced_and_lines_and_endings_stay() {
    for (text, expected) in [
        (
            "/home/alice/proj/train.py:12",
            "/home/n0000/n000/n0001.py:12",
        ),
        (
            "source_file=\"/data/x/model.py\" source_line=3",
            "source_file=\"/n000/n/n0000.py\" source_line=3",
        ),
        ("$train.py:12 main", "$n0000.py:12 main"),
        ("models/secret/layers.py", "n00000/n00001/n00002.py"),
        ("gs://bucket/run 7/x", "gs://n00000/n00 7/x"),
        (r"C:\Users\alice\x.py", r"C:\Users\n0000\n.py"),
        ("~/proj/data", "~/n000/n001"),
        ("/a/b.py /a/b.py /a/c.py", "/n/o.py /n/o.py /n/p.py"),
        ("alice@company.com", "n0000@n0000000000"),
        ("connect 10.20.30.40:8470", "connect n0000000000:8470"),
        ("connect [2001:db8::7]:8470", "connect [n0000000000]:8470"),
        ("card 02:42:ac:11:00:02", "card n0000000000000000"),
        (
            "https://acme.com/x?X-Sig=deadbeef&e=60 1",
            "https://n0000001/n?X-Sig=n0000000&e=n0 1",
        ),
        (r"\\files\team\model", r"\\n0000\n000\n0001"),
        ("job of user=alice", "job of user=n0000"),
        (
            "grpc at db-1.acme.internal:9000",
            "grpc at n00000000.internal:9000",
        ),
        ("%2Fhome%2Falice%2Fx.py", "%2Fhome%2Fn0000%2Fn.py"),
        (
            "/home/alice/x by ALICE, %61lice and Alice_2",
            "/home/n0000/n by n0000, n000000 and n0000_2",
        ),
        (
            "/home/alice/x of x%2Falice%2Fy, not x%41alice",
            "/home/n0000/n of x%2Fn0000%2Fy, not x%41alice",
        ),
    ] {
        assert_eq!(replaced(text), expected, "{text}");
    }
}

/// Stacks of calls are one string with several lines; a package ends the names of its own line only.
#[test]
fn lines_of_json_are_told_apart() {
    let stack = r"/home/alice/env/site-packages/torch/nn.py:1\n/home/alice/env/site-packages/torch/f.py:2\n/srv/x/run.py:3";
    let expected = r"/home/n0000/env/site-packages/torch/nn.py:1\n/home/n0000/env/site-packages/torch/f.py:2\n/n00/n/n01.py:3";
    assert_eq!(
        replaced_as(stack, TextKind::Json, Names::default()),
        expected
    );
    // A folder that begins with n, behind an escaped backslash.
    assert_eq!(
        replaced_as(r"C:\\new\\x.py", TextKind::Json, Names::default()),
        r"C:\\n00\\n.py"
    );
}

#[test]
fn what_everybody_has_and_what_is_no_path_stays() {
    for text in [
        "/usr/lib/python3.11/site-packages/jax/_src/api.py:120",
        "external/xla/xla/pjrt/cpu/cpu_client.cc",
        "/device:TPU:0",
        "/host:CPU",
        "/job:worker/replica:0/task:0/device:TPU:0",
        "jit(train_step)/transformer/layer_0/dot_general",
        "transpose(jvp(Net))/Dense_0/dot_general",
        "%fusion.12 = bf16[8,128]{1,0:T(8,128)(2,1)} fusion(%p.1), kind=kLoop, calls=%fused.3",
        "TfrtCpuBuffer::Await 1.5/2.5",
        "a/b/c",
        "version 0.10.2",
        "$compilation_cache.py:209 get_executable_and_time",
        "127.0.0.1:9012",
        "...",
    ] {
        assert_eq!(replaced(text), text);
    }
}

#[test]
fn people_and_machines_are_found_everywhere() {
    let mut names = Names::default();
    names.learn(NameKind::Host, b"worker-7");
    let text = "/home/alice/x says alice_model on worker-7.c.proj, not malice";
    assert_eq!(
        replaced_as(text, TextKind::Value, names),
        "/home/n0000/n says n0000_model on n0000000.c.proj, not malice"
    );
    // A word of the user is found within others.
    let mut names = Names::default();
    names.learn(NameKind::Word, b"secret");
    assert_eq!(
        replaced_as("topsecret_fn", TextKind::Event, names),
        "topn00000_fn"
    );
    let mut names = Names::default();
    names.learn(NameKind::Host, b"localhost");
    assert_eq!(replaced_as("localhost", TextKind::Host, names), "localhost");
    // A machine with the name of a kind of event.
    let (mut names, mut bytes) = (Names::default(), *b"kernel ep_run_kernel");
    let regions = [(0..6, TextKind::Host), (7..20, TextKind::Event)]
        .map(|(range, kind)| Region { range, kind });
    learn(&bytes, &regions, &mut names);
    replace(&mut bytes, &regions, &mut names, &mut Kept::default());
    assert_eq!(&bytes, b"n00000 ep_run_kernel");
}

#[test]
fn json_stays_json() {
    let text = r#"{"name":"/home/al\u00e9x/a\nb.py","x":"C:\\Users\\alice\\f.py","n":1.5e3,"q":"say \"/srv/p/q.py\""}"#;
    let mut bytes = text.as_bytes().to_vec();
    let regions = regions_of(FileKind::Json, &bytes);
    let mut names = Names::default();
    learn(&bytes, &regions, &mut names);
    replace(&mut bytes, &regions, &mut names, &mut Kept::default());
    let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(value["n"], 1500.0);
    let text = String::from_utf8(bytes).unwrap();
    for secret in ["alice", "srv", "/p/q"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    // Cut anywhere, it is read to its end.
    (0..text.len()).for_each(|len| drop(regions_of(FileKind::Json, &text.as_bytes()[..len])));
}

#[test]
fn texts_in_messages_within_values_are_found() {
    use sample_traces::write::ProtoMessage;
    let mut space = ProtoMessage::default();
    space.text(4, "worker-7");
    space.message(1, |plane| {
        plane.text(2, "/host:metadata");
        plane.message(4, |entry| {
            entry.uint(1, 1);
            entry.message(2, |metadata| {
                metadata.text(2, "jit_step");
                metadata.message(5, |stat| {
                    stat.uint(1, 1);
                    // A program: a module with an instruction with its source.
                    stat.message(6, |program| {
                        program.message(1, |module| {
                            module.text(1, "jit_step");
                            module.uint(5, 77);
                            module.message(7, |metadata| {
                                metadata.text(2, "jit(step)/layer/dot");
                                metadata.text(3, "/home/alice/proj/train.py");
                                metadata.double(4, 1.5);
                            });
                        });
                    });
                });
            });
        });
        plane.text(99, "/new/field/of.py");
    });
    let before = space.into_bytes();
    let mut bytes = before.clone();
    let regions = regions_of(FileKind::XPlane, &bytes);
    let (mut names, mut kept) = (Names::default(), Kept::default());
    learn(&bytes, &regions, &mut names);
    replace(&mut bytes, &regions, &mut names, &mut kept);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    for secret in ["alice", "proj", "train", "worker-7", "/new/field"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("jit(step)/layer/dot") && text.contains("/host:metadata"));
    // Only bytes of texts have changed.
    let changed = (0..before.len()).filter(|&at| before[at] != bytes[at]);
    let in_text = |at: usize| {
        regions
            .iter()
            .any(|region| region.range.contains(&at) && region.kind != TextKind::Opaque)
    };
    assert!(changed.clone().count() > 20 && changed.clone().all(in_text));
    // Cut anywhere, no name is left, and what cannot be read is empty.
    for len in 0..before.len() {
        let mut bytes = before[..len].to_vec();
        let (mut names, mut kept) = (Names::default(), Kept::default());
        let regions = regions_of(FileKind::XPlane, &bytes);
        learn(&bytes, &regions, &mut names);
        replace(&mut bytes, &regions, &mut names, &mut kept);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in ["alice", "proj", "train", "worker-7", "/new/field"] {
            assert!(!text.contains(secret), "{secret} in {len}: {text}");
        }
        assert_eq!(
            regions_of(FileKind::XPlane, &bytes),
            regions,
            "the same is read, up to {len}"
        );
    }
}

/// A region alone, with other names, and what is kept of it.
fn replaced_alone(text: &[u8], kind: TextKind) -> (String, Kept) {
    let (mut bytes, mut kept) = (text.to_vec(), Kept::default());
    replace(
        &mut bytes,
        &[Region {
            range: 0..text.len(),
            kind,
        }],
        &mut Names::default(),
        &mut kept,
    );
    (String::from_utf8_lossy(&bytes).into_owned(), kept)
}

/// A program of the compiler whose lengths are wrong is no message, but its texts are still there.
#[test]
fn texts_in_data_are_found_and_listed() {
    let data = b"\x0a\xff\x01\x00\x80/home/alice/proj/train.py\x00\x01\xfelayers/x";
    let (text, kept) = replaced_alone(data, TextKind::Opaque);
    assert!(
        text.contains("/home/n0000/n000/n0001.py") && text.contains("layers/x"),
        "{text}"
    );
    let listed = ["/home/n0000/n000/n0001.py", "layers/x"].map(str::to_owned);
    assert_eq!(
        kept.texts,
        BTreeMap::from([(TextKind::Opaque, BTreeSet::from(listed))])
    );
    // The length before a text looks like a letter, and the damage has cut the path.
    let (text, _) = replaced_alone(
        b"\x1a8/home/alice/project/examples/run\x04\x98 project",
        TextKind::Opaque,
    );
    assert!(
        ["alice", "project", "examples", "run"]
            .iter()
            .all(|name| !text.contains(name)),
        "{text}"
    );
    let (_, kept) = replaced_alone(&[0xff; 40], TextKind::Opaque);
    assert_eq!(
        (kept.texts.len(), kept.opaque_bytes),
        (0, 40),
        "it holds no text"
    );
}

/// What is replaced is as damaged as before, so that the same damage is counted.
#[test]
fn bytes_that_are_no_text_stay() {
    let text = b"$f\xffoundation.py:3 caf\xc3\xa9/secret.py /\xff\xff/\xfe/x.py";
    let (shown, _) = replaced_alone(text, TextKind::Event);
    assert_eq!(shown.matches('\u{fffd}').count(), 4, "{shown}");
    assert!(
        ["oundation", "caf", "secret"]
            .iter()
            .all(|name| !shown.contains(name)),
        "{shown}"
    );
}
