//! From which bytes a report was made: fingerprints of files, and their SHA-256 for those who ask for it.

use std::fmt::Write as _;
use std::io::{self, Read};

use importers::FingerprintHash;
use sha2::{Digest as _, Sha256};

/// Bytes that are read at once.
const PIECE: usize = 128 << 10;

/// Hands the bytes of a file on, piece by piece.
pub fn read_pieces(
    mut file: impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => each(buffer.get(..count).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The fingerprint of a file.
pub fn fingerprint_of(file: impl Read) -> io::Result<u128> {
    let mut hash = FingerprintHash::default();
    read_pieces(file, |bytes| {
        hash.update(bytes);
        Ok(())
    })?;
    Ok(hash.finish())
}

/// The SHA-256 of a file, in hexadecimal digits; `None` if the file has not the fingerprint that is `known`: then it is
/// another one than that which was read.
pub fn sha256_of(file: impl Read, known: Option<u128>) -> io::Result<Option<String>> {
    let (mut fingerprint, mut sha256) = (FingerprintHash::default(), Sha256::new());
    read_pieces(file, |bytes| {
        fingerprint.update(bytes);
        sha256.update(bytes);
        Ok(())
    })?;
    let is_same = known.is_none_or(|known| known == fingerprint.finish());
    Ok(is_same.then(|| hex(&sha256.finalize())))
}

/// A fingerprint as it is written: the algorithm, and the hexadecimal digits of the hash.
pub fn fingerprint_text(fingerprint: u128) -> String {
    format!("xxh3-128:{fingerprint:032x}")
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From FIPS 180-2, appendix B.1.
    const SHA256_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn known_values() {
        let of_abc = fingerprint_of(&b"abc"[..]).unwrap();
        assert_eq!(
            fingerprint_text(of_abc),
            "xxh3-128:06b05ab6733a618578af5f94892f3950"
        );
        assert_eq!(
            fingerprint_text(7),
            "xxh3-128:00000000000000000000000000000007"
        );
        for known in [None, Some(of_abc)] {
            assert_eq!(
                sha256_of(&b"abc"[..], known).unwrap().as_deref(),
                Some(SHA256_OF_ABC)
            );
        }
        assert_eq!(
            sha256_of(&b"abd"[..], Some(of_abc)).unwrap(),
            None,
            "another file has taken its place"
        );
    }

    #[test]
    fn pieces_are_the_whole_file() {
        let bytes: Vec<u8> = (0..PIECE * 3 + 7).map(|at| (at / 3) as u8).collect();
        let mut whole = FingerprintHash::default();
        whole.update(&bytes);
        assert_eq!(fingerprint_of(&bytes[..]).unwrap(), whole.finish());
        assert_eq!(
            sha256_of(&bytes[..], Some(whole.finish())).unwrap(),
            Some(hex(&Sha256::digest(&bytes)))
        );
    }

    #[test]
    fn a_file_that_ends_in_an_error_has_no_fingerprint() {
        /// A disk that fails after the first bytes.
        struct Broken(bool);

        impl Read for Broken {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                into[0] = 1;
                let is_first = std::mem::take(&mut self.0);
                is_first
                    .then_some(1)
                    .ok_or_else(|| io::Error::other("no more"))
            }
        }
        assert!(fingerprint_of(Broken(true)).is_err());
        assert!(sha256_of(Broken(true), None).is_err());
    }
}
