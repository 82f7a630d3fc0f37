//! What a file is recognised by: XXH3 of its bytes, 128 bits. It is about as fast as memory, and differs for files that
//! differ by accident. It is no proof against somebody who makes two files alike: for that there is SHA-256.

use twox_hash::XxHash3_128;

/// A fingerprint of bytes that come piece by piece.
#[derive(Default)]
pub struct FingerprintHash(XxHash3_128);

impl FingerprintHash {
    /// Adds the bytes that follow.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The fingerprint of all bytes.
    pub fn finish(&self) -> u128 {
        self.0.finish_128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the reference implementation, xxHash 0.8.4: one for each way in which it treats a length, and one of
    /// several blocks.
    #[test]
    fn fingerprints_are_those_of_the_reference() {
        let fox = "The quick brown fox jumps over the lazy dog";
        for (text, expected) in [
            ("", 0x99aa_06d3_0147_98d8_6001_c324_468d_497f),
            ("abc", 0x06b0_5ab6_733a_6185_78af_5f94_892f_3950),
            (fox, 0xddd6_5020_5ca3_e7fa_24a1_cc2e_3a8a_7651),
            (&"y".repeat(200), 0x833c_f59a_501a_e2a8_6615_14be_6229_6c9c),
            (&"z".repeat(1000), 0x66a9_b2d5_8787_6ce7_cd3a_5747_00ed_df41),
            (
                &"z".repeat(1_000_000),
                0xce83_f636_9aff_d8f1_dbd2_e04e_2bd5_723b,
            ),
        ] {
            for piece in [1, 63, 4096, 1 << 20] {
                let mut hash = FingerprintHash::default();
                let pieces = text.as_bytes().chunks(piece);
                pieces.for_each(|bytes| hash.update(bytes));
                assert_eq!(hash.finish(), expected, "{} bytes by {piece}", text.len());
            }
        }
    }
}
