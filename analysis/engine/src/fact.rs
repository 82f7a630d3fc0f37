//! Facts: data of a trace that several reports need, computed once.

use std::sync::Arc;

use crate::Context;

/// Data that several reports need. It is computed for the whole trace on first use (`Context::fact`) and kept as long
/// as the reports.
///
/// Facts may use other facts, but not in a cycle, and never a report.
pub trait Fact: Send + Sync + Sized + 'static {
    /// Computes the fact. The scope of `cx` is the whole trace.
    fn find(cx: &Context<'_>) -> Self;
}

/// A fact that outlives the reports.
impl<F: Fact> Fact for Arc<F> {
    fn find(cx: &Context<'_>) -> Self {
        Self::new(F::find(cx))
    }
}

impl<'a> Context<'a> {
    /// A fact of the whole trace.
    pub fn fact<F: Fact>(&self) -> &'a F {
        self.reports.facts.get(|| F::find(&self.whole()))
    }

    /// A fact of the whole trace, if something asked for it before.
    pub fn known_fact<F: Fact>(&self) -> Option<&'a F> {
        self.reports.facts.known()
    }
}
