//! Facts: data of a trace that several reports need, computed once.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use elsa::sync::FrozenMap;

use crate::engine::{Context, Scope};

/// Data that several reports need. It is computed for the whole trace on first use (`Context::fact`) and kept as long
/// as the reports.
///
/// Facts may use other facts, but not in a cycle, and never a report.
pub trait Fact: Send + Sync + Sized + 'static {
    /// Computes the fact. The scope of `cx` is the whole trace.
    fn find(cx: &Context<'_>) -> Self;
}

type FactSlot = OnceLock<Box<dyn Any + Send + Sync>>;

/// The facts computed so far, by type.
#[derive(Default)]
pub(super) struct FactCache {
    slots: FrozenMap<TypeId, Box<FactSlot>>,
}

impl FactCache {
    pub(crate) fn get<F: Fact>(&self, cx: &Context<'_>) -> &F {
        let id = TypeId::of::<F>();
        let slot = self.slots.get(&id).unwrap_or_else(|| self.slots.insert(id, Box::default()));
        let fact = slot.get_or_init(|| Box::new(F::find(&cx.scoped(Scope::WholeTrace))));
        #[expect(clippy::expect_used, reason = "the key is the type of the value")]
        fact.downcast_ref().expect("a fact of the type that is its key")
    }
}

impl fmt::Debug for FactCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactCache").finish_non_exhaustive()
    }
}

/// A map that computes the value of each key once; concurrent requests for a key wait for the first one.
#[derive(Debug)]
pub(crate) struct OnceMap<K, V>(Mutex<HashMap<K, Arc<OnceLock<V>>>>);

impl<K, V> Default for OnceMap<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> OnceMap<K, V> {
    /// The value for `key`, computed by `find` on first use.
    pub(crate) fn get(&self, key: K, find: impl FnOnce() -> V) -> V {
        let slot = Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        slot.get_or_init(find).clone()
    }

    /// The value for `key`, if it has been computed.
    pub(crate) fn known(&self, key: &K) -> Option<V> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key)?.get().cloned()
    }
}
