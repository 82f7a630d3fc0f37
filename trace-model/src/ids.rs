//! Ids of rows.

/// Types of ids, each a row of one table of a model.
macro_rules! row_ids {
    ($($(#[$about:meta])* $name:ident),+) => { $(
        $(#[$about])*
        #[derive(
            Clone,
            Copy,
            Debug,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            serde::Serialize,
            serde::Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Row number in its table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+ };
}
