//! What limits the code of an op, what to try, and who says so.

/// What limits the code of an op, or what most of it is.
#[engine::titled]
pub enum CodeLimit {
    /// It saves and restores registers.
    Registers,
    /// Its buffers take most of the vector memory.
    Vmem = "VMEM",
    /// Many bundles are empty.
    Waiting,
    /// The matrix units have the fewest free slots.
    MatrixUnits,
    /// Loads and stores of vector memory.
    LoadsAndStores,
    /// Transposes, rotations and reductions across lanes.
    Lanes = "across lanes",
    /// Elementwise work.
    Elementwise,
    /// Addresses and branches.
    Scalars,
}

impl CodeLimit {
    /// The unit with the largest share, as a limit; the names of units are the compiler's.
    pub(super) fn of_unit(unit: &str) -> Option<Self> {
        Some(match unit {
            "MATMUL" | "MATPUSH" | "MXU" => Self::MatrixUnits,
            "VLOAD" | "VSTORE" => Self::LoadsAndStores,
            "XLU" => Self::Lanes,
            "VALU" | "EUP" | "VPOP" => Self::Elementwise,
            "SALU" => Self::Scalars,
            _ => return None,
        })
    }

    /// What to try.
    fn lever(self) -> &'static str {
        match self {
            Self::Registers => {
                "registers: more than half of the stores or loads save and restore them (VSTORE:SPILL, VLOAD:FILL): smaller \
                 tiles keep fewer values alive at one time"
            }
            Self::Vmem => {
                "VMEM: buffers take most of it: smaller blocks, or fewer copies of each, leave room for more to be in flight, \
                 and for registers that are saved"
            }
            Self::Waiting => {
                "waiting: bundles are empty, most of them after the instruction that is named: more independent work in the \
                 body, as larger or unrolled blocks, fills them"
            }
            Self::MatrixUnits => {
                "matrix units: they have the fewest free slots: only fewer or narrower products are faster"
            }
            Self::LoadsAndStores => {
                "loads and stores: values that stay in registers need none; those of whole tiles (8 × 128 of 32 bits), aligned \
                 to them, are the cheapest"
            }
            Self::Lanes => {
                "across lanes: transposes, rotations and reductions along the last dimension cost most: another layout of the \
                 operands may need fewer, and some transposes can be a part of the product"
            }
            Self::Elementwise => {
                "elementwise: arithmetic other than products costs most: fewer divisions, exponentials and conversions of \
                 types shorten it"
            }
            Self::Scalars => {
                "scalars: addresses and branches cost most: larger blocks have fewer of them"
            }
        }
    }

    /// The page that says so.
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Registers => XPROF_CLI,
            Self::MatrixUnits => MATMUL,
            Self::Vmem
            | Self::Waiting
            | Self::LoadsAndStores
            | Self::Lanes
            | Self::Elementwise
            | Self::Scalars => DETAILS,
        }
    }

    /// What to try, with its source.
    pub(super) fn advice(self) -> String {
        format!("{} (source: {})", self.lever(), self.source())
    }
}

/// Public pages; that of the report has their addresses.
const DETAILS: &str = "JAX: Writing TPU kernels with Pallas";
const MATMUL: &str = "JAX: Matrix Multiplication with Pallas";
const XPROF_CLI: &str = "xprof-cli: Kernel Profiling Guide";

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of the report has a row for each lever, with the name and the address of its source.
    #[test]
    fn page_lists_the_source_of_each_lever() {
        let page = include_str!("../../../../../docs/reports/bundles.md");
        for limit in [
            CodeLimit::Registers,
            CodeLimit::Vmem,
            CodeLimit::Waiting,
            CodeLimit::MatrixUnits,
            CodeLimit::LoadsAndStores,
            CodeLimit::Lanes,
            CodeLimit::Elementwise,
            CodeLimit::Scalars,
        ] {
            let (title, source) = (limit.title(), limit.source());
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| {title} |")));
            let row = row.unwrap_or_else(|| panic!("{title}"));
            assert!(row.contains(&format!("[{source}](https://")), "{row}");
            assert!(limit.advice().starts_with(&format!("{title}: ")));
        }
    }
}
