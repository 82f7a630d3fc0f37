//! Loops that end when nobody wants their result any more.

use std::ops::ControlFlow;

use super::cache::ReportCache;
use super::{Context, Scope};

/// Items of a loop between two looks at whether it is still wanted: at most a few milliseconds of work. A browser, which draws
/// meanwhile, needs longer for each.
const ITEMS_PER_CHECK: usize = if cfg!(target_arch = "wasm32") {
    1 << 11
} else {
    1 << 14
};

/// Items where looks are counted: tests need no large traces for it.
const ITEMS_PER_COUNTED_CHECK: usize = 1 << 10;

/// The items of a loop, until the analysis is cancelled or stopped. A report of a part of them is dropped at its end, and
/// what else was made of them is never used: see [`ReportCache::stop`].
pub struct Watched<'a, I> {
    items: I,
    reports: &'a ReportCache,
    scope: Scope,
    /// Items until the next look.
    left: usize,
}

impl<'a> Context<'a> {
    /// The items of a long loop, over slices, ops or devices, until this analysis is cancelled.
    pub fn watched<I: IntoIterator>(&self, items: I) -> Watched<'a, I::IntoIter> {
        Watched {
            items: items.into_iter(),
            reports: self.reports,
            scope: self.scope,
            left: 0,
        }
    }
}

impl<I> Watched<'_, I> {
    /// Looks whether the result is still wanted; if so, it is not looked again for a number of items.
    #[cold]
    fn look(&mut self) -> bool {
        if self.reports.check(self.scope).is_err() {
            return false;
        }
        self.left = self
            .reports
            .checks()
            .map_or(ITEMS_PER_CHECK, |_| ITEMS_PER_COUNTED_CHECK);
        true
    }
}

impl<I: Iterator> Iterator for Watched<'_, I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        if self.left == 0 && !self.look() {
            return None;
        }
        self.left -= 1;
        self.items.next()
    }

    /// Items between two looks are handed on by the iterator itself: chains of iterators are then loops in each other.
    #[inline]
    fn fold<B, F: FnMut(B, I::Item) -> B>(mut self, init: B, mut f: F) -> B {
        let mut sum = init;
        while self.left > 0 || self.look() {
            let mut left = self.left;
            let some = self.items.try_fold(sum, |sum, item| {
                let sum = f(sum, item);
                left -= 1;
                if left == 0 {
                    ControlFlow::Break(sum)
                } else {
                    ControlFlow::Continue(sum)
                }
            });
            match some {
                ControlFlow::Continue(all) => return all,
                ControlFlow::Break(so_far) => (sum, self.left) = (so_far, 0),
            }
        }
        sum
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Fewer after cancellation.
        (0, self.items.size_hint().1)
    }
}
