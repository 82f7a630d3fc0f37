//! What a fusion makes of its operands.

/// A part of a result that is an operand of which some elements are new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InPlaceUpdate {
    /// Number of the array in the result.
    pub part: usize,
    /// Number of the operand.
    pub operand: usize,
    /// Bytes that are new.
    pub bytes: u64,
}

/// What the result of a fusion with this body has of its operands.
#[derive(Debug, Default)]
pub(crate) struct FusedResult {
    /// Whether it is only reinterpreted.
    pub is_view: bool,
    /// In the order of parts, one for each at most: so they are no more than a body has values, however fusions nest.
    pub updates: Vec<InPlaceUpdate>,
}
