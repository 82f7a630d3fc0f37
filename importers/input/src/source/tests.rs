//! Packed, damaged and changed files.

use sample_traces::write::gzip;

use super::*;
use crate::sniffing::looks_like;

#[test]
fn gzip_members_are_joined() {
    let packed = [gzip(b"[{\"ph\":"), gzip(b"\"X\"}]")].concat();
    let source = InputSource::from_bytes("two members", packed).unwrap();
    assert!(source.is_gzip());
    assert_eq!(source.head(), b"[{\"ph\":\"X\"}]");
    let content = source.content(&Progress::new()).unwrap();
    assert_eq!((*content.bytes).as_ref(), b"[{\"ph\":\"X\"}]");
}

#[test]
fn truncated_gzip_yields_its_content_and_is_reported() {
    let text: Vec<u8> = (0..200_000_u32)
        .flat_map(|i| (i.wrapping_mul(2_654_435_761) % 997).to_le_bytes())
        .collect();
    let mut packed = gzip(&text);
    packed.truncate(packed.len() / 2);
    let source = InputSource::from_bytes("cut", packed).unwrap();
    let content = source.content(&Progress::new()).unwrap();
    let bytes = (*content.bytes).as_ref();
    assert!(!bytes.is_empty() && text.starts_with(bytes));
    assert!(content.damage.is_some());
}

#[test]
fn gzip_bomb_is_rejected_early() {
    let zeros = vec![0_u8; 64 << 20];
    let member = gzip(&zeros);
    let mut packed = Vec::new();
    for _ in 0..40 {
        packed.extend_from_slice(&member);
    }
    let source = InputSource::from_bytes("bomb", packed).unwrap();
    let fed = source.feed(&Progress::new(), |window, _| Ok(window.len()));
    assert!(matches!(fed, Err(ImportError::TooLarge { .. })), "{fed:?}");
}

#[test]
fn rejects_directories_and_empty_files() {
    let dir = tempfile::tempdir().unwrap();
    let error = InputSource::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("directory"), "{error}");
    let empty = dir.path().join("empty.json");
    fs::write(&empty, b"").unwrap();
    assert!(looks_like(InputSource::open(&empty).unwrap().head()).contains("empty"));
    fs::write(&empty, gzip(b"")).unwrap();
    assert!(looks_like(InputSource::open(&empty).unwrap().head()).contains("empty"));
    assert!(InputSource::open(&dir.path().join("missing")).is_err());
}

#[test]
fn file_changed_since_import_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.json");
    for content in [b"[1234]".to_vec(), gzip(b"[1234]")] {
        fs::write(&path, content).unwrap();
        let mut later = DeferredReader::new(&InputSource::open(&path).unwrap());
        let mut read = |start, len| {
            let mut bytes = Vec::new();
            later.read(start, len, &mut bytes).map(|()| bytes)
        };
        assert_eq!(read(1, 2).unwrap(), b"12");
        assert_eq!(read(4, 100).unwrap(), b"4]");
        assert_eq!(read(9, 1).unwrap(), b"");
        assert_eq!(read(1, 4).unwrap(), b"1234");
        fs::write(&path, b"[ ]").unwrap();
        assert!(read(5, 1).unwrap_err().contains("changed"));
        fs::remove_file(&path).unwrap();
        assert!(read(0, 1).is_err());
    }
}
