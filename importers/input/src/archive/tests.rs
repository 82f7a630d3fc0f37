use std::fs;
use std::io::Cursor;

use super::{Archive, ArchiveWriter};

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ArchiveWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.add(name, *content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// All files of an archive, or why it is refused.
fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.zip");
    fs::write(&path, bytes).unwrap();
    let archive = Archive::open(&path).map_err(|error| error.to_string())?;
    let files = archive.files().to_vec();
    let unpack = |file| {
        archive
            .read(file)
            .map(|bytes| (file.name.clone(), bytes))
            .map_err(|error| error.to_string())
    };
    files.iter().map(unpack).collect()
}

/// First bytes of an entry of the directory.
const ENTRY: &[u8; 4] = b"PK\x01\x02";

/// The position of the only entry of the directory.
fn entry(bytes: &[u8]) -> usize {
    bytes.windows(4).position(|window| window == ENTRY).unwrap()
}

/// An archive of one file with a name that a writer would mend.
fn archive_of_name(name: &str) -> Vec<u8> {
    let mended = "x".repeat(name.len());
    let mut bytes = archive(&[(&mended, b"content")]);
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(mended.as_bytes()) {
            bytes = changed(&bytes, at, name.as_bytes());
        }
    }
    bytes
}

fn changed(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

#[test]
fn files_have_a_date_that_every_program_can_read() {
    let bytes = archive(&[("a", b"content")]);
    let at = entry(&bytes);
    // Time and date of MS-DOS: midnight, the first day of the first month of 1980.
    assert_eq!(bytes[at + 12..at + 16], [0, 0, 0b0010_0001, 0]);
}

#[test]
fn files_are_unpacked_as_they_were_packed() {
    let long = b"profile ".repeat(100_000);
    let bytes = archive(&[
        ("profile/worker0.xplane.pb", &long),
        ("empty", b""),
        ("über.json", b"{}"),
    ]);
    assert!(bytes.len() < long.len() / 50);
    let files = read(&bytes).unwrap();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["profile/worker0.xplane.pb", "empty", "über.json"]);
    assert!(files[0].1 == long && files[1].1.is_empty() && files[2].1 == b"{}");
    assert_eq!(
        bytes,
        archive(&[
            ("profile/worker0.xplane.pb", &long),
            ("empty", b""),
            ("über.json", b"{}")
        ])
    );
}

/// Written by Python's zipfile: a stored and a deflated file, a folder and a comment.
#[test]
fn archives_of_other_programs_are_read() {
    let files = read(include_bytes!("python.zip")).unwrap();
    assert_eq!(
        files,
        [
            ("run/stored.txt".to_owned(), b"stored".to_vec()),
            ("run/deflated.txt".to_owned(), b"deflated ".repeat(20))
        ]
    );
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in [
        "../x",
        "/etc/passwd",
        "a/../../x",
        "C:x",
        "a\\b",
        "a//b",
        "./x",
    ] {
        let error = read(&archive_of_name(name)).unwrap_err();
        assert!(error.contains("outside of itself"), "{name}: {error}");
    }
    assert!(
        read(&archive(&[("a", b"1"), ("a", b"2")]))
            .unwrap_err()
            .contains("twice")
    );
}

#[test]
fn small_archives_of_large_files_are_refused() {
    let bytes = archive(&[("a", &vec![0; 70 << 20])]);
    assert!(bytes.len() < 100_000);
    assert!(read(&bytes).unwrap_err().contains("more than any profile"));
    // A size that is a lie is found when it is passed.
    let bytes = archive(&[("a", &[0; 1000])]);
    let lies = changed(&bytes, entry(&bytes) + 24, &10_u32.to_le_bytes());
    assert!(
        read(&lies)
            .unwrap_err()
            .contains("not what the list of files says")
    );
    let lies = changed(&bytes, entry(&bytes) + 24, &2000_u32.to_le_bytes());
    assert!(
        read(&lies)
            .unwrap_err()
            .contains("not what the list of files says")
    );
}

#[test]
fn small_archives_of_many_files_are_refused() {
    let bytes = archive(&[("a", b"1"), ("b", b"2")]);
    // Each file alone has a harmless size.
    let entries: Vec<usize> = (0..bytes.len())
        .filter(|&at| bytes[at..].starts_with(ENTRY))
        .collect();
    let large = entries.iter().fold(bytes, |bytes, at| {
        changed(&bytes, at + 24, &(60_u32 << 20).to_le_bytes())
    });
    assert_eq!(entries.len(), 2);
    assert!(read(&large).unwrap_err().contains("more than any run"));
}

#[test]
fn unread_files_are_named() {
    let bytes = archive(&[("a", b"content")]);
    let at = entry(&bytes);
    for (offset, value, why) in [(8, 1, "encrypted"), (10, 12, "another method than deflate")] {
        let error = read(&changed(&bytes, at + offset, &u16::to_le_bytes(value))).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    assert!(
        read(&changed(&bytes, at + 20, &[0xff; 4]))
            .unwrap_err()
            .contains("is cut off")
    );
}

#[test]
fn damage_anywhere_is_an_error_or_does_not_matter() {
    let content = b"one two three ".repeat(30);
    let bytes = archive(&[("a", &content), ("b", b"x")]);
    for len in 0..bytes.len() {
        assert!(read(&bytes[..len]).is_err(), "cut at {len}");
    }
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            // Dates and attributes may change; contents may not.
            if let Ok(files) = read(&changed(&bytes, at, &[bytes[at] ^ flip])) {
                let intact = files
                    .iter()
                    .all(|(_, bytes)| *bytes == content || bytes == b"x");
                assert!(intact, "byte {at}");
            }
        }
    }
}
