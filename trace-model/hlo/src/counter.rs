//! The instructions that loops count with.

/// What an instruction has to do with the counter of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CounterPart {
    /// Nothing.
    #[default]
    None,
    /// A constant: a whole number.
    Constant(i64),
    /// Takes this element of a tuple.
    Element(u32),
    /// Compares its operands.
    Compare(CompareDirection),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareDirection {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    NotEqual,
}

impl CompareDirection {
    /// From the compiler's word, `LT`; `None` of those that no counting loop has.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "LT" => Self::Less,
            "LE" => Self::LessOrEqual,
            "GT" => Self::Greater,
            "GE" => Self::GreaterOrEqual,
            "NE" => Self::NotEqual,
            _ => return None,
        })
    }

    /// With its operands in the other order.
    pub fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::NotEqual => Self::NotEqual,
        }
    }
}
