//! Values that are computed once, however many threads ask for them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock};

use elsa::sync::FrozenMap;
use trace_model::locked;

pub(super) type FactSlot = OnceLock<Box<dyn Any + Send + Sync>>;

/// The facts computed so far, by type.
#[derive(Default)]
pub(super) struct FactCache {
    slots: FrozenMap<TypeId, Box<FactSlot>>,
}

impl FactCache {
    /// The value of this type, computed by `find` on first use.
    pub fn get<F: Send + Sync + 'static>(&self, find: impl FnOnce() -> F) -> &F {
        let id = TypeId::of::<F>();
        let slot = self
            .slots
            .get(&id)
            .unwrap_or_else(|| self.slots.insert(id, Box::default()));
        let fact = slot.get_or_init(|| Box::new(find()));
        #[expect(clippy::expect_used, reason = "the key is the type of the value")]
        fact.downcast_ref()
            .expect("a fact of the type that is its key")
    }

    /// The value of this type, if it has been computed.
    pub fn known<F: 'static>(&self) -> Option<&F> {
        self.slots.get(&TypeId::of::<F>())?.get()?.downcast_ref()
    }
}

impl fmt::Debug for FactCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactCache").finish_non_exhaustive()
    }
}

/// A map that computes the value of each key once; concurrent requests for a key wait for the first one.
#[derive(Debug)]
pub struct OnceMap<K, V>(Mutex<HashMap<K, Arc<OnceLock<V>>>>);

impl<K, V> Default for OnceMap<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V> FromIterator<(K, V)> for OnceMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(values: I) -> Self {
        let slot = |(key, value)| (key, Arc::new(OnceLock::from(value)));
        Self(Mutex::new(values.into_iter().map(slot).collect()))
    }
}

impl<K: Eq + Hash, V: Clone> OnceMap<K, V> {
    /// The value for `key`, computed by `find` on first use.
    pub fn get(&self, key: K, find: impl FnOnce() -> V) -> V {
        let slot = Arc::clone(locked(&self.0).entry(key).or_default());
        slot.get_or_init(find).clone()
    }

    /// Forgets all values.
    pub fn clear(&self) {
        locked(&self.0).clear();
    }

    /// The value for `key`, if it has been computed.
    pub fn known(&self, key: &K) -> Option<V> {
        locked(&self.0).get(key)?.get().cloned()
    }
}
