//! Places at which long work lets others go on. A browser has one thread for everything: what the window draws waits for
//! whatever is being computed.

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

static PAUSE: OnceLock<fn()> = OnceLock::new();

/// Calls `pause` wherever long work can be interrupted, from now on. For programs whose only thread also draws a window;
/// the first call counts.
pub fn pause_with(pause: fn()) {
    let _ = PAUSE.set(pause);
}

/// A place at which long work can be interrupted: to be called every few milliseconds, while nothing is locked that the
/// window needs.
#[inline]
pub fn may_pause() {
    if let Some(pause) = PAUSE.get() {
        pause();
    }
}

/// Counts the items of a long loop, and may pause after as many as take a few milliseconds.
#[derive(Debug, Default)]
pub struct Pauses(u32);

impl Pauses {
    const ITEMS: u32 = 1 << 14;

    /// To be called with each item, which takes about as long as `slices` slices of a simple loop.
    #[inline]
    pub fn add(&mut self, slices: u32) {
        self.0 += slices;
        if self.0 >= Self::ITEMS {
            self.0 = 0;
            may_pause();
        }
    }
}

/// The items of a long loop that can be interrupted.
pub fn pausing<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
    let mut pauses = Pauses::default();
    items.into_iter().inspect(move |_| pauses.add(1))
}

/// A list that can be interrupted while it is read.
pub(crate) struct LongList<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LongList<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = LongList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<LongList<T>, A::Error> {
        let mut pauses = Pauses::default();
        // A damaged length must not ask for more memory than there is.
        let mut items =
            Vec::with_capacity(from.size_hint().unwrap_or(0).min(Pauses::ITEMS as usize));
        while let Some(item) = from.next_element()? {
            items.push(item);
            pauses.add(2);
        }
        items.shrink_to_fit();
        Ok(LongList(items))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn long_loops_pause_now_and_then_and_keep_their_items() {
        static PAUSED: AtomicUsize = AtomicUsize::new(0);
        pause_with(|| {
            PAUSED.fetch_add(1, Ordering::Relaxed);
        });
        let items = 3 * Pauses::ITEMS;
        assert_eq!(pausing(0..items).sum::<u32>(), items * (items - 1) / 2);
        assert!(PAUSED.load(Ordering::Relaxed) >= 3, "others may pause, too");
    }
}
