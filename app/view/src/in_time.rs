//! Many items in order of time.
//!
//! Threads sort spans of time, each with about as many items: see [`cuts`] and [`sort`].

use crate::prelude::*;

/// Times that are looked at for each span.
pub const SAMPLES: usize = 8;

/// Times that cut items into spans with about as many each, from the times of some of them: [`SAMPLES`] for each span.
pub fn cuts(mut samples: Vec<Timestamp>) -> Vec<Timestamp> {
    samples.sort_unstable();
    let mut cuts: Vec<Timestamp> = samples.into_iter().skip(SAMPLES).step_by(SAMPLES).collect();
    cuts.dedup();
    cuts
}

/// Sorts items by time, into `out`; those with equal times stay in their order. Evenly spread times take linear time: each
/// item has about one bucket, and only buckets are sorted.
pub fn sort<T: Copy>(items: &[T], out: &mut Vec<T>, time: impl Fn(&T) -> Timestamp) {
    let Some((least, most)) =
        items
            .iter()
            .map(|item| time(item).ps())
            .fold(None, |bounds, time| match bounds {
                None => Some((time, time)),
                Some((least, most)) => Some((time.min(least), time.max(most))),
            })
    else {
        return out.clear();
    };
    // What is in `out` is overwritten.
    out.resize(items.len(), items[0]);
    let extent = most.wrapping_sub(least) as u64;
    let shift = (u64::BITS - extent.leading_zeros()).saturating_sub(items.len().ilog2());
    let bucket = |item: &T| (time(item).ps().wrapping_sub(least) as u64 >> shift) as usize;
    let mut places = vec![0_u32; (extent >> shift) as usize + 1];
    for item in items {
        places[bucket(item)] += 1;
    }
    let mut before = 0;
    for place in &mut places {
        before += std::mem::replace(place, before);
    }
    for item in items {
        let place = &mut places[bucket(item)];
        out[*place as usize] = *item;
        *place += 1;
    }
    // Now each place is the end of its bucket.
    let mut from = 0;
    for end in places.into_iter().map(|end| end as usize) {
        if end - from > 1 {
            out[from..end].sort_by_key(&time);
        }
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(times: &[i64]) {
        let items: Vec<(Timestamp, usize)> = times
            .iter()
            .map(|&at| Timestamp::from_ps(at))
            .zip(0..)
            .collect();
        let mut sorted = Vec::new();
        sort(&items, &mut sorted, |item| item.0);
        let mut expected = items;
        expected.sort();
        assert_eq!(sorted, expected);
    }

    #[test]
    fn items_are_in_order_of_time() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for count in 0..300 {
            // From many equal times to hardly any.
            let times = (0..count).map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random as i64 >> (count % 61)
            });
            check(&times.collect::<Vec<_>>());
        }
    }

    #[test]
    fn extreme_times_are_sorted() {
        check(&[]);
        check(&[7; 100]);
        check(&[i64::MAX, 0, i64::MIN, -1, i64::MAX, 1]);
        check(
            &(0..1_000)
                .map(|i| if i == 500 { i64::MIN } else { 1_000 - i })
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn cuts_make_equal_spans() {
        let samples = (0..80).rev().map(Timestamp::from_ps).collect();
        assert_eq!(
            cuts(samples),
            (1..10)
                .map(|i| Timestamp::from_ps(8 * i))
                .collect::<Vec<_>>()
        );
        assert_eq!(cuts(vec![Timestamp::MIN; 80]), [Timestamp::MIN]);
        assert_eq!(cuts(Vec::new()), []);
    }
}
